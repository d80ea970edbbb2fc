#include "switchyard/openai/whole_answer.hpp"

#include <boost/json/array.hpp>
#include <boost/json/object.hpp>
#include <boost/json/parse.hpp>
#include <boost/json/serialize.hpp>

#include <utility>

namespace switchyard::openai {

namespace json = boost::json;

namespace {

constexpr std::string_view stream_end = "data: [DONE]\n\n";

json::object object_of(std::string_view text) {
  json::error_code failed;
  json::parse_options options;
  options.max_depth = max_depth;
  auto value = json::parse({text.data(), text.size()}, failed, {}, options);
  return !failed && value.is_object() ? std::move(value.as_object()) : json::object{};
}

const json::array* array_at(const json::object& o, json::string_view key) {
  const auto* value = o.if_contains(key);
  return value ? value->if_array() : nullptr;
}

const json::object* object_at(const json::object& o, json::string_view key) {
  const auto* value = o.if_contains(key);
  return value ? value->if_object() : nullptr;
}

std::string data_event(const json::object& o) {
  return "data: " + json::serialize(o) + "\n\n";
}

// ---- chat and completions ------------------------------------------------------------------------------------------

json::object chunk_like(const json::object& answer, json::string_view kind, std::string_view model) {
  json::object chunk;
  const auto take = [&](json::string_view key, json::value otherwise) {
    const auto* given = answer.if_contains(key);
    chunk[key] = given ? *given : std::move(otherwise);
  };
  take("id", "static");
  chunk["object"] = kind;
  take("created", 0);
  take("model", json::string_view{model.data(), model.size()});
  return chunk;
}

// A message as the difference to none: the calls of tools are numbered there.
json::object delta_of(const json::object& choice) {
  json::object delta;
  if (const auto* message = object_at(choice, "message"))
    delta = *message;
  if (auto* calls = delta.if_contains("tool_calls"); calls && calls->is_array()) {
    std::int64_t index = 0;
    for (auto& call : calls->as_array())
      if (call.is_object())
        call.as_object()["index"] = index++;
  }
  return delta;
}

json::object streamed_choice(operation op, const json::object& choice, bool end) {
  json::object streamed;
  const auto* index = choice.if_contains("index");
  streamed["index"] = index ? *index : json::value(0);
  if (op == operation::completions) {
    const auto* text = choice.if_contains("text");
    streamed["text"] = text && !end ? *text : json::value("");
    streamed["logprobs"] = nullptr;
  } else {
    streamed["delta"] = end ? json::object{} : delta_of(choice);
  }
  const auto* reason = choice.if_contains("finish_reason");
  streamed["finish_reason"] = !end ? json::value(nullptr) : reason ? *reason : json::value("stop");
  return streamed;
}

std::string stream_of_choices(operation op, const json::object& answer, const json::array& choices,
                              std::string_view model) {
  std::string text;
  for (const bool end : {false, true}) {
    auto chunk = chunk_like(answer, op == operation::completions ? "text_completion" : "chat.completion.chunk", model);
    json::array streamed;
    for (const auto& choice : choices)
      if (choice.is_object())
        streamed.push_back(streamed_choice(op, choice.as_object(), end));
    chunk["choices"] = std::move(streamed);
    text += data_event(chunk);
  }
  return text.append(stream_end);
}

// ---- responses -----------------------------------------------------------------------------------------------------

class response_events {
public:
  std::string of(const json::object& response) {
    auto begun = response;
    begun["status"] = "in_progress";
    begun["output"] = json::array{};
    add("response.created", {{"response", std::move(begun)}});
    if (const auto* output = array_at(response, "output"))
      for (std::size_t i = 0; i < output->size(); ++i)
        if (const auto* item = output->at(i).if_object())
          add_item(*item, i);
    add("response.completed", {{"response", response}});
    return std::move(text_);
  }

private:
  void add(json::string_view type, json::object event) {
    event["type"] = type;
    event["sequence_number"] = number_++;
    text_.append("event: ").append(type.data(), type.size()).append("\n") += data_event(event);
  }

  void add_item(const json::object& item, std::size_t index) {
    auto begun = item;
    if (begun.contains("content"))
      begun["content"] = json::array{};
    add("response.output_item.added", {{"output_index", index}, {"item", std::move(begun)}});
    if (const auto* content = array_at(item, "content"))
      for (std::size_t i = 0; i < content->size(); ++i)
        if (const auto* part = content->at(i).if_object(); part && part->contains("text"))
          add_part(item, *part, {{"output_index", index}, {"content_index", i}});
    add("response.output_item.done", {{"output_index", index}, {"item", item}});
  }

  void add_part(const json::object& item, const json::object& part, json::object place) {
    if (const auto* id = item.if_contains("id"))
      place["item_id"] = *id;
    const auto with = [&](json::string_view key, json::value value) {
      auto event = place;
      event[key] = std::move(value);
      return event;
    };
    auto begun = part;
    begun["text"] = "";
    add("response.content_part.added", with("part", std::move(begun)));
    add("response.output_text.delta", with("delta", part.at("text")));
    add("response.output_text.done", with("text", part.at("text")));
    add("response.content_part.done", with("part", part));
  }

  std::string text_;
  std::int64_t number_ = 0;
};

// ---- text ----------------------------------------------------------------------------------------------------------

// A text, or the texts of an array of parts.
void append_text(const json::value* content, std::string& to) {
  if (!content)
    return;
  if (const auto* text = content->if_string())
    to.append(text->data(), text->size()).push_back('\n');
  if (const auto* parts = content->if_array())
    for (const auto& part : *parts)
      if (const auto* o = part.if_object())
        append_text(o->if_contains("text"), to);
}

} // namespace

std::string as_stream(operation op, std::string_view answer, std::string_view model) {
  if (op == operation::embeddings)
    return std::string{answer};
  const auto o = object_of(answer);
  if (op == operation::responses)
    return response_events{}.of(o);
  if (const auto* choices = array_at(o, "choices"))
    return stream_of_choices(op, o, *choices, model);
  return data_event(o).append(stream_end);
}

std::string answer_text(std::string_view answer) {
  const auto o = object_of(answer);
  std::string text;
  if (const auto* choices = array_at(o, "choices"))
    for (const auto& choice : *choices)
      if (const auto* c = choice.if_object()) {
        append_text(c->if_contains("text"), text);
        if (const auto* message = object_at(*c, "message"))
          append_text(message->if_contains("content"), text);
      }
  if (const auto* output = array_at(o, "output"))
    for (const auto& item : *output)
      if (const auto* i = item.if_object())
        append_text(i->if_contains("content"), text);
  return text;
}

} // namespace switchyard::openai
