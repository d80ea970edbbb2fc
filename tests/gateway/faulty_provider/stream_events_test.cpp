// The events of a stream, in the forms of the API.

#include "stream_fixture.hpp"

#include "switchyard/openai/body.hpp"

using namespace faulty;
using namespace faulty::test;
namespace json = boost::json;

namespace {

std::vector<event> events_for(const call& c, const stream_script& s = {}) {
  return events_of(run_through(c, s).body);
}

} // namespace

TEST_CASE("a chat's stream is role, content, finish reason and [DONE]") {
  const auto events = events_for(some_call(operation::chat_completions));
  REQUIRE(events.size() == 6);
  for (std::size_t i = 0; i < 5; ++i) {
    const auto chunk = data_of(events[i]);
    CHECK(events[i].name.empty());
    CHECK(chunk.at("object") == "chat.completion.chunk");
    CHECK(chunk.at("id") == "chatcmpl-1");
    CHECK(chunk.at("model") == "m");
    CHECK(chunk.at("created").is_int64());
    CHECK(chunk.at_pointer("/choices/0/index") == 0);
    CHECK_FALSE(chunk.as_object().contains("usage"));
    const auto finish = i == 4 ? json::value("stop") : json::value(nullptr);
    CHECK(chunk.at_pointer("/choices/0/finish_reason") == finish);
  }
  CHECK(data_of(events[0]).at_pointer("/choices/0/delta") == json::value{{"role", "assistant"}, {"content", ""}});
  CHECK(data_of(events[1]).at_pointer("/choices/0/delta") == json::value{{"content", "one "}});
  CHECK(data_of(events[3]).at_pointer("/choices/0/delta") == json::value{{"content", "three"}});
  CHECK(data_of(events[4]).at_pointer("/choices/0/delta").as_object().empty());
  CHECK(events[5].data == "[DONE]");
}

TEST_CASE("a completion's stream is text, finish reason and [DONE]") {
  const auto events = events_for(some_call(operation::completions));
  REQUIRE(events.size() == 5);
  CHECK(data_of(events[0]).at("object") == "text_completion");
  CHECK(data_of(events[0]).at_pointer("/choices/0/text") == "one ");
  CHECK(data_of(events[0]).at_pointer("/choices/0/finish_reason").is_null());
  CHECK(data_of(events[3]).at_pointer("/choices/0/text") == "");
  CHECK(data_of(events[3]).at_pointer("/choices/0/finish_reason") == "stop");
  CHECK(events[4].data == "[DONE]");
}

TEST_CASE("a response's stream is its typed events, numbered") {
  const auto events = events_for(some_call(operation::responses));
  const std::vector<std::string> names{"response.created",           "response.in_progress",
                                       "response.output_item.added", "response.content_part.added",
                                       "response.output_text.delta", "response.output_text.delta",
                                       "response.output_text.delta", "response.output_text.done",
                                       "response.content_part.done", "response.output_item.done",
                                       "response.completed"};
  REQUIRE(events.size() == names.size());
  for (std::size_t i = 0; i < events.size(); ++i) {
    CHECK(events[i].name == names[i]);
    CHECK(data_of(events[i]).at("type").as_string() == names[i]);
    CHECK(data_of(events[i]).at("sequence_number") == i);
  }
  const auto item = data_of(events[2]).at_pointer("/item/id");
  CHECK(data_of(events[4]).at("item_id") == item);
  CHECK(data_of(events[7]).at("text") == "one two three");
  CHECK(data_of(events[8]).at_pointer("/part/text") == "one two three");
  CHECK(data_of(events[9]).at_pointer("/item/content/0/text") == "one two three");
}

TEST_CASE("a response's stream ends with the whole response, which a client takes for good [F4]") {
  const auto last = data_of(events_for(some_call(operation::responses)).back()).at("response");
  CHECK(last.at("status") == "completed");
  switchyard::provider_result result;
  result.status = 200;
  result.body = json::serialize(last);
  inspect_answer(operation::responses, result);
  CHECK_FALSE(result.failure);
  CHECK(result.tokens.input == 9u);
  CHECK(result.tokens.output == 3u);
}

TEST_CASE("usage is told when asked for, always or never") {
  const auto usages = [](bool asked, usage_policy policy, operation what = operation::chat_completions) {
    auto c = some_call(what);
    c.include_usage = asked;
    std::size_t told = 0, null = 0;
    for (const auto& e : events_for(c, {.usage = policy}))
      if (e.data != "[DONE]") {
        const auto data = data_of(e);
        const auto* usage = data.as_object().if_contains("usage");
        told += usage && usage->is_object();
        null += usage && usage->is_null();
      }
    return std::pair(told, null);
  };
  using counts = std::pair<std::size_t, std::size_t>;
  CHECK(usages(false, usage_policy::requested) == counts(0, 0));
  CHECK(usages(true, usage_policy::requested) == counts(1, 5)); // null in the chunks before, as the API does
  CHECK(usages(false, usage_policy::always) == counts(1, 0));
  CHECK(usages(true, usage_policy::always) == counts(1, 5));
  CHECK(usages(true, usage_policy::never) == counts(0, 0));
  CHECK(usages(true, usage_policy::requested, operation::completions) == counts(1, 4));
}

TEST_CASE("the chunk with usage comes before [DONE] and has no choices") {
  auto c = some_call(operation::chat_completions);
  c.include_usage = true;
  const auto events = events_for(c);
  const auto chunk = data_of(events.at(events.size() - 2));
  CHECK(chunk.at("choices").as_array().empty());
  CHECK(chunk.at("usage") == json::value{{"prompt_tokens", 9}, {"completion_tokens", 3}, {"total_tokens", 12}});
}

TEST_CASE("a response tells its usage unless it never does") {
  const auto usage = [](usage_policy policy) {
    return data_of(events_for(some_call(operation::responses), {.usage = policy}).back()).at_pointer("/response/usage");
  };
  CHECK(usage(usage_policy::requested).at("output_tokens") == 3);
  CHECK(usage(usage_policy::always).at("output_tokens") == 3);
  CHECK(usage(usage_policy::never).is_null());
}

TEST_CASE("chunks are as many and as long as the script says, and counted as tokens") {
  for (const auto what : {operation::chat_completions, operation::completions, operation::responses}) {
    const auto said_with = [&](const stream_script& s) { return content_in(run_through(s, what).body); };
    CHECK(said_with({}).text == "one two three");
    CHECK(said_with({.chunks = 5}).text == "one two three one two ");
    CHECK(said_with({.chunks = 2}).text == "one two ");
    CHECK(said_with({.chunks = 4, .text = "la\n\"\xC3\xA9"}).text ==
          "la\n\"\xC3\xA9la\n\"\xC3\xA9la\n\"\xC3\xA9la\n\"\xC3\xA9");
    CHECK(said_with({.text = "la"}).chunks == 1);
    CHECK(said_with({.chunks = 0}).chunks == 0);
  }
  const auto last = data_of(events_for(some_call(operation::responses), {.chunks = 5, .text = "la"}).back());
  CHECK(last.at_pointer("/response/output/0/content/0/text") == "lalalalala");
  CHECK(last.at_pointer("/response/usage/output_tokens") == 5);
}

TEST_CASE("a response without content has no item") {
  const auto events = events_for(some_call(operation::responses), {.chunks = 0});
  REQUIRE(events.size() == 3);
  CHECK(events.back().name == "response.completed");
  CHECK(data_of(events.back()).at_pointer("/response/output").as_array().empty());
}
