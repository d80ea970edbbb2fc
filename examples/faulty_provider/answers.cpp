#include "answers.hpp"

#include "answer_parts.hpp"

#include <boost/json/parse.hpp>
#include <boost/json/serialize.hpp>
#include <boost/json/value.hpp>

#include <algorithm>
#include <chrono>

namespace faulty {
namespace {

namespace json = boost::json;

json::string_view view(std::string_view s) {
  return {s.data(), s.size()};
}

std::int64_t unix_seconds() {
  return std::chrono::duration_cast<std::chrono::seconds>(std::chrono::system_clock::now().time_since_epoch()).count();
}

const json::value* member(const json::value* v, const char* key) {
  const auto* o = v ? v->if_object() : nullptr;
  return o ? o->if_contains(key) : nullptr;
}

const json::value* last(const json::value* v) {
  const auto* a = v ? v->if_array() : nullptr;
  return a && !a->empty() ? &a->back() : nullptr;
}

// The text of a prompt, a message's content, or the last part of one.
std::string_view text_of(const json::value* v) {
  if (const auto* part = last(v))
    v = part->is_object() ? member(part, "text") : part;
  const auto* s = v ? v->if_string() : nullptr;
  return s ? std::string_view(s->data(), s->size()) : std::string_view();
}

std::string_view prompt_of(operation what, const json::value& body) {
  switch (what) {
  case operation::chat_completions:
    return text_of(member(last(member(&body, "messages")), "content"));
  case operation::completions:
    return text_of(member(&body, "prompt"));
  case operation::responses:
    if (const auto* input = member(&body, "input"); last(input))
      return text_of(member(last(input), "content"));
    else
      return text_of(input);
  case operation::embeddings:
    break;
  }
  return {};
}

// The beginning of a text, not cut within a character.
std::string beginning(std::string_view text, std::size_t bytes) {
  if (text.size() <= bytes)
    return std::string(text);
  while (bytes > 0 && (static_cast<unsigned char>(text[bytes]) & 0xC0) == 0x80)
    --bytes;
  return std::string(text.substr(0, bytes)) + "...";
}

json::array vectors(const call& c) {
  json::array out;
  for (std::size_t i = 0; i < c.inputs; ++i) {
    json::array vector;
    for (std::size_t d = 0; d < 8; ++d)
      vector.emplace_back((static_cast<double>((c.input_tokens + 7 * i + 3 * d) % 16) - 7.5) / 16);
    out.emplace_back(json::object{{"object", "embedding"}, {"index", i}, {"embedding", std::move(vector)}});
  }
  return out;
}

} // namespace

std::vector<std::string> words(const std::string& text) {
  std::vector<std::string> out;
  for (std::size_t begin = 0; begin < text.size();) {
    const std::size_t space = text.find(' ', begin);
    const std::size_t end = space == std::string::npos ? text.size() : space + 1;
    out.push_back(text.substr(begin, end - begin));
    begin = end;
  }
  return out;
}

std::string id(const char* prefix, const call& c) {
  return prefix + std::to_string(c.number);
}

json::object head(const call& c, bool chunk) {
  switch (c.what) {
  case operation::chat_completions:
    return {{"id", id("chatcmpl-", c)},
            {"object", chunk ? "chat.completion.chunk" : "chat.completion"},
            {"created", unix_seconds()},
            {"model", c.model}};
  case operation::completions:
    return {{"id", id("cmpl-", c)}, {"object", "text_completion"}, {"created", unix_seconds()}, {"model", c.model}};
  case operation::embeddings:
    return {{"object", "list"}, {"model", c.model}};
  case operation::responses:
    break;
  }
  return {{"id", id("resp_", c)},
          {"object", "response"},
          {"created_at", unix_seconds()},
          {"model", c.model},
          {"error", nullptr}};
}

json::object usage(const call& c, std::uint64_t output) {
  const std::uint64_t total = c.input_tokens + output;
  if (c.what == operation::embeddings)
    return {{"prompt_tokens", c.input_tokens}, {"total_tokens", total}};
  if (c.what == operation::responses)
    return {{"input_tokens", c.input_tokens}, {"output_tokens", output}, {"total_tokens", total}};
  return {{"prompt_tokens", c.input_tokens}, {"completion_tokens", output}, {"total_tokens", total}};
}

json::array response_output(const call& c) {
  const json::object part{{"type", "output_text"}, {"text", c.text}, {"annotations", json::array()}};
  return {json::object{{"id", id("msg_", c)},
                       {"type", "message"},
                       {"role", "assistant"},
                       {"status", "completed"},
                       {"content", json::array{part}}}};
}

json::object good_answer(const call& c, bool empty) {
  json::object out = head(c, false);
  switch (c.what) {
  case operation::chat_completions:
    out["choices"] = empty ? json::array()
                           : json::array{json::object{{"index", 0},
                                                      {"message", {{"role", "assistant"}, {"content", c.text}}},
                                                      {"finish_reason", "stop"}}};
    break;
  case operation::completions:
    out["choices"] = empty ? json::array()
                           : json::array{json::object{
                                 {"index", 0}, {"text", c.text}, {"logprobs", nullptr}, {"finish_reason", "stop"}}};
    break;
  case operation::embeddings:
    out["data"] = empty ? json::array() : vectors(c);
    break;
  case operation::responses:
    out["status"] = "completed";
    out["output"] = empty ? json::array() : response_output(c);
    break;
  }
  out["usage"] = usage(c, c.what == operation::embeddings ? 0 : words(c.text).size());
  return out;
}

json::object error_object(std::string_view message, std::string_view type, std::string_view code) {
  const json::value code_value = code.empty() ? json::value(nullptr) : json::value(view(code));
  return {
      {"error", {{"message", view(message)}, {"type", view(type)}, {"param", nullptr}, {"code", code_value}}},
  };
}

boost::system::result<call, std::string> read_call(operation what, std::string_view body, std::string_view name) {
  auto request = switchyard::openai::inspect_request(body);
  if (!request)
    return {boost::system::in_place_error, std::move(request).error()};
  json::parse_options options;
  options.max_depth = switchyard::openai::max_depth;
  json::error_code ec;
  const json::value tree = json::parse(view(body), ec, {}, options);
  call c;
  c.what = what;
  c.model = std::move(request->model);
  c.stream = request->stream && what != operation::embeddings;
  const auto* include_usage = member(member(&tree, "stream_options"), "include_usage");
  c.include_usage = include_usage && include_usage->is_bool() && include_usage->get_bool();
  c.input_tokens = request->estimated_input_tokens;
  const std::string_view prompt = prompt_of(what, tree);
  c.text = prompt.empty() ? "Hello from " + std::string(name) : "You said: " + beginning(prompt, 60);
  constexpr std::size_t most_inputs = 2048; // as with the real API
  if (const auto* input = member(&tree, "input"); input && input->is_array() && last(input)->is_string())
    c.inputs = std::min(input->get_array().size(), most_inputs);
  return c;
}

std::string whole_answer(const call& c, behaviour b) {
  switch (b) {
  case behaviour::empty_body:
    return {};
  case behaviour::error_in_200:
    return json::serialize(error_object(overloaded_message, "server_error", ""));
  case behaviour::malformed_body: {
    const std::string good = json::serialize(good_answer(c, false));
    return good.substr(0, good.size() / 2);
  }
  default:
    return json::serialize(good_answer(c, b == behaviour::no_content));
  }
}

std::string error_body(std::string_view message, std::string_view type, std::string_view code) {
  return json::serialize(error_object(message, type, code));
}

std::string model_list(const std::vector<std::string>& models) {
  json::array data;
  for (const auto& m : models)
    data.emplace_back(
        json::object{{"id", m}, {"object", "model"}, {"created", 0}, {"owned_by", "switchyard-faulty-provider"}});
  return json::serialize(json::object{{"object", "list"}, {"data", std::move(data)}});
}

} // namespace faulty
