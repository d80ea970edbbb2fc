#include "stream_transcript.hpp"

#include "support/catch.hpp"

using namespace switchyard;
using namespace switchyard::test;
using state = stream_reader::state;

namespace {

std::string event(std::string_view type, std::string_view members) {
  return "event: " + std::string(type) + "\ndata: {\"type\":\"" + std::string(type) + "\",\"sequence_number\":1" +
         (members.empty() ? "" : ",") + std::string(members) + "}\n\n";
}
std::string ending(std::string_view type, std::string_view status, std::string_view members) {
  return event(type, R"("response":{"id":"r","error":null,"status":")" + std::string(status) + "\"," +
                         std::string(members) + "}");
}

constexpr std::string_view begun =
    R"("response":{"id":"r","status":"in_progress","error":null,"output":[],"usage":null,"text":{"format":{"type":"text"}}})";
const std::string lead =
    event("response.created", begun) + event("response.in_progress", begun) +
    event("response.output_item.added", R"("item":{"type":"message","role":"assistant","content":[]})") +
    event("response.content_part.added", R"("part":{"type":"output_text","text":"","annotations":[]})");
const std::string hello = event("response.output_text.delta", R"("item_id":"m","delta":"Hello")");
const std::string completed = ending("response.completed", "completed",
                                     R"("output":[{"type":"message"}],"usage":{"input_tokens":7,"output_tokens":11})");

read_transcript read_responses(std::string_view stream) {
  return read(openai::operation::responses, stream);
}

} // namespace

TEST_CASE("a streamed response passes through byte for byte and ends with its terminal event [S2, S5]") {
  const auto t = read_responses(lead + hello + hello + completed);
  check_ended(t, lead + hello + hello + completed);
  CHECK(t.tokens.input == 7u);
  CHECK(t.tokens.output == 11u);
  CHECK_FALSE(t.tokens.estimated);
  check_ended(read_responses(lead + hello + completed + "data: [DONE]\n\n"), lead + hello + completed);
}

TEST_CASE("lifecycle events of a response are held back until the first content [S1]") {
  const auto reader = openai::make_stream_reader(openai::operation::responses, request_size);
  std::string out;
  CHECK(reader->feed(lead, out) == state::holding);
  CHECK(out.empty());
  CHECK(reader->feed(hello, out) == state::flowing);
  CHECK(out == lead + hello);
  CHECK(reader->feed(completed, out) == state::ended);
}

TEST_CASE("each event of a response that has content makes it flow [S1]") {
  for (const auto& content : {
           hello,
           event("response.refusal.delta", R"("delta":"No")"),
           event("response.function_call_arguments.delta", R"("delta":"{")"),
           event("response.reasoning_text.delta", R"("delta":"hm")"),
           event("response.reasoning_summary_text.delta", R"("delta":"hm")"),
           event("response.audio.delta", R"("delta":"AAAA")"),
           event("response.reasoning.delta", R"("delta":{"text":"hm"})"),
           event("response.output_item.added", R"("item":{"type":"function_call","name":"f","arguments":""})"),
           event("response.output_item.added", R"("item":{"id":"w","type":"web_search_call"})"),
           event("response.output_text.done", R"("text":"Hello")"),
           event("response.refusal.done", R"("refusal":"No")"),
           event("response.function_call_arguments.done", R"("arguments":"{}")"),
           event("response.content_part.done", R"("part":{"type":"output_text","text":"Hello"})"),
           event("response.content_part.done", R"("part":{"type":"refusal","refusal":"No"})"),
           event("response.output_item.done", R"("item":{"type":"message","content":[{"type":"output_text"}]})"),
           event("response.output_item.done", R"("item":{"type":"reasoning","summary":[{"type":"summary_text"}]})"),
       }) {
    INFO(content);
    check_ended(read_responses(joined({lead, content, completed})), joined({lead, content, completed}));
    check_failed(read_responses(joined({lead, content})), failure_class::connection, joined({lead, content}));
  }
  for (const auto& last : {
           completed,
           ending("response.incomplete", "incomplete", R"("output":[])"),
           ending("response.incomplete", "in_progress", R"("output":[{"type":"message"}])"),
       })
    check_ended(read_responses(lead + last), lead + last);
}

TEST_CASE("a response without content is empty_response [S1]") {
  const std::string empty = ending("response.completed", "completed", R"("output":[])");
  check_failed(read_responses(""), failure_class::empty_response, "");
  check_failed(read_responses(lead), failure_class::empty_response, "");
  check_failed(read_responses(lead + empty), failure_class::empty_response, "");
  check_failed(read_responses(lead + "data: [DONE]\n\n"), failure_class::empty_response, "");
  for (const auto& nothing : {
           event("response.queued", begun),
           event("response.output_text.delta", R"("delta":"")"),
           event("response.output_text.done", R"("text":"")"),
           event("response.output_item.added", R"("item":{"type":"reasoning","summary":[]})"),
           event("response.output_item.added", R"("item":{"type":"","content":null})"),
           event("response.output_text.annotation.added", R"("annotation":{"type":"url_citation"})"),
           event("keepalive", ""),
       }) {
    INFO(nothing);
    check_failed(read_responses(joined({lead, nothing, empty})), failure_class::empty_response, "");
  }
}

TEST_CASE("a response that fails, or an error event, fails the stream and is not passed on [S2, F]") {
  for (const auto& error : {
           event("error", R"("code":"server_error","message":"no","param":null)"),
           std::string("data: {\"type\":\"error\",\"message\":\"no\"}\n\n"),
           std::string("event: error\ndata: {\"message\":\"no\"}\n\n"),
           std::string("data: {\"error\":{\"message\":\"no\"}}\n\n"),
           ending("response.failed", "failed", R"("output":[])"),
           std::string("data: {\"type\":\"response.failed\"}\n\n"),
           std::string("event: response.failed\ndata: {}\n\n"), // the type is only in the name
           event("response.failed",
                 R"("response":{"status":"failed","error":{"code":"x"},"output":[{"type":"message"}]})"),
           event("response.completed",
                 R"("response":{"status":"completed","error":{"code":"x"},"output":[{"type":"message"}]})"),
       }) {
    INFO(error);
    check_failed(read_responses(error), failure_class::soft_failure, "");
    check_failed(read_responses(joined({lead, error, hello})), failure_class::soft_failure, "");
    check_failed(read_responses(joined({lead, hello, error, completed})), failure_class::soft_failure,
                 joined({lead, hello}));
  }
}

TEST_CASE("a response without a terminal event is connection, also when it says [DONE] [S2]") {
  check_failed(read_responses(lead + hello), failure_class::connection, lead + hello);
  check_failed(read_responses(lead + hello + completed.substr(0, completed.size() - 1)), failure_class::connection,
               lead + hello);
  check_failed(read_responses(lead + hello + "data: [DONE]\n\n" + completed), failure_class::connection, lead + hello);
}

TEST_CASE("a terminal event is known by its name where the data has no type [S2]") {
  const std::string last = "event: response.completed\ndata: {\"response\":{\"output\":[{}]}}\n\n";
  check_ended(read_responses(lead + hello + last), lead + hello + last);
}

TEST_CASE("an event of a response that has content is never withheld [S6]") {
  openai::stream_reader_options options;
  options.withhold_usage = true;
  const std::string odd = event("response.output_text.delta", R"("delta":"a","choices":[],"usage":{})");
  check_ended(read(openai::operation::responses, odd + completed, options), odd + completed);
}

TEST_CASE("the tokens of a response that does not tell them are estimated from its deltas [S6]") {
  const auto t = read_responses(lead + hello + hello + event("response.output_text.done", R"("text":"HelloHello")"));
  CHECK(t.tokens.estimated);
  CHECK(t.tokens.input == request_size / 4);
  CHECK(t.tokens.output == 3u); // 10 bytes
}
