#include "stream_transcript.hpp"

#include "support/catch.hpp"

using namespace switchyard;
using namespace switchyard::test;

namespace {

using event_list = std::vector<std::pair<std::string, std::string>>;
using namespace std::string_view_literals;

event_list events_of(std::string_view stream) {
  return events(parse({stream}));
}

struct row {
  std::string_view stream;
  event_list events;
};

} // namespace

TEST_CASE("events are as the standard says") {
  for (const auto& [stream, expected] : {
           row{"data: a\n\n", {{"", "a"}}},
           row{"data: a\ndata: b\n\n", {{"", "a\nb"}}},
           row{"data: a\ndata: b\ndata: c\n\ndata: d\n\n", {{"", "a\nb\nc"}, {"", "d"}}},
           row{"data:a\n\n", {{"", "a"}}},          // no space
           row{"data:  a \n\n", {{"", " a "}}},     // only one is dropped
           row{"data:\ta\n\n", {{"", "\ta"}}},      // and only a space
           row{"data: a: b\n\n", {{"", "a: b"}}},   // the first colon counts
           row{"data\n\n", {{"", ""}}},             // without a colon: the value is empty
           row{"data:\n\n", {{"", ""}}},            //
           row{"data: \n\n", {{"", ""}}},           //
           row{"data\ndata\n\n", {{"", "\n"}}},     //
           row{"data: a\ndata\n\n", {{"", "a\n"}}}, //
           row{"event: x\ndata: a\n\n", {{"x", "a"}}},
           row{"data: a\nevent: x\n\n", {{"x", "a"}}},
           row{"event: x\nevent: y\ndata: a\n\n", {{"y", "a"}}},
           row{"event: x\nevent\ndata: a\n\n", {{"", "a"}}},
           row{"event: x\n\ndata: a\n\n", {{"", "a"}}}, // nothing to dispatch, and the name is forgotten
           row{"event: x\ndata: a\n\ndata: b\n\n", {{"x", "a"}, {"", "b"}}},
           row{": note\n\n", {}},
           row{":\n:\n\n", {}},
           row{": note\ndata: a\n: note\n\n", {{"", "a"}}},
           row{"id: 1\nretry: 10\ndata: a\n\n", {{"", "a"}}},
           row{"id: 1\n\nretry: 10\n\n", {}},
           row{"Data: a\n data: b\ndatax: c\nfoo\n\n", {}}, // names are exact
           row{"\n\n\ndata: a\n\n\n\n", {{"", "a"}}},
           row{"data: a\r\n\r\n", {{"", "a"}}},
           row{"data: a\r\r", {{"", "a"}}},
           row{"data: a\r\ndata: b\rdata: c\n\r\ndata: d\n\r", {{"", "a\nb\nc"}, {"", "d"}}},
           row{"data: a\n\r\ndata: b\r\n\ndata: c\r\n\r", {{"", "a"}, {"", "b"}, {"", "c"}}},
           row{"\xEF\xBB\xBF"
               "data: a\n\n",
               {{"", "a"}}},
           row{"\xEF\xBB\xBF\ndata: a\n\n", {{"", "a"}}},
           row{"data: a\n\n\xEF\xBB\xBF"
               "data: b\n\n",
               {{"", "a"}}}, // only at the very beginning
           row{"\xEF\xBB\xBF\xEF\xBB\xBF"
               "data: a\n\n",
               {}}, // and only one
           row{"data: \xC3\xA9\xF0\x9F\x98\x80\n\n", {{"", "\xC3\xA9\xF0\x9F\x98\x80"}}},
           row{"data: \xFF\xC3\n\n", {{"", "\xFF\xC3"}}},
           row{"data: a\0b\n\n"sv, {{"", std::string("a\0b", 3)}}},
           row{"data: a\xE2\x80\xA8"
               "b\vc\fd\x85"
               "e\n\n",
               {{"", "a\xE2\x80\xA8"
                     "b\vc\fd\x85"
                     "e"}}}, // no line ends
           row{"", {}},
       }) {
    INFO(stream);
    for_each_split(stream, [&, s = stream, e = expected](const auto& pieces) {
      REQUIRE(events(parse(pieces)) == e);
      REQUIRE(parse(pieces) == parse({s}));
    });
  }
}

TEST_CASE("an event that is not ended by a blank line is none") {
  for (const auto stream : {"data: a"sv, "data: a\n"sv, "data: a\r"sv, "data: a\r\n"sv, "data: a\n: note\n"sv}) {
    INFO(stream);
    for_each_split(stream, [&](const auto& pieces) { REQUIRE(parse(pieces).blocks.empty()); });
  }
}

TEST_CASE("the bytes of the blocks are those of the stream, each up to the end of its blank line") {
  const auto raws = [](std::string_view stream) {
    std::vector<std::string> out;
    for (const auto& b : parse({stream}).blocks)
      out.push_back(b.raw);
    return out;
  };
  using list = std::vector<std::string>;
  CHECK(raws("data: a\n\n: note\n\n\ndata: b\n\nrest") == list{"data: a\n\n", ": note\n\n", "\n", "data: b\n\n"});
  CHECK(raws("data: a\r\n\r\ndata: b\r\n\r\n") == list{"data: a\r\n\r\n", "data: b\r\n\r\n"});
  CHECK(raws("data: a\r\rdata: b\r\r") == list{"data: a\r\r", "data: b\r\r"});
  CHECK(raws("data: a\n\rdata: b\n\r") == list{"data: a\n\r", "data: b\n\r"});
  CHECK(raws("\xEF\xBB\xBF"
             "data: a\n\n") == list{"\xEF\xBB\xBF"
                                    "data: a\n\n"});
}

TEST_CASE("the LF of a CRLF belongs to the event however late it comes") {
  openai::sse_parser parser;
  openai::sse_block block;
  std::string_view first = "data: a\r\n\r", second = "\ndata: b\r\n\r\n";
  CHECK(parser.next(first, block) == openai::sse_parser::status::more);
  CHECK(parser.next(second, block) == openai::sse_parser::status::block);
  CHECK(block.raw == "data: a\r\n\r\n");
  CHECK(parser.next(second, block) == openai::sse_parser::status::block);
  CHECK(block.raw == "data: b\r\n\r\n");
  CHECK_FALSE(parser.finish(block));
}

TEST_CASE("in a stream of lone CRs an event does not wait for the next") {
  openai::sse_parser parser;
  openai::sse_block block;
  std::string_view bytes = "data: a\r\r";
  CHECK(parser.next(bytes, block) == openai::sse_parser::status::block);
  CHECK(block.raw == "data: a\r\r");
  bytes = "\ndata: b\r\r"; // it was a CRLF after all: no blank line of its own
  CHECK(parser.next(bytes, block) == openai::sse_parser::status::block);
  CHECK(block.raw == "\ndata: b\r\r");
  CHECK(block.data == "b");
}

TEST_CASE("an event that came whole is not copied") {
  const std::string stream = "event: x\ndata: {}\n\n";
  openai::sse_parser parser;
  openai::sse_block block;
  std::string_view bytes = stream;
  REQUIRE(parser.next(bytes, block) == openai::sse_parser::status::block);
  CHECK(block.raw.data() == stream.data());
  CHECK(block.name.data() == stream.data() + 7);
  CHECK(block.data.data() == stream.data() + 15);
  CHECK(bytes.empty());
}

TEST_CASE("an event may have exactly as many bytes as the limit says") {
  const std::string event = "data: 0123456789\ndata: 0123456789\n\n"; // 35 bytes
  const std::string stream = event + event;
  for_each_split(stream, [&](const auto& pieces) {
    const auto fits = parse(pieces, event.size());
    REQUIRE(fits.blocks.size() == 2);
    REQUIRE_FALSE(fits.too_long);
    const auto over = parse(pieces, event.size() - 1);
    REQUIRE(over.blocks.empty());
    REQUIRE(over.too_long);
  });
}

TEST_CASE("an endless event ends at the limit, and the parser stays there") {
  const std::string piece(1000, 'x');
  openai::sse_parser parser(10'000);
  openai::sse_block block;
  for (int i = 0; i < 10; ++i) {
    std::string_view bytes = piece;
    REQUIRE(parser.next(bytes, block) == openai::sse_parser::status::more);
  }
  for (std::string_view bytes : {"x"sv, "\n\ndata: a\n\n"sv, ""sv})
    CHECK(parser.next(bytes, block) == openai::sse_parser::status::too_long);
  CHECK_FALSE(parser.finish(block));
}

TEST_CASE("what is no event stream is told from one that says nothing") {
  for (const auto stream :
       {"{\"a\":1}"sv, "<html>\n</html>\n"sv, "%%%% \0\1 garbage\n\n"sv, "data"sv, "foo: bar\n\n"sv})
    CHECK(parse({stream}).foreign);
  for (const auto stream : {""sv, "\n\n"sv, ": note\n\n"sv, "data: {}\n\n"sv, "id: 1\nretry\nevent\n\n"sv, ":\r\n\r"sv})
    CHECK_FALSE(parse({stream}).foreign);
  CHECK(events_of("foo: bar\ndata: a\n\n") == event_list{{"", "a"}});
}
