// Random bodies, against a parser that builds the whole tree.

#include "switchyard/openai/body.hpp"

#include "support/catch.hpp"

#include <boost/json.hpp>
#include <rapidcheck.h>

#include <cstdio>
#include <string>
#include <vector>

using namespace switchyard;
namespace json = boost::json;

namespace {

template <class T>
T any_of(std::initializer_list<T> choices) {
  return *rc::gen::elementOf(std::vector<T>(choices));
}

int up_to(int n) {
  return *rc::gen::inRange(0, n + 1);
}

std::string space() {
  return any_of<const char*>({"", "", "", " ", "\n", "\t\r "});
}

std::string text() {
  std::string out = "\"";
  for (int n = up_to(4); n > 0; --n)
    out += any_of<const char*>({"a", "Z9", " ", "\xC3\xA9", "\xF0\x9F\x98\x80", "\\n", "\\\"", "\\\\", "\\/", "\\u00e9",
                                "\\uD83D\\ude00", "{", "}", "[", "]", ",", ":", "model", "\\u0000"});
  return out + '"';
}

// A name as a key, each character as it is or as an escape.
std::string spelled(std::string_view name) {
  std::string out = "\"";
  for (const char c : name) {
    char escaped[8];
    std::snprintf(escaped, sizeof escaped, up_to(1) ? "\\u%04x" : "\\u%04X", static_cast<unsigned>(c));
    out += up_to(3) == 0 ? std::string(escaped) : std::string(1, c);
  }
  return out + '"';
}

std::string value(int depth, const std::vector<const char*>& names);

std::string member(int depth, const std::vector<const char*>& names) {
  const std::string key = up_to(3) ? spelled(*rc::gen::elementOf(names)) : text();
  return space() + key + space() + ":" + space() + value(depth, names) + space();
}

std::string value(int depth, const std::vector<const char*>& names) {
  const int kind = up_to(depth > 0 ? 6 : 3);
  if (kind <= 1)
    return text();
  if (kind == 2)
    return any_of<const char*>({"null", "true", "false", "\"length\"", "\"incomplete\""});
  if (kind == 3)
    return any_of<const char*>({"0", "-1", "7", "18446744073709551616", "1.5e3", "1E-400", "0.10", "1e400"});
  const bool list = kind == 4;
  std::string out(1, list ? '[' : '{');
  for (int n = up_to(3); n > 0; --n)
    out += (list ? space() + value(depth - 1, names) + space() : member(depth - 1, names)) + (n > 1 ? "," : "");
  return out + (list ? ']' : '}');
}

// An object with a model in one to three places of its top level.
std::string request_body() {
  std::vector<std::string> members;
  for (int n = up_to(4); n > 0; --n)
    members.push_back(space() + spelled("x") + ":" + value(3, {"model", "stream", "x"}));
  for (int n = 1 + up_to(2); n > 0; --n) {
    const auto at = members.begin() + up_to(static_cast<int>(members.size()));
    members.insert(at, space() + spelled("model") + space() + ":" + space() + "\"m" + text().substr(1) + space());
  }
  std::string out = space() + "{";
  for (std::size_t i = 0; i < members.size(); ++i)
    out += (i ? "," : "") + members[i];
  return out + "}" + space();
}

std::string without_models(std::string body, const openai::request_view& view) {
  for (auto span = view.model_spans.rbegin(); span != view.model_spans.rend(); ++span)
    body.erase(span->first, span->second);
  return body;
}

std::string mutated(std::string body) {
  for (int n = 1 + up_to(3); n > 0 && !body.empty(); --n) {
    const auto at = static_cast<std::size_t>(up_to(static_cast<int>(body.size()) - 1));
    switch (up_to(3)) {
    case 0:
      body.erase(at, static_cast<std::size_t>(1 + up_to(5)));
      break;
    case 1:
      body[at] = static_cast<char>(up_to(255));
      break;
    case 2:
      body.insert(at, 1, any_of<char>({'"', '\\', '{', '}', '[', ']', ',', ':', '\0', '\xFF', '0'}));
      break;
    default:
      body.resize(at);
    }
  }
  return body;
}

json::value tree(std::string_view body, json::error_code& ec) {
  json::parse_options options;
  options.max_depth = openai::max_depth;
  return json::parse(json::string_view(body.data(), body.size()), ec, {}, options);
}

} // namespace

TEST_CASE("replacing the model changes the model and not a byte else, in any body") {
  CHECK(rc::check([] {
    const std::string body = request_body();
    const std::string name = *rc::gen::container<std::string>(rc::gen::inRange<char>(1, 127));
    const auto view = openai::inspect_request(body);
    RC_ASSERT(view.has_value());

    json::error_code ec;
    json::value expected = tree(body, ec);
    RC_ASSERT(expected.at("model").as_string() == view->model);
    expected.as_object()["model"] = name;

    const std::string replaced = openai::with_model(body, *view, name);
    RC_ASSERT(tree(replaced, ec) == expected);
    RC_ASSERT(!ec);
    if (name.empty())
      return;
    const auto again = openai::inspect_request(replaced);
    RC_ASSERT(again.has_value());
    RC_ASSERT(again->model == name);
    RC_ASSERT(again->model_spans.size() == view->model_spans.size());
    RC_ASSERT(without_models(replaced, *again) == without_models(body, *view));
  }));
}

TEST_CASE("a damaged body is accepted exactly when it still is a request") {
  CHECK(rc::check([] {
    const std::string body = mutated(request_body());
    const auto view = openai::inspect_request(body);
    json::error_code ec;
    const json::value parsed = tree(body, ec);
    if (view.has_value()) {
      RC_ASSERT(!ec);
      RC_ASSERT(parsed.at("model").as_string() == view->model);
      RC_ASSERT(!tree(openai::with_model(body, *view, "other"), ec).is_null());
    } else {
      RC_ASSERT(!view.error().empty());
      const auto* model = !ec && parsed.is_object() ? parsed.as_object().if_contains("model") : nullptr;
      const auto* stream = model ? parsed.as_object().if_contains("stream") : nullptr;
      // Of a repeated key the tree keeps the last only, so a good last one may hide what was refused.
      const bool repeated = view.error().find("\"model\"") == 0 || view.error().find("\"stream\"") == 0;
      RC_ASSERT(!model || repeated || (stream && !stream->is_bool()));
    }
  }));
}

namespace {

bool filled(const json::value& v) {
  if (const auto* s = v.if_string())
    return !s->empty();
  if (const auto* a = v.if_array())
    return !a->empty();
  return v.is_object() && !v.get_object().empty();
}

bool filled(const json::object& o, std::initializer_list<const char*> names) {
  for (const auto* name : names)
    if (const auto* v = o.if_contains(name); v && filled(*v))
      return true;
  return false;
}

// "Usable" for chat, read off the tree.
bool usable_chat(const json::object& answer) {
  const auto* choices = answer.if_contains("choices");
  if (!choices || !choices->is_array())
    return false;
  for (const auto& choice : choices->get_array()) {
    if (!choice.is_object())
      continue;
    const auto* finish = choice.get_object().if_contains("finish_reason");
    const auto* message = choice.get_object().if_contains("message");
    if (finish && *finish == "length")
      return true;
    if (message && message->is_object() && filled(message->get_object(), {"content", "tool_calls"}))
      return true;
  }
  return false;
}

// Unlike a tree, a single pass hears every value of a repeated key.
bool repeats_a_key(const std::string& body) {
  json::error_code ec;
  struct counter {
    static std::size_t members(const json::value& v) {
      std::size_t n = 0;
      if (const auto* o = v.if_object())
        for (const auto& [k, child] : *o)
          n += 1 + members(child);
      if (const auto* a = v.if_array())
        for (const auto& child : *a)
          n += members(child);
      return n;
    }
  };
  // Every member has exactly one colon outside of texts.
  std::size_t colons = 0;
  bool in_text = false;
  for (std::size_t i = 0; i < body.size(); ++i) {
    if (in_text && body[i] == '\\')
      ++i;
    else if (body[i] == '"')
      in_text = !in_text;
    else if (body[i] == ':' && !in_text)
      ++colons;
  }
  return counter::members(tree(body, ec)) != colons;
}

} // namespace

TEST_CASE("the one pass over an answer finds what a whole tree tells [F]") {
  const std::vector<const char*> names{"choices", "message",    "content", "finish_reason",
                                       "error",   "tool_calls", "choices", "message"};
  CHECK(rc::check([&] {
    provider_result result;
    result.status = 200;
    const auto message = [&] { return "{" + member(1, {"content", "tool_calls", "role"}) + "}"; };
    const auto choice = [&] {
      return any_of<std::string>({value(2, names), "{\"message\":" + message() + "}",
                                  "{\"finish_reason\":" + value(0, names) + ",\"message\":" + message() + "}"});
    };
    const std::string choices = any_of<std::string>({value(3, names), "[" + choice() + "," + choice() + "]"});
    result.body = any_of<std::string>({"{" + member(4, names) + "}", "{\"choices\":" + choices + "}",
                                       "{\"error\":null,\"choices\":" + choices + "}"});
    if (repeats_a_key(result.body))
      return;
    json::error_code ec;
    const json::value parsed = tree(result.body, ec);
    RC_ASSERT(!ec);
    const auto& answer = parsed.as_object();
    const auto* error = answer.if_contains("error");

    inspect_answer(openai::operation::chat_completions, result);
    std::optional<failure_class> expected;
    if (error && !error->is_null())
      expected = failure_class::soft_failure;
    else if (!usable_chat(answer))
      expected = failure_class::empty_response;
    RC_CLASSIFY(!expected, "usable");
    RC_ASSERT(result.failure == expected);
  }));
}

TEST_CASE("no bytes make the inspection of an answer fail") {
  CHECK(rc::check([] {
    provider_result result;
    result.status = any_of<int>({200, 400, 500});
    result.body = mutated(value(5, {"choices", "error", "message", "code", "usage", "prompt_tokens", "status"}));
    for (const auto op : {openai::operation::chat_completions, openai::operation::completions,
                          openai::operation::embeddings, openai::operation::responses}) {
      inspect_answer(op, result);
      json::error_code ec;
      tree(result.body, ec);
      if (ec && !result.body.empty() && result.status == 200)
        RC_ASSERT(result.failure == failure_class::soft_failure);
    }
  }));
}
