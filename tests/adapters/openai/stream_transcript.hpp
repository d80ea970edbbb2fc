#pragma once

// What a parser and a reader make of a stream, however it is split.

#include "switchyard/openai/stream.hpp"

#include "support/catch.hpp"

#include <cstddef>
#include <initializer_list>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace switchyard::test {

/// A block as the parser reported it, with memory of its own.
struct kept_block {
  std::string raw, name, data;
  bool event = false;
  friend bool operator==(const kept_block&, const kept_block&) = default;
};

struct parse_transcript {
  std::vector<kept_block> blocks;
  bool too_long = false;
  bool foreign = false;
  friend bool operator==(const parse_transcript&, const parse_transcript&) = default;
};

/// The pieces are copied into memory of exactly their size first, so that a sanitizer sees a read beyond one.
inline parse_transcript parse(const std::vector<std::string_view>& pieces,
                              std::size_t max_block = openai::sse_parser::default_max_block) {
  using status = openai::sse_parser::status;
  openai::sse_parser parser(max_block);
  parse_transcript t;
  openai::sse_block block;
  const auto keep = [&] {
    t.blocks.push_back({std::string(block.raw), std::string(block.name), std::string(block.data), block.event});
  };
  for (const auto piece : pieces) {
    const std::vector<char> memory(piece.begin(), piece.end());
    std::string_view bytes(memory.data(), memory.size());
    status s;
    while ((s = parser.next(bytes, block)) == status::block)
      keep();
    t.too_long = s == status::too_long;
  }
  if (parser.finish(block))
    keep();
  t.foreign = parser.foreign();
  return t;
}

/// The events alone, as a client sees them.
inline std::vector<std::pair<std::string, std::string>> events(const parse_transcript& t) {
  std::vector<std::pair<std::string, std::string>> out;
  for (const auto& b : t.blocks)
    if (b.event)
      out.emplace_back(b.name, b.data);
  return out;
}

/// What a reader did with a stream and how the stream ended.
struct read_transcript {
  std::string out;
  stream_reader::state state{};
  std::optional<failure_class> failure; ///< of a failed one
  token_usage tokens;
  bool content = false; ///< there was some

  friend bool operator==(const read_transcript& a, const read_transcript& b) {
    return a.out == b.out && a.state == b.state && a.failure == b.failure && a.tokens.input == b.tokens.input &&
           a.tokens.output == b.tokens.output && a.tokens.estimated == b.tokens.estimated && a.content == b.content;
  }
};

/// The texts, one after the other.
inline std::string joined(std::initializer_list<std::string_view> texts) {
  std::string out;
  for (const auto text : texts)
    out += text;
  return out;
}

inline constexpr std::size_t request_size = 400;

inline read_transcript read(openai::operation op, const std::vector<std::string_view>& pieces,
                            openai::stream_reader_options options = {}) {
  const auto reader = openai::make_stream_reader(op, request_size, options);
  read_transcript t;
  for (const auto piece : pieces) {
    const std::vector<char> memory(piece.begin(), piece.end());
    reader->feed(std::string_view(memory.data(), memory.size()), t.out);
    t.content |= reader->where() == stream_reader::state::flowing;
  }
  t.state = reader->finish(t.out);
  t.content |= !t.out.empty();
  if (t.state == stream_reader::state::failed)
    t.failure = reader->failure();
  t.tokens = reader->tokens();
  return t;
}

inline read_transcript read(openai::operation op, std::string_view stream, openai::stream_reader_options options = {}) {
  return read(op, std::vector{stream}, options);
}

/// Calls `f` with the text cut in two at every place, and with all its bytes one by one.
template <class F>
void for_each_split(std::string_view text, F f) {
  for (std::size_t at = 0; at <= text.size(); ++at)
    f(std::vector{text.substr(0, at), text.substr(at)});
  std::vector<std::string_view> bytes;
  for (std::size_t at = 0; at < text.size(); ++at)
    bytes.push_back(text.substr(at, 1));
  f(bytes);
}

inline void check_failed(const read_transcript& t, failure_class why, std::string_view out) {
  CHECK(t.state == stream_reader::state::failed);
  REQUIRE(t.failure);
  CHECK(to_string(*t.failure) == to_string(why));
  CHECK(t.out == out);
}

inline void check_ended(const read_transcript& t, std::string_view out) {
  CHECK(t.state == stream_reader::state::ended);
  CHECK(t.out == out);
}

} // namespace switchyard::test
