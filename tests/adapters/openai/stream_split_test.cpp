// However the network cuts a stream, the same comes of it.

#include "stream_transcript.hpp"

#include "support/catch.hpp"

#include <rapidcheck.h>

#include <algorithm>

using namespace switchyard;
using namespace switchyard::test;
using openai::operation;
using state = stream_reader::state;

namespace {

struct sample {
  operation op;
  std::string stream;
};

std::string with_crlf(std::string_view s) {
  std::string out;
  for (const char c : s)
    out += c == '\n' ? std::string("\r\n") : std::string(1, c);
  return out;
}

const std::string chat_stream =
    ": hello\n\n"
    "data: {\"choices\":[{\"index\":0,\"delta\":{\"role\":\"assistant\",\"content\":\"\"}}]}\n\n"
    "data: {\"choices\":[{\"index\":0,\"delta\":{\"content\":\"\xF0\x9F\x98\x80\"}}]}\n\n"
    "data: {\"choices\":[{\"index\":0,\ndata: \"delta\":{},\"finish_reason\":\"stop\"}]}\n\n"
    "data: {\"choices\":[],\"usage\":{\"prompt_tokens\":7,\"completion_tokens\":11}}\n\n"
    "data: [DONE]\n\n";
const std::string responses_stream =
    "event: response.created\ndata: {\"type\":\"response.created\",\"response\":{\"output\":[]}}\n\n"
    "event: response.output_text.delta\ndata: {\"type\":\"response.output_text.delta\",\"delta\":\"Hi\"}\n\n"
    "event: response.completed\ndata: {\"type\":\"response.completed\",\"response\":{\"output\":[{}]}}\n\n";

std::vector<sample> samples() {
  using op = operation;
  return {
      {op::chat_completions, chat_stream},
      {op::chat_completions, with_crlf(chat_stream)},
      {op::chat_completions, "\xEF\xBB\xBF" + chat_stream},
      {op::chat_completions, chat_stream.substr(0, chat_stream.size() - 20)},
      {op::chat_completions, chat_stream.substr(0, 200) + "data: oops\n\n" + chat_stream},
      {op::chat_completions, "%%%% \x01 not an event stream\n\n<html>oops</html>\n\n"},
      {op::completions,
       "data: {\"choices\":[{\"text\":\"a\"}]}\r\rdata: {\"choices\":[{\"text\":\"b\"}]}\r\rdata: [DONE]\r\r"},
      {op::completions, "data: {\"choices\":[{\"text\":\"a\"}]}\n\ndata: {\"error\":{}}\n\ndata: [DONE]\n\n"},
      {op::responses, responses_stream},
      {op::responses, with_crlf(responses_stream)},
  };
}

} // namespace

TEST_CASE("a stream cut anywhere, or fed byte by byte, gives the same [S5]") {
  for (const auto& [op, stream] : samples()) {
    INFO(stream);
    const auto whole = read(op, stream);
    CHECK(stream.starts_with(whole.out));
    for_each_split(stream, [&, o = op](const auto& pieces) { REQUIRE(read(o, pieces) == whole); });
  }
}

TEST_CASE("the samples are what their names say [S5]") {
  const auto all = samples();
  for (const std::size_t good : {0, 1, 2, 6, 8, 9}) {
    CHECK(read(all[good].op, all[good].stream).state == state::ended);
    CHECK(read(all[good].op, all[good].stream).out == all[good].stream);
  }
  for (const std::size_t bad : {4, 5, 7})
    CHECK(read(all[bad].op, all[bad].stream).failure == failure_class::soft_failure);
  CHECK(read(all[3].op, all[3].stream).state == state::ended); // by its finish_reason
}

TEST_CASE("each event goes out with its last byte, whatever its line ends [S5]") {
  for (const auto& stream : {chat_stream, with_crlf(chat_stream)}) {
    const auto blocks = parse({stream}).blocks;
    const auto reader = openai::make_stream_reader(operation::chat_completions, request_size);
    std::string out, expected;
    for (const auto& block : blocks) {
      const std::size_t before = out.size();
      for (std::size_t i = 0; i < block.raw.size(); ++i) {
        REQUIRE(out.size() == before);
        reader->feed(std::string_view(block.raw).substr(i, 1), out);
      }
      expected += block.raw;
      if (reader->where() != state::holding)
        REQUIRE(out == expected);
    }
    CHECK(reader->where() == state::ended);
  }
}

TEST_CASE("a withheld event is missing and nothing else, however the stream is split [S6]") {
  openai::stream_reader_options options;
  options.withhold_usage = true;
  std::string expected;
  for (const auto& block : parse({chat_stream}).blocks)
    if (block.raw.find("usage") == std::string::npos)
      expected += block.raw;
  for_each_split(chat_stream, [&](const auto& pieces) {
    REQUIRE(read(operation::chat_completions, pieces, options).out == expected);
  });
}

TEST_CASE("any events in any order, split anyhow, pass in whole blocks or not at all [S1, S2, S5]") {
  CHECK(rc::check([] {
    const auto parts = *rc::gen::container<std::vector<std::string>>(rc::gen::element<std::string>(
        ": note\n\n", "data: {}\n\n", "data: [DONE]\n\n", "data: oops\n\n", "\n", "data: {\"error\":{}}\n\n",
        "data: {\"choices\":[{\"delta\":{\"content\":\"a\"}}]}\n\n",
        "data: {\"choices\":[{\"delta\":{\"content\":\"b\"}}]}\r\n\r\n",
        "data: {\"choices\":[{\"delta\":{},\"finish_reason\":\"stop\"}]}\n\n",
        "data: {\"choices\":[{\"delta\":{}}],\n"
        "data: \"usage\":{\"prompt_tokens\":1,\"completion_tokens\":2}}\n\n"));
    std::string stream;
    for (const auto& part : parts)
      stream += part;
    auto cuts = *rc::gen::container<std::vector<std::size_t>>(rc::gen::inRange<std::size_t>(0, stream.size() + 1));
    std::ranges::sort(cuts);
    std::vector<std::string_view> pieces;
    std::size_t begin = 0;
    for (const auto cut : cuts)
      pieces.push_back(std::string_view(stream).substr(begin, cut - begin)), begin = cut;
    pieces.push_back(std::string_view(stream).substr(begin));

    const auto t = read(operation::chat_completions, pieces);
    RC_CLASSIFY(t.state == state::ended, "ended");
    RC_ASSERT(t == read(operation::chat_completions, stream));
    RC_ASSERT(stream.starts_with(t.out));
    std::size_t whole = 0;
    for (const auto& block : parse({stream}).blocks)
      if (whole < t.out.size())
        whole += block.raw.size();
    RC_ASSERT(whole == t.out.size());
    RC_ASSERT(t.state != state::ended || t.out.find("\"content\"") != std::string::npos);
  }));
}
