#include "switchyard/openai/whole_answer.hpp"

#include "stream_transcript.hpp"

#include "support/catch.hpp"

using namespace switchyard;
using namespace switchyard::openai;

TEST_CASE("a chat completion becomes a stream with its content, its reason and its end") {
  CHECK(as_stream(operation::chat_completions,
                  R"({"choices":[{"message":{"role":"assistant","content":"Sorry."},"finish_reason":"length"}]})",
                  "m") ==
        "data: {\"id\":\"static\",\"object\":\"chat.completion.chunk\",\"created\":0,\"model\":\"m\",\"choices\":"
        "[{\"index\":0,\"delta\":{\"role\":\"assistant\",\"content\":\"Sorry.\"},\"finish_reason\":null}]}\n\n"
        "data: {\"id\":\"static\",\"object\":\"chat.completion.chunk\",\"created\":0,\"model\":\"m\",\"choices\":"
        "[{\"index\":0,\"delta\":{},\"finish_reason\":\"length\"}]}\n\n"
        "data: [DONE]\n\n");
}

TEST_CASE("what the answer says of itself is kept, and calls of tools are numbered") {
  const auto text = as_stream(operation::chat_completions,
                              R"({"id":"x","created":5,"model":"own","choices":[{"index":3,"message":)"
                              R"({"tool_calls":[{"id":"a"},{"id":"b"}]}}]})",
                              "m");
  CHECK(text.find(R"("id":"x","object":"chat.completion.chunk","created":5,"model":"own")") != std::string::npos);
  CHECK(text.find(R"("index":3,"delta":{"tool_calls":[{"id":"a","index":0},{"id":"b","index":1}]})") !=
        std::string::npos);
  CHECK(text.find(R"("finish_reason":"stop")") != std::string::npos);
}

TEST_CASE("a completion becomes a stream of texts") {
  const auto text = as_stream(operation::completions, R"({"choices":[{"text":"Sorry."}]})", "m");
  CHECK(text.find(R"("object":"text_completion")") != std::string::npos);
  CHECK(text.find(R"({"index":0,"text":"Sorry.","logprobs":null,"finish_reason":null})") != std::string::npos);
  CHECK(text.find(R"({"index":0,"text":"","logprobs":null,"finish_reason":"stop"})") != std::string::npos);
}

TEST_CASE("a response becomes numbered events from created to completed") {
  const auto text = as_stream(operation::responses,
                              R"({"id":"r","status":"completed","output":[{"id":"i","type":"message","content":)"
                              R"([{"type":"output_text","text":"Sorry."}]}]})",
                              "m");
  std::vector<std::string> names;
  for (std::size_t at = 0; (at = text.find("event: ", at)) != std::string::npos; ++at)
    names.push_back(text.substr(at + 7, text.find('\n', at) - at - 7));
  CHECK(names == std::vector<std::string>{"response.created", "response.output_item.added",
                                          "response.content_part.added", "response.output_text.delta",
                                          "response.output_text.done", "response.content_part.done",
                                          "response.output_item.done", "response.completed"});
  CHECK(text.find(R"("delta":"Sorry.")") != std::string::npos);
  CHECK(text.find(R"("sequence_number":7)") != std::string::npos);
}

TEST_CASE("the streams made of whole answers are usable to the reader of streams [S1, S2]") {
  const std::pair<operation, std::string> answers[] = {
      {operation::chat_completions, R"({"choices":[{"message":{"role":"assistant","content":"Sorry."}}]})"},
      {operation::completions, R"({"choices":[{"text":"Sorry."}]})"},
      {operation::responses, R"({"output":[{"type":"message","content":[{"type":"output_text","text":"Sorry."}]}]})"},
  };
  for (const auto& [op, body] : answers) {
    CAPTURE(provider_path(op));
    const auto stream = as_stream(op, body, "m");
    test::check_ended(test::read(op, stream), stream);
  }
}

TEST_CASE("what has no content of the operation is one event, and embeddings have no stream") {
  CHECK(as_stream(operation::chat_completions, R"({"note":1})", "m") == "data: {\"note\":1}\n\ndata: [DONE]\n\n");
  CHECK(as_stream(operation::embeddings, R"({"data":[]})", "m") == R"({"data":[]})");
  CHECK_NOTHROW(as_stream(operation::chat_completions, R"({"choices":[1,{"message":2},{}]})", "m"));
  CHECK_NOTHROW(as_stream(operation::responses, R"({"output":[1,{"content":[2,{"text":3}]}]})", "m"));
}

TEST_CASE("the text of an answer is what the model has written, wherever the operation has it") {
  CHECK(
      answer_text(R"({"choices":[{"message":{"content":"a"}},{"message":{"content":[{"text":"b"},{"image":1}]}}]})") ==
      "a\nb\n");
  CHECK(answer_text(R"({"choices":[{"text":"a"}],"note":"OK"})") == "a\n");
  CHECK(answer_text(R"({"output":[{"content":[{"text":"a"}]},{"type":"other"}]})") == "a\n");
  CHECK(answer_text("[]").empty());
  CHECK(answer_text("no json").empty());
  CHECK(answer_text("").empty());
}
