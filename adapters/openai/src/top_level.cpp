#include "top_level.hpp"

#include <boost/json/parse.hpp>
#include <boost/json/value.hpp>

#include <algorithm>

namespace switchyard::openai::detail {
namespace {

constexpr std::string_view scalar_end = " \t\r\n,]}";

} // namespace

top_level_members::top_level_members(std::string_view text) noexcept : text_(text) {
  skip_space();
  ++position_; // the brace
}

bool top_level_members::next(member& out) noexcept {
  skip_space();
  if (peek() == ',') {
    ++position_;
    skip_space();
  }
  if (peek() != '"')
    return false; // the closing brace
  const std::size_t key = position_;
  skip_string();
  out.key = text_.substr(key + 1, position_ - key - 2);
  skip_space();
  ++position_; // the colon
  skip_space();
  out.offset = position_;
  skip_value();
  out.value = text_.substr(out.offset, position_ - out.offset);
  return true;
}

void top_level_members::skip_space() noexcept {
  while (position_ < text_.size() && white_space.find(text_[position_]) != std::string_view::npos)
    ++position_;
}

// From the opening quote to behind the closing one. A quote is escaped when an odd number of backslashes precedes it.
// Searching for quotes instead of reading each byte makes long prompts cheap.
void top_level_members::skip_string() noexcept {
  const std::size_t begin = position_ + 1;
  for (std::size_t from = begin;;) {
    const std::size_t quote = text_.find('"', from);
    if (quote == std::string_view::npos) {
      position_ = text_.size();
      return;
    }
    std::size_t first_backslash = quote;
    while (first_backslash > from && text_[first_backslash - 1] == '\\')
      --first_backslash;
    from = quote + 1;
    if ((quote - first_backslash) % 2 == 0) {
      position_ = from;
      return;
    }
  }
}

// From the opening bracket to behind the one that closes it.
void top_level_members::skip_nested() noexcept {
  std::size_t depth = 0;
  while (position_ < text_.size()) {
    switch (text_[position_]) {
    case '"':
      skip_string();
      continue;
    case '{':
    case '[':
      ++depth;
      break;
    case '}':
    case ']':
      --depth;
      break;
    default:
      break;
    }
    ++position_;
    if (depth == 0)
      return;
  }
}

void top_level_members::skip_value() noexcept {
  switch (peek()) {
  case '"':
    skip_string();
    break;
  case '{':
  case '[':
    skip_nested();
    break;
  default:
    position_ = std::min(text_.find_first_of(scalar_end, position_), text_.size());
  }
}

char first_token(std::string_view text) noexcept {
  const std::size_t at = text.find_first_not_of(white_space);
  return at == std::string_view::npos ? '\0' : text[at];
}

std::string decode_string(std::string_view raw) {
  if (raw.find('\\') == std::string_view::npos)
    return std::string(raw);
  std::string quoted;
  quoted.reserve(raw.size() + 2);
  quoted.append(1, '"').append(raw).append(1, '"');
  boost::json::error_code ec;
  const boost::json::value decoded = boost::json::parse(quoted, ec);
  return ec ? std::string() : std::string(decoded.get_string());
}

bool is_key(std::string_view raw, std::string_view name) {
  constexpr std::size_t longest_escape = 6; // bytes for one; what is longer is not decoded
  if (raw.find('\\') == std::string_view::npos || raw.size() > longest_escape * name.size())
    return raw == name;
  return decode_string(raw) == name;
}

} // namespace switchyard::openai::detail
