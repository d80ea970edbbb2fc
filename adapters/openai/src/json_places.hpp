#pragma once

// Reads JSON in one pass and builds nothing: a scanner is told of values by their place, which is one number, so that
// it costs a comparison to know whether a value matters.

#include "switchyard/openai/body.hpp"

#include <boost/json/basic_parser_impl.hpp>

#include <algorithm>
#include <array>
#include <cstddef>
#include <cstdint>
#include <string_view>

namespace switchyard::openai::detail {

/// The first `Capacity` bytes of a text that arrives in pieces.
template <std::size_t Capacity>
class bounded_text {
public:
  void append(std::string_view piece) noexcept {
    const std::size_t n = std::min(piece.size(), Capacity - size_);
    std::copy_n(piece.data(), n, bytes_.data() + size_);
    size_ += n;
  }
  void clear() noexcept { size_ = 0; }
  bool empty() const noexcept { return size_ == 0; }
  std::string_view view() const noexcept { return {bytes_.data(), size_}; }

private:
  std::array<char, Capacity> bytes_; // only the first size_ are ever read
  std::size_t size_ = 0;
};

/// The keys that matter anywhere in an answer or a chunk of one. `element` stands for a place in an array.
enum class key : std::uint8_t {
  none,
  element,
  other,
  arguments,
  audio,
  choices,
  code,
  completion_tokens,
  content,
  data,
  delta,
  detail,
  error,
  finish_reason,
  function,
  function_call,
  index,
  input_tokens,
  item,
  message,
  name,
  output,
  output_tokens,
  part,
  prompt_tokens,
  reasoning_content,
  refusal,
  response,
  status,
  summary,
  text,
  tool_calls,
  type,
  usage,
};

/// The key of that name; `other` for one that does not matter.
key key_of(std::string_view name) noexcept;

/// The place of a value, one byte per level from the top. 0 is the top itself, and whatever is too deep to matter.
using place = std::uint64_t;
inline constexpr std::size_t levels = sizeof(place);

/// The place reached by these keys.
template <class... Keys>
constexpr place at(Keys... keys) noexcept {
  static_assert(sizeof...(keys) <= levels);
  place p = 0;
  ((p = p << 8 | static_cast<place>(keys)), ...);
  return p;
}

/// The place reached by these keys from any element of `choices`.
template <class... Keys>
constexpr place choice(Keys... keys) noexcept {
  return at(key::choices, key::element, keys...);
}

/// The number, unless it is no count of tokens: what is larger would spoil every sum.
constexpr bool plausible_tokens(std::uint64_t n) noexcept {
  return n <= 1'000'000'000'000;
}

/// What a scanner may hear. Derive from it and hide what matters.
struct json_listener {
  void object_begins(place) noexcept {}
  void container(place, std::size_t /*members*/) noexcept {} ///< an object or array has ended
  void piece(place, std::string_view) noexcept {}            ///< of a text, decoded
  void text(place, std::size_t /*size*/) noexcept {}         ///< a text has ended
  void count(place, std::uint64_t) noexcept {}               ///< a non-negative whole number
  void value(place) noexcept {}                              ///< any value but null; comes after the above
};

/// Follows the parser with the place of the current value.
template <class Listener>
class place_handler {
public:
  static constexpr std::size_t max_array_size = static_cast<std::size_t>(-1);
  static constexpr std::size_t max_object_size = static_cast<std::size_t>(-1);
  static constexpr std::size_t max_string_size = static_cast<std::size_t>(-1);
  static constexpr std::size_t max_key_size = static_cast<std::size_t>(-1);

  explicit place_handler(Listener& listener) noexcept : listener_(listener) {}

  using string_view = boost::json::string_view;
  using error_code = boost::json::error_code;

  bool on_document_begin(error_code&) { return true; }
  bool on_document_end(error_code&) { return true; }
  bool on_comment_part(string_view, error_code&) { return true; }
  bool on_comment(string_view, error_code&) { return true; }

  bool on_object_begin(error_code&) {
    listener_.object_begins(here());
    enter(key::other); // until its first key
    return true;
  }
  bool on_object_end(std::size_t members, error_code&) { return leave(members); }
  bool on_array_begin(error_code&) {
    enter(key::element);
    return true;
  }
  bool on_array_end(std::size_t elements, error_code&) { return leave(elements); }

  bool on_key_part(string_view s, std::size_t, error_code&) {
    key_.append(s);
    return true;
  }
  bool on_key(string_view s, std::size_t size, error_code&) {
    if (depth_ <= levels) {
      key_.append(s);
      const key k = size == key_.view().size() ? key_of(key_.view()) : key::other;
      place_ = (place_ & ~place{0xFF}) | static_cast<place>(k);
    }
    key_.clear();
    return true;
  }

  bool on_string_part(string_view s, std::size_t, error_code&) {
    listener_.piece(here(), s);
    return true;
  }
  bool on_string(string_view s, std::size_t size, error_code&) {
    listener_.piece(here(), s);
    listener_.text(here(), size);
    return value();
  }

  bool on_number_part(string_view, error_code&) { return true; }
  bool on_int64(std::int64_t i, string_view, error_code&) {
    if (i >= 0)
      listener_.count(here(), static_cast<std::uint64_t>(i));
    return value();
  }
  bool on_uint64(std::uint64_t u, string_view, error_code&) {
    listener_.count(here(), u);
    return value();
  }
  bool on_double(double, string_view, error_code&) { return value(); }
  bool on_bool(bool, error_code&) { return value(); }
  bool on_null(error_code&) { return true; }

private:
  // Deeper than a place can say, nothing matters and only the depth is kept.
  void enter(key k) noexcept {
    if (++depth_ <= levels)
      place_ = place_ << 8 | static_cast<place>(k);
  }
  bool leave(std::size_t members) noexcept {
    if (depth_-- <= levels)
      place_ >>= 8;
    listener_.container(here(), members);
    return value();
  }
  bool value() noexcept {
    listener_.value(here());
    return true;
  }
  place here() const noexcept { return depth_ <= levels ? place_ : 0; }

  Listener& listener_;
  place place_ = 0;
  std::size_t depth_ = 0;
  bounded_text<32> key_; // the one being read; a longer one is none of ours
};

/// What is taken for UTF-8 in a JSON text.
enum class utf8 : std::uint8_t {
  strict,
  lenient, ///< ill-formed bytes are let through, as a decoder that replaces them does
};

/// Reads the whole text. Returns false when it is not JSON; the listener has then heard its beginning.
template <class Listener>
bool read_places(std::string_view text, Listener& listener, utf8 encoding = utf8::strict) {
  boost::json::parse_options options;
  options.max_depth = max_depth;
  options.allow_invalid_utf8 = encoding == utf8::lenient;
  boost::json::basic_parser<place_handler<Listener>> parser(options, listener);
  boost::json::error_code ec;
  return parser.write_some(false, text.data(), text.size(), ec) == text.size() && !ec;
}

} // namespace switchyard::openai::detail
