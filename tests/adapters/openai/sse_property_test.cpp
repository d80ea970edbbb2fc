// Random streams, split at random, against a parser that takes the whole text apart in three passes.

#include "stream_transcript.hpp"

#include "support/catch.hpp"

#include <rapidcheck.h>

#include <algorithm>

using namespace switchyard;
using namespace switchyard::test;

namespace {

struct text_line {
  std::string text, end;
};

// First pass: lines with their ends. What follows the last end is no line.
std::vector<text_line> lines_of(std::string s) {
  std::vector<text_line> lines;
  for (std::size_t end; (end = s.find_first_of("\r\n")) != std::string::npos;) {
    const std::string mark = s.compare(end, 2, "\r\n") == 0 ? "\r\n" : s.substr(end, 1);
    lines.push_back({s.substr(0, end), mark});
    s.erase(0, end + mark.size());
  }
  return lines;
}

// Third pass: the fields of a block.
kept_block interpret(const std::vector<std::string>& lines, const std::string& raw) {
  kept_block block;
  block.raw = raw;
  for (const auto& line : lines) {
    const auto field = [&](const std::string& name) -> std::optional<std::string> {
      if (line == name)
        return "";
      if (line.rfind(name + ": ", 0) == 0)
        return line.substr(name.size() + 2);
      if (line.rfind(name + ":", 0) == 0)
        return line.substr(name.size() + 1);
      return std::nullopt;
    };
    if (const auto name = field("event"))
      block.name = *name;
    if (const auto data = field("data")) {
      block.data += *data + "\n";
      block.event = true;
    }
  }
  if (block.event)
    block.data.pop_back();
  return block;
}

// Second pass: lines into blocks.
std::vector<kept_block> reference(const std::string& stream) {
  std::vector<kept_block> blocks;
  std::vector<std::string> texts;
  std::string raw, last_end;
  auto lines = lines_of(stream);
  if (!lines.empty() && lines[0].text.rfind("\xEF\xBB\xBF", 0) == 0) {
    raw = "\xEF\xBB\xBF";
    lines[0].text.erase(0, 3);
  }
  for (const auto& [text, end] : lines) {
    // In a stream of lone CRs an event does not wait for an LF; one that comes leads the next.
    const bool late = text.empty() && end == "\r\n" && last_end == "\r";
    raw += text + (late ? "\r" : end);
    last_end = end;
    if (!text.empty()) {
      texts.push_back(text);
      continue;
    }
    blocks.push_back(interpret(texts, raw));
    texts.clear();
    raw = late ? "\n" : "";
  }
  return blocks;
}

std::string random_stream() {
  const auto parts = *rc::gen::container<std::vector<std::string>>(rc::gen::element<std::string>(
      "\n", "\n\n", "\r", "\r\n", "\r\n\r\n", "\r\r", "data: a\n", "data: b\n\n", "data: c\r\n\r\n", "data: d\r\r", ":",
      ": ", " ", "data", "data: ", "data:", "event: ", "event", "id: 1", "retry: 5", "x", "{\"a\":1}", "[DONE]",
      "\xEF\xBB\xBF", "\xC3\xA9", "\xFF", std::string(1, '\0')));
  std::string stream = *rc::gen::element<std::string>("", "", "\xEF\xBB\xBF");
  for (const auto& part : parts)
    stream += part;
  return stream;
}

std::vector<std::string_view> random_split(std::string_view text) {
  auto cuts = *rc::gen::container<std::vector<std::size_t>>(rc::gen::inRange<std::size_t>(0, text.size() + 1));
  std::ranges::sort(cuts);
  std::vector<std::string_view> pieces;
  std::size_t begin = 0;
  for (const auto cut : cuts) {
    pieces.push_back(text.substr(begin, cut - begin));
    begin = cut;
  }
  pieces.push_back(text.substr(begin));
  return pieces;
}

} // namespace

TEST_CASE("any stream, split anyhow, has the blocks that a plain reading finds") {
  CHECK(rc::check([] {
    const std::string stream = random_stream();
    const auto found = parse(random_split(stream));
    const auto expected = reference(stream);
    RC_CLASSIFY(std::ranges::count(expected, true, &kept_block::event) > 1, "several events");
    RC_ASSERT(found.blocks.size() == expected.size());
    for (std::size_t i = 0; i < expected.size(); ++i) {
      RC_ASSERT(found.blocks[i].raw == expected[i].raw);
      RC_ASSERT(found.blocks[i].name == expected[i].name);
      RC_ASSERT(found.blocks[i].data == expected[i].data);
      RC_ASSERT(found.blocks[i].event == expected[i].event);
    }
    RC_ASSERT(!found.too_long);
  }));
}

TEST_CASE("a limit cuts the same blocks however the stream is split") {
  CHECK(rc::check([] {
    const std::string stream = random_stream();
    const auto limit = *rc::gen::inRange<std::size_t>(0, 40);
    std::vector<kept_block> expected;
    std::size_t taken = 0;
    bool over = false;
    for (const auto& block : reference(stream)) {
      over = over || block.raw.size() > limit;
      if (!over)
        expected.push_back(block), taken += block.raw.size();
    }
    over = over || stream.size() - taken > limit;
    const auto found = parse(random_split(stream), limit);
    RC_ASSERT(found.blocks == expected);
    RC_ASSERT(found.too_long == over);
  }));
}
