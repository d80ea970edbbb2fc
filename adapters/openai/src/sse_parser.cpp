#include "switchyard/openai/sse_parser.hpp"

#include <algorithm>

namespace switchyard::openai {
namespace {

constexpr std::string_view byte_order_mark = "\xEF\xBB\xBF";

// Memory that is kept from one block for the next; there are thousands of streams.
constexpr std::size_t kept_capacity = 1024;

void empty(std::string& s) {
  if (s.capacity() > kept_capacity)
    std::string().swap(s);
  else
    s.clear();
}

std::size_t find_line_end(std::string_view bytes, std::size_t from) noexcept {
  const auto end = std::find_if(bytes.begin() + static_cast<std::ptrdiff_t>(from), bytes.end(),
                                [](char c) { return c == '\n' || c == '\r'; });
  return static_cast<std::size_t>(end - bytes.begin());
}

} // namespace

sse_parser::status sse_parser::next(std::string_view& bytes, sse_block& out) {
  if (too_long_)
    return status::too_long;
  if (reported_)
    begin_block();
  std::size_t at = 0; // bytes of the block in this piece
  while (at < bytes.size()) {
    if (after_cr_) {
      after_cr_ = false;
      lone_cr_ = bytes[at] != '\n';
      if (!lone_cr_)
        line_ = gathered_.size() + ++at;
      if (blank_)
        return report(bytes, at, out);
      continue;
    }
    at = find_line_end(bytes, at);
    if (at == bytes.size())
      break;
    after_cr_ = bytes[at++] == '\r';
    if (!after_cr_)
      lone_cr_ = false;
    if (over_limit(at))
      return give_up();
    if (!gathered_.empty()) {
      gathered_.append(bytes.substr(0, at));
      bytes.remove_prefix(at);
      at = 0;
    }
    const std::string_view block = gathered_.empty() ? bytes : std::string_view(gathered_);
    const std::size_t next_line = gathered_.size() + at;
    take_line(block, {line_, next_line - 1 - line_});
    line_ = next_line;
    if (blank_ && (!after_cr_ || lone_cr_))
      return report(bytes, at, out);
  }
  return gather(bytes);
}

bool sse_parser::finish(sse_block& out) {
  std::string_view nothing;
  return !too_long_ && !reported_ && waits_for_lf() && report(nothing, 0, out) == status::block;
}

void sse_parser::begin_block() {
  empty(gathered_);
  empty(joined_);
  line_ = 0;
  name_ = data_ = {};
  data_fields_ = 0;
  blank_ = reported_ = false;
}

// A line without its end.
void sse_parser::take_line(std::string_view block, span line) {
  if (at_start_ && line.in(block).starts_with(byte_order_mark))
    line = {line.begin + byte_order_mark.size(), line.size - byte_order_mark.size()};
  at_start_ = false;
  if (line.size == 0) {
    blank_ = true;
    return;
  }
  const std::size_t colon = std::min(line.in(block).find(':'), line.size);
  if (colon != 0) // else a comment
    take_field(block, line, colon);
}

void sse_parser::take_field(std::string_view block, span line, std::size_t colon) {
  const std::string_view text = line.in(block), field = text.substr(0, colon);
  std::size_t begin = std::min(colon + 1, line.size);
  if (begin < line.size && text[begin] == ' ')
    ++begin;
  const span value{line.begin + begin, line.size - begin};
  if (field == "data")
    add_data(block, value);
  else if (field == "event")
    name_ = value;
  else if (field != "id" && field != "retry")
    foreign_ = true;
}

void sse_parser::add_data(std::string_view block, span value) {
  if (data_fields_ == 0) {
    data_ = value;
    data_fields_ = 1;
    return;
  }
  if (data_fields_ == 1)
    joined_.assign(data_.in(block));
  data_fields_ = 2;
  joined_.append(1, '\n').append(value.in(block));
}

// Keeps what there is of the block until more comes.
sse_parser::status sse_parser::gather(std::string_view& bytes) {
  if (over_limit(bytes.size()))
    return give_up();
  gathered_.append(bytes);
  bytes = {};
  return status::more;
}

// The block ends after `size` more bytes.
sse_parser::status sse_parser::report(std::string_view& bytes, std::size_t size, sse_block& out) {
  if (over_limit(size))
    return give_up();
  if (gathered_.empty()) {
    out.raw = bytes.substr(0, size);
  } else {
    gathered_.append(bytes.substr(0, size));
    out.raw = gathered_;
  }
  bytes.remove_prefix(size);
  out.name = name_.in(out.raw);
  out.data = data_fields_ == 2 ? std::string_view(joined_) : data_.in(out.raw);
  out.event = data_fields_ != 0;
  reported_ = true;
  return status::block;
}

sse_parser::status sse_parser::give_up() noexcept {
  too_long_ = true;
  std::string().swap(gathered_);
  std::string().swap(joined_);
  return status::too_long;
}

} // namespace switchyard::openai
