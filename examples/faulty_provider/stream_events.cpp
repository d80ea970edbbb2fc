#include "stream_events.hpp"

#include "answer_parts.hpp"

#include <algorithm>
#include <boost/json/serialize.hpp>

namespace faulty {
namespace {

namespace json = boost::json;

std::string json_text(std::string_view text) {
  return json::serialize(json::string_view(text.data(), text.size()));
}

// The members of an object, without its braces.
std::string members(const json::object& o) {
  const std::string text = json::serialize(o);
  return text.substr(1, text.size() - 2);
}

std::vector<std::string> pieces_of(const call& c, const stream_script& s) {
  if (!s.text.empty())
    return {s.text};
  auto pieces = words(c.text);
  if (s.chunks.value_or(0) > pieces.size())
    pieces = words(c.text + " "); // said again and again
  return pieces;
}

bool tells_usage(const call& c, usage_policy policy) {
  if (policy == usage_policy::requested)
    return c.include_usage || c.what == operation::responses; // the API's responses always tell it
  return policy == usage_policy::always;
}

json::object text_part(const std::string& text) {
  return {{"type", "output_text"}, {"annotations", json::array()}, {"text", text}};
}

} // namespace

stream_events::stream_events(const call& c, const stream_script& s, bool no_content)
    : call_(c),
      pieces_(pieces_of(c, s)),
      chunks_(no_content ? 0 : s.chunks.value_or(pieces_.size())),
      tells_usage_(tells_usage(c, s.usage)) {
  if (of_response()) {
    frame_ = members({{"item_id", id("msg_", call_)}, {"output_index", 0}, {"content_index", 0}});
    return;
  }
  frame_ = "data: {" + members(head(call_, true)) + ",\"choices\":[";
  if (tells_usage_ && call_.include_usage) // as the API does: every chunk then has the key
    null_usage_ = ",\"usage\":null";
}

// The form is written by hand: serializing a tree of values for each chunk costs several times as much.
void stream_events::choice(std::string& out, std::string_view content, std::string_view finish_reason) const {
  const bool chat = call_.what == operation::chat_completions;
  out.append(frame_).append(chat ? "{\"index\":0,\"delta\":" : "{\"index\":0,\"text\":").append(content);
  out.append(",\"logprobs\":null,\"finish_reason\":").append(finish_reason).append("}]").append(null_usage_);
  out.append("}\n\n");
}

void stream_events::response_event(std::string& out, std::string_view type, std::string_view rest) {
  out.append("event: ").append(type).append("\ndata: {\"type\":\"").append(type).append("\",\"sequence_number\":");
  out.append(std::to_string(sequence_++)).append(",").append(rest).append("}\n\n");
}

void stream_events::opening(std::string& out) {
  if (call_.what == operation::chat_completions)
    return choice(out, R"({"role":"assistant","content":""})", "null");
  if (!of_response())
    return;
  json::object begun = head(call_, false);
  begun["status"] = "in_progress";
  begun["output"] = json::array();
  begun["usage"] = nullptr;
  const std::string response = members({{"response", std::move(begun)}});
  response_event(out, "response.created", response);
  response_event(out, "response.in_progress", response);
  if (chunks_ == 0)
    return;
  const json::object item{{"id", id("msg_", call_)},
                          {"type", "message"},
                          {"role", "assistant"},
                          {"status", "in_progress"},
                          {"content", json::array()}};
  response_event(out, "response.output_item.added", members({{"output_index", 0}, {"item", item}}));
  response_event(out, "response.content_part.added", frame_ + "," + members({{"part", text_part("")}}));
}

void stream_events::chunk(std::string& out, std::size_t i) {
  const std::string said = json_text(text(i));
  if (of_response())
    return response_event(out, "response.output_text.delta", frame_ + ",\"delta\":" + said + ",\"logprobs\":[]");
  choice(out, call_.what == operation::chat_completions ? "{\"content\":" + said + "}" : said, "null");
}

// The call as if its answer had been what the chunks say.
call stream_events::whole_call() const {
  call c = call_;
  c.text.clear();
  for (std::size_t i = 0; i < chunks_; ++i)
    c.text.append(text(i));
  return c;
}

void stream_events::finish(std::string& out) {
  if (!of_response())
    return choice(out, call_.what == operation::chat_completions ? "{}" : "\"\"", "\"stop\"");
  if (chunks_ == 0)
    return;
  const call whole = whole_call();
  response_event(out, "response.output_text.done", frame_ + ",\"text\":" + json_text(whole.text) + ",\"logprobs\":[]");
  response_event(out, "response.content_part.done", frame_ + "," + members({{"part", text_part(whole.text)}}));
  response_event(out, "response.output_item.done",
                 members({{"output_index", 0}, {"item", response_output(whole).front()}}));
}

void stream_events::usage(std::string& out) {
  if (!tells_usage_ || of_response())
    return;
  out.append(frame_).append("],\"usage\":").append(json::serialize(faulty::usage(call_, chunks_))).append("}\n\n");
}

void stream_events::done(std::string& out) {
  if (!of_response()) {
    out.append("data: [DONE]\n\n");
    return;
  }
  auto response = good_answer(whole_call(), chunks_ == 0);
  response["usage"] = tells_usage_ ? json::value(faulty::usage(call_, chunks_)) : json::value(nullptr);
  response_event(out, "response.completed", members({{"response", std::move(response)}}));
}

void stream_events::error(std::string& out, std::string_view message, std::string_view code) {
  const auto error = error_object(message, "server_error", code);
  if (!of_response()) {
    out.append("data: ").append(json::serialize(error)).append("\n\n");
    return;
  }
  // The API's own event: no object around it.
  const auto& e = error.at("error").as_object();
  response_event(out, "error",
                 members({{"code", e.at("code")}, {"message", e.at("message")}, {"param", e.at("param")}}));
}

std::string stream_events::half(std::size_t i) {
  const auto sequence = sequence_;
  std::string out;
  if (i < chunks_)
    chunk(out, i);
  else
    finish(out);
  if (out.empty())
    done(out);
  sequence_ = sequence;
  // Of a response's several events the first, and of that up to the middle of its JSON.
  const std::string_view first = std::string_view{out}.substr(0, out.find("\n\n"));
  const auto json = std::min(first.size(), first.find('{'));
  return std::string{first.substr(0, json + (first.size() - json) / 2)};
}

} // namespace faulty
