#include "sse_check.hpp"

#include "support/counted_allocations.hpp"

#include "switchyard/openai/stream.hpp"

#include <algorithm>
#include <cstdint>
#include <optional>
#include <vector>

namespace switchyard::test {
namespace {

using openai::operation;
using pieces = std::vector<std::string_view>;

struct setup {
  operation op = operation::chat_completions;
  openai::stream_reader_options options;
};

// The choosing byte's bits 0 and 1 are the operation, 2 withholds usage, 3 sets small limits: "1" is a plain chat
// stream.
setup setup_of(unsigned char c) {
  constexpr operation operations[] = {operation::completions, operation::chat_completions, operation::responses,
                                      operation::embeddings};
  setup s;
  s.op = operations[c % 4];
  s.options.withhold_usage = (c & 4) != 0;
  if ((c & 8) != 0) {
    s.options.max_event = 200;
    s.options.max_held = 150;
  }
  return s;
}

pieces bytes_of(std::string_view stream) {
  pieces out;
  for (std::size_t i = 0; i < stream.size(); ++i)
    out.push_back(stream.substr(i, 1));
  return out;
}

pieces pieces_of(std::string_view stream, unsigned char seed) {
  pieces out;
  std::uint32_t state = seed + 1u;
  while (!stream.empty()) {
    state = state * 1664525 + 1013904223;
    const std::size_t size = std::min<std::size_t>((state >> 16) % 40, stream.size());
    out.push_back(stream.substr(0, size)); // some are empty
    stream.remove_prefix(size);
  }
  return out;
}

struct block_text {
  std::string raw, name, data;
  bool event = false;
  bool operator==(const block_text&) const = default;
};

struct parsed {
  std::vector<block_text> blocks;
  bool too_long = false, foreign = false;
  bool operator==(const parsed&) const = default;
};

parsed parse(const pieces& stream, std::size_t max_block) {
  using status = openai::sse_parser::status;
  openai::sse_parser parser(max_block);
  openai::sse_block block;
  parsed out;
  const auto keep = [&] {
    out.blocks.push_back({std::string(block.raw), std::string(block.name), std::string(block.data), block.event});
  };
  for (std::string_view piece : stream) {
    status s;
    while ((s = parser.next(piece, block)) == status::block)
      keep();
    out.too_long = s == status::too_long;
  }
  if (parser.finish(block))
    keep();
  out.foreign = parser.foreign();
  return out;
}

struct outcome {
  std::string out;
  stream_reader::state state{};
  failure_class failure{};
  token_usage tokens;
  std::size_t most_memory = 0; // not compared

  bool operator==(const outcome& o) const {
    return out == o.out && state == o.state && failure == o.failure && tokens.input == o.tokens.input &&
           tokens.output == o.tokens.output && tokens.estimated == o.tokens.estimated;
  }
};

outcome read(const pieces& stream, std::size_t size, const setup& with) {
  outcome o;
  o.out.reserve(size); // so that it is not counted below
  const std::size_t before = live_bytes();
  const auto reader = openai::make_stream_reader(with.op, size, with.options);
  for (const std::string_view piece : stream) {
    reader->feed(piece, o.out);
    o.most_memory = std::max(o.most_memory, live_bytes() - before);
  }
  o.state = reader->finish(o.out);
  o.failure = reader->failure();
  o.tokens = reader->tokens();
  return o;
}

std::string check_blocks(std::string_view stream, const parsed& whole, std::size_t max_block) {
  std::string joined;
  for (const auto& block : whole.blocks) {
    joined += block.raw;
    if (block.raw.empty() || block.raw.size() > max_block)
      return "a block is empty or over the limit";
    if (!block.event && !block.data.empty())
      return "a block without an event has data";
  }
  if (!stream.starts_with(joined))
    return "the blocks are not the stream";
  return {};
}

std::string check_outcome(std::string_view stream, const setup& with, const outcome& o) {
  using state = stream_reader::state;
  if (o.state != state::ended && o.state != state::failed)
    return "a stream has ended and its reader has not";
  if (!with.options.withhold_usage && !stream.starts_with(o.out))
    return "what went out is not the beginning of the stream";
  if (o.out.size() > stream.size())
    return "more went out than came in";
  const bool empty = o.failure == failure_class::empty_response;
  if (o.out.empty() ? o.state == state::ended : o.state == state::failed && empty)
    return "content and state contradict each other";
  if (!o.tokens.input || !o.tokens.output)
    return "the tokens are missing";
  return {};
}

// Buffers grow by doubling, and while one grows the old one is still there.
bool within_memory(const outcome& o, const setup& with) {
  return o.most_memory <= 1024 + 3 * 1024 + 3 * (2 * with.options.max_event + with.options.max_held);
}

} // namespace

std::string check_stream(std::string_view input) {
  if (input.size() < 2)
    return {};
  const setup with = setup_of(static_cast<unsigned char>(input[0]));
  const std::string_view stream = input.substr(2);
  const pieces bytes = bytes_of(stream), cut = pieces_of(stream, static_cast<unsigned char>(input[1]));

  const parsed blocks = parse({stream}, with.options.max_event);
  if (auto wrong = check_blocks(stream, blocks, with.options.max_event); !wrong.empty())
    return wrong;
  if (blocks != parse(bytes, with.options.max_event))
    return "byte by byte there are other blocks";
  if (blocks != parse(cut, with.options.max_event))
    return "in pieces there are other blocks";

  const outcome whole = read({stream}, stream.size(), with);
  if (auto wrong = check_outcome(stream, with, whole); !wrong.empty())
    return wrong;
  const outcome by_byte = read(bytes, stream.size(), with);
  if (whole != by_byte)
    return "byte by byte the reader does something else";
  if (whole != read(cut, stream.size(), with))
    return "in pieces the reader does something else";
  if (!within_memory(whole, with) || !within_memory(by_byte, with))
    return "the reader needs more memory than its bound";
  return {};
}

} // namespace switchyard::test
