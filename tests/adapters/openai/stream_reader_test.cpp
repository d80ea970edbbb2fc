// Streams of chat and completions. Those of responses are in responses_stream_test.cpp.

#include "stream_transcript.hpp"

#include "support/catch.hpp"

using namespace switchyard;
using namespace switchyard::test;
using openai::operation;
using state = stream_reader::state;

namespace {

constexpr auto chat = operation::chat_completions;
constexpr auto completions = operation::completions;

std::string event(std::string_view data) {
  return "data: " + std::string(data) + "\n\n";
}
std::string choice(std::string_view members, int index = 0) {
  return event(R"({"id":"1","object":"chat.completion.chunk","choices":[{"index":)" + std::to_string(index) + "," +
               std::string(members) + R"(}],"usage":null})");
}
std::string delta(std::string_view members, std::string_view finish = "null") {
  return choice(R"("delta":{)" + std::string(members) + R"(},"finish_reason":)" + std::string(finish));
}

const std::string role = delta(R"("role":"assistant","content":"")");
const std::string hello = delta(R"("content":"Hello")");
const std::string stop = delta("", R"("stop")");
const std::string usage = event(R"({"choices":[],"usage":{"prompt_tokens":7,"completion_tokens":11}})");
const std::string done = event("[DONE]");
const std::string comment = ": keep-alive\n\n";

} // namespace

TEST_CASE("a stream passes through byte for byte [S5]") {
  const std::string stream =
      comment + role + hello + comment + hello + "event: note\nid: 4\ndata: {}\n\n" + stop + usage + done;
  check_ended(read(chat, stream), stream);
}

TEST_CASE("nothing goes out before the first content, then each event as soon as it is whole [S1, S5]") {
  const auto reader = openai::make_stream_reader(chat, request_size);
  std::string out;
  CHECK(reader->where() == state::holding);
  CHECK(reader->feed(comment + role, out) == state::holding);
  CHECK(reader->feed(hello.substr(0, hello.size() - 1), out) == state::holding);
  CHECK(out.empty());
  CHECK(reader->feed("\n", out) == state::flowing);
  CHECK(out == comment + role + hello);
  out.clear();
  CHECK(reader->feed(hello + hello.substr(0, 9), out) == state::flowing);
  CHECK(out == hello);
  CHECK(reader->feed(hello.substr(9) + comment, out) == state::flowing);
  CHECK(out == hello + hello + comment);
  CHECK(reader->feed(stop, out) == state::flowing); // the usage and [DONE] may still come
  CHECK(reader->feed(usage + done, out) == state::ended);
  CHECK(out == hello + hello + comment + stop + usage + done);
  CHECK(reader->feed(hello, out) == state::ended);
  CHECK(reader->finish(out) == state::ended);
  CHECK(out == hello + hello + comment + stop + usage + done);
}

TEST_CASE("each form of content makes a stream flow [S1]") {
  const std::vector<std::pair<operation, std::string>> table{
      {chat, delta(R"("content":"hi")")},
      {chat, delta(R"("content":" ")")},
      {chat, delta(R"("content":[{"type":"text","text":"hi"}])")},
      {chat, delta(R"("content":null,"tool_calls":[{"index":0,"id":"c","function":{"name":"f","arguments":""}}])")},
      {chat, delta(R"("function_call":{"name":"f","arguments":""})")},
      {chat, delta(R"("refusal":"I cannot")")},
      {chat, delta(R"("audio":{"id":"a"})")},
      {chat, delta(R"("reasoning_content":"hm")")},
      {chat, delta("", R"("length")")},
      {chat, delta("", R"("content_filter")")},
      {chat, delta("", R"("tool_calls")")},
      {chat, choice(R"("delta":{"content":"second"})", 1)},
      {chat, event(R"({"ch\u006fices":[{"delt\u0061":{"content":"hi"}}]})")},
      {chat, event(R"({"error":null,"choices":[{"delta":{"content":"hi"}}]})")},
      {chat, "data: {\"choices\":[{\"delta\":\ndata: {\"content\":\"hi\"}}]}\n\n"},
      {chat, event("{\"choices\":[{\"delta\":{\"content\":\"\xC3\"}}]}")}, // half a character
      {completions, choice(R"("text":"hi")")},
      {completions, choice(R"("text":"","finish_reason":"length")")},
      {completions, choice(R"("text":"","finish_reason":"content_filter")")},
      {completions, choice(R"("text":"","finish_reason":"tool_calls")")},
  };
  for (const auto& [op, chunk] : table) {
    INFO(chunk);
    check_ended(read(op, joined({comment, chunk, done})), joined({comment, chunk, done}));
  }
}

TEST_CASE("an event without content is held back, and a stream of such is empty_response [S1]") {
  const std::vector<std::pair<operation, std::string>> table{
      {chat, role},
      {chat, stop},
      {chat, usage},
      {chat, comment},
      {chat, event("{}")},
      {chat, event("")},
      {chat, event(R"({"choices":[]})")},
      {chat, event(R"({"choices":[],"prompt_filter_results":[{"prompt_index":0}]})")},
      {chat, event(R"({"choices":[{}]})")},
      {chat, event(R"({"choices":null,"content":"hi","delta":"hi","text":"hi"})")},
      {chat,
       delta(R"("content":null,"tool_calls":[],"function_call":{},"audio":{},"refusal":"","reasoning_content":"")")},
      {chat, delta(R"("reasoning":"hm")")},
      {chat, delta("", R"("lengthy")")},
      {chat, choice(R"("text":"hi")")},
      {chat, choice(R"("message":{"content":"hi"})")},
      {chat, "event: content\n\n"},
      {completions, choice(R"("text":"")")},
      {completions, choice(R"("text":null,"finish_reason":"stop")")},
      {completions, hello},
      {operation::embeddings, hello},
  };
  for (const auto& [op, chunk] : table) {
    INFO(chunk);
    check_failed(read(op, chunk + chunk), failure_class::empty_response, "");
    check_failed(read(op, joined({chunk, stop, done})), failure_class::empty_response, "");
  }
}

TEST_CASE("a [DONE] alone, or nothing at all, is empty_response [F]") {
  for (const auto& stream : {done, std::string("data:[DONE]\r\n\r\n"), std::string(), std::string("\n\n"), comment})
    check_failed(read(chat, stream), failure_class::empty_response, "");
}

TEST_CASE("what is no event stream is soft_failure [F4]") {
  using namespace std::string_view_literals;
  for (const auto body : {"%%%% \x00\x01 not an event stream\n\n<html>oops</html>\n\n"sv,
                          R"({"id":"1","choices":[{"message":{"content":"hi"}}]})"sv,
                          "{\"error\":{\"message\":\"overloaded\"}}\n"sv, "\0"sv, "data"sv, "data: [DONE]"sv})
    check_failed(read(chat, body), failure_class::soft_failure, "");
}

TEST_CASE("an event that reports an error fails the stream and is not passed on [S2, F]") {
  const std::vector<std::string> table{
      event(R"({"error":{"message":"model is overloaded","type":"server_error","code":null}})"),
      event(R"({"error":{"code":"context_length_exceeded"}})"), // on a 200 the table knows but one class
      event(R"({"error":"overloaded"})"),
      event(R"({"choices":[{"index":0,"delta":{"content":"hi"}}],"error":{"code":502}})"),
      "event: error\ndata: {\"message\":\"no\"}\n\n",
      "event: error\ndata: no\n\n",
      "event: error\ndata:\n\n",
  };
  for (const auto& error : table) {
    INFO(error);
    check_failed(read(chat, joined({error, hello, done})), failure_class::soft_failure, "");
    check_failed(read(chat, joined({role, error, hello, done})), failure_class::soft_failure, "");
    check_failed(read(chat, joined({role, hello, error, hello, done})), failure_class::soft_failure,
                 joined({role, hello}));
    check_failed(read(chat, joined({role, hello, stop, error, done})), failure_class::soft_failure,
                 joined({role, hello, stop}));
  }
}

TEST_CASE("a frame that is neither [DONE] nor a JSON object fails the stream and is not passed on [S2]") {
  for (const char* data : {"{\"choices\":[{\"delta\":{\"cont", "{} {}", "{}]", "hello", "[]", "\"text\"", "null", "1",
                           "[DONE]x", "[done]", "{\"a\":\"\x01\"}", "<html>"}) {
    INFO(data);
    check_failed(read(chat, joined({event(data), hello, done})), failure_class::soft_failure, "");
    check_failed(read(chat, joined({hello, event(data), hello, done})), failure_class::soft_failure, hello);
  }
  const std::string deep = "{\"a\":" + std::string(10'000, '[') + std::string(10'000, ']') + "}";
  check_failed(read(chat, hello + event(deep) + done), failure_class::soft_failure, hello);
  check_ended(read(chat, hello + "data: [DONE] \n\n"), hello + "data: [DONE] \n\n");
}

TEST_CASE("a stream may end by a finish_reason without [DONE], or by [DONE] without a finish_reason [S2]") {
  check_ended(read(chat, role + hello + stop), role + hello + stop);
  check_ended(read(chat, role + hello + stop + usage), role + hello + stop + usage);
  check_ended(read(chat, role + hello + done), role + hello + done);
  const std::string text = choice(R"("text":"hi","finish_reason":null)"),
                    last = choice(R"("text":"","finish_reason":"stop")");
  check_ended(read(completions, text + last), text + last);
  check_ended(read(completions, text + done), text + done);
}

TEST_CASE("a stream that ends between the CR and the LF of its last blank line is whole [S2]") {
  const std::string crlf_hello = "data: {\"choices\":[{\"delta\":{\"content\":\"Hello\"}}]}\r\n\r\n";
  check_ended(read(chat, crlf_hello + "data: [DONE]\r\n\r"), crlf_hello + "data: [DONE]\r\n\r");
}

TEST_CASE("an event without data is none, whatever its name [S2]") {
  const std::string nothing = "event: error\n\n";
  check_ended(read(chat, nothing + hello + nothing + done), nothing + hello + nothing + done);
}

TEST_CASE("a stream that ends without its proper end is connection [S2]") {
  check_failed(read(chat, role + hello), failure_class::connection, role + hello);
  check_failed(read(chat, role + hello + stop.substr(0, stop.size() - 1)), failure_class::connection, role + hello);
  check_failed(read(chat, hello + delta("", R"("")")), failure_class::connection, hello + delta("", R"("")"));
  check_failed(read(completions, choice(R"("text":"hi")")), failure_class::connection, choice(R"("text":"hi")"));
}

TEST_CASE("a stream of several choices ends properly only when each of them has [S2]") {
  const std::string first = choice(R"("delta":{"content":"a"})", 0), second = choice(R"("delta":{"content":"b"})", 1);
  const std::string first_ends = choice(R"("delta":{},"finish_reason":"stop")", 0),
                    second_ends = choice(R"("finish_reason":"stop","delta":{})", 1);
  check_failed(read(chat, first + second + first_ends), failure_class::connection, first + second + first_ends);
  check_ended(read(chat, first + second + first_ends + second_ends), first + second + first_ends + second_ends);
  const std::string both =
      event(R"({"choices":[{"index":0,"finish_reason":"stop"},{"finish_reason":"stop","index":1}]})");
  check_ended(read(chat, first + second + both), first + second + both);
  const std::string no_index = event(R"({"choices":[{"index":1,"finish_reason":"stop"},{"finish_reason":"stop"}]})");
  check_ended(read(chat, first + second + no_index), first + second + no_index);
  const std::string one = event(R"({"choices":[{"index":0,"finish_reason":"stop"},{"index":1,"delta":{}}]})");
  check_failed(read(chat, first + second + one), failure_class::connection, first + second + one);
}

TEST_CASE("what is held back is bounded, and nothing of it goes out [S1]") {
  openai::stream_reader_options options;
  options.max_held = 3 * comment.size();
  const std::string full = comment + comment + comment;
  check_ended(read(chat, full + hello + done, options), full + hello + done);
  check_failed(read(chat, full + comment + hello + done, options), failure_class::soft_failure, "");
  check_ended(read(chat, full + hello + comment + done, options), full + hello + comment + done);
}

TEST_CASE("an event over the limit is soft_failure [S2, F4]") {
  openai::stream_reader_options options;
  options.max_event = hello.size();
  const std::string large = delta(R"("content":"Hello!")");
  check_ended(read(chat, hello + done, options), hello + done);
  check_failed(read(chat, large + done, options), failure_class::soft_failure, "");
  check_failed(read(chat, hello + large + done, options), failure_class::soft_failure, hello);
}

TEST_CASE("the tokens are those of the last event that has them [S6]") {
  const auto t =
      read(chat, hello + event(R"({"choices":[{"delta":{}}],"usage":{"prompt_tokens":7,"completion_tokens":1}})") +
                     hello + usage + stop + done);
  CHECK(t.tokens.input == 7u);
  CHECK(t.tokens.output == 11u);
  CHECK_FALSE(t.tokens.estimated);
}

TEST_CASE("tokens that the provider does not tell are estimated and marked so [S6, U1]") {
  const auto output_of = [](operation op, const std::string& stream) {
    const auto t = read(op, stream);
    CHECK(t.tokens.estimated);
    CHECK(t.tokens.input == request_size / 4);
    return t.tokens.output.value();
  };
  CHECK(output_of(chat, "") == 0);
  CHECK(output_of(chat, role + done) == 0);
  CHECK(output_of(chat, hello) == 2);                                      // 5 bytes
  CHECK(output_of(chat, role + hello + hello + hello + stop + done) == 4); // 15 bytes
  CHECK(output_of(chat, delta(R"("content":"\u00e9\u00e9\n")")) == 2);     // as decoded: 5 bytes
  CHECK(output_of(chat, delta(R"("reasoning_content":"1234","refusal":"1234")")) == 2);
  CHECK(output_of(chat, delta(R"("content":[{"type":"text","text":"12345678"}])")) == 2);
  CHECK(output_of(chat,
                  delta(R"("tool_calls":[{"id":"c","type":"function","function":{"name":"f","arguments":"123"}}])")) ==
        1);
  CHECK(output_of(chat, delta(R"("function_call":{"name":"f","arguments":"1234567"})")) == 2);
  CHECK(output_of(completions, choice(R"("text":"12345678")")) == 2);
  const auto half = read(chat, hello + event(R"({"choices":[],"usage":{"prompt_tokens":7}})") + done);
  CHECK(half.tokens.input == 7u);
  CHECK(half.tokens.output == 2u);
  CHECK(half.tokens.estimated);
}

TEST_CASE("the usage-only event is withheld where the client did not ask for it, and counts all the same [S6]") {
  openai::stream_reader_options options;
  options.withhold_usage = true;
  const auto t = read(chat, role + hello + stop + usage + done, options);
  check_ended(t, role + hello + stop + done);
  CHECK(t.tokens.input == 7u);
  CHECK(t.tokens.output == 11u);
  CHECK_FALSE(t.tokens.estimated);
  check_failed(read(chat, role + usage + stop + done, options), failure_class::empty_response, "");
  // Not what has a choice or no usage.
  const std::string with_choice =
                        event(R"({"choices":[{"index":0,"delta":{"content":"a"}}],"usage":{"prompt_tokens":7}})"),
                    no_usage = event(R"({"choices":[],"usage":null})");
  check_ended(read(chat, with_choice + no_usage + done, options), with_choice + no_usage + done);
}
