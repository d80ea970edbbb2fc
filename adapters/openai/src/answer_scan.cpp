#include "answer_scan.hpp"

#include "switchyard/openai/body.hpp"

#include <boost/json/basic_parser_impl.hpp>

#include <cstdint>
#include <optional>

namespace switchyard::openai::detail {
namespace {

namespace json = boost::json;

// The keys that matter anywhere in an answer. `element` stands for a place in an array.
enum class key : std::uint8_t {
  none,
  element,
  other,
  audio,
  choices,
  code,
  completion_tokens,
  content,
  data,
  detail,
  error,
  finish_reason,
  function_call,
  input_tokens,
  message,
  output,
  output_tokens,
  prompt_tokens,
  reasoning_content,
  refusal,
  status,
  text,
  tool_calls,
  type,
  usage,
};

struct named_key {
  std::string_view name;
  key value;
};

constexpr named_key keys[] = {
    {"audio", key::audio},
    {"choices", key::choices},
    {"code", key::code},
    {"completion_tokens", key::completion_tokens},
    {"content", key::content},
    {"data", key::data},
    {"detail", key::detail},
    {"error", key::error},
    {"finish_reason", key::finish_reason},
    {"function_call", key::function_call},
    {"input_tokens", key::input_tokens},
    {"message", key::message},
    {"output", key::output},
    {"output_tokens", key::output_tokens},
    {"prompt_tokens", key::prompt_tokens},
    {"reasoning_content", key::reasoning_content},
    {"refusal", key::refusal},
    {"status", key::status},
    {"text", key::text},
    {"tool_calls", key::tool_calls},
    {"type", key::type},
    {"usage", key::usage},
};

key key_of(std::string_view name) noexcept {
  for (const auto& k : keys)
    if (k.name == name)
      return k.value;
  return key::other;
}

// The place of a value, one byte per level from the top: so a place is one number to compare with.
using place = std::uint32_t;
constexpr std::size_t levels = sizeof(place);

constexpr place at(key a, key b = key::none, key c = key::none, key d = key::none) noexcept {
  place p = 0;
  for (const key k : {a, b, c, d})
    if (k != key::none)
      p = p << 8 | static_cast<place>(k);
  return p;
}

constexpr place choice(key a, key b = key::none) noexcept {
  return at(key::choices, key::element, a, b);
}

// Follows the parser with the place of the current value and notes what is found where.
class handler {
public:
  static constexpr std::size_t max_array_size = static_cast<std::size_t>(-1);
  static constexpr std::size_t max_object_size = static_cast<std::size_t>(-1);
  static constexpr std::size_t max_string_size = static_cast<std::size_t>(-1);
  static constexpr std::size_t max_key_size = static_cast<std::size_t>(-1);

  explicit handler(answer_findings& out) noexcept : out_(out) {}

  bool on_document_begin(json::error_code&) { return true; }
  bool on_document_end(json::error_code&) { return true; }
  bool on_comment_part(json::string_view, json::error_code&) { return true; }
  bool on_comment(json::string_view, json::error_code&) { return true; }

  bool on_object_begin(json::error_code&) {
    if (here() == at(key::error))
      prefer_error_object();
    enter(key::other); // until its first key
    return true;
  }
  bool on_object_end(std::size_t members, json::error_code&) {
    leave();
    if (members != 0)
      found_something();
    found_value();
    return true;
  }
  bool on_array_begin(json::error_code&) {
    enter(key::element);
    return true;
  }
  bool on_array_end(std::size_t elements, json::error_code&) {
    leave();
    if (elements != 0)
      found_something();
    found_value();
    return true;
  }

  bool on_key_part(json::string_view s, std::size_t, json::error_code&) {
    word_.append(s);
    return true;
  }
  bool on_key(json::string_view s, std::size_t size, json::error_code&) {
    if (depth_ <= levels) {
      word_.append(s);
      const key k = size == word_.view().size() ? key_of(word_.view()) : key::other;
      place_ = (place_ & ~place{0xFF}) | static_cast<place>(k);
    }
    word_.clear();
    return true;
  }

  bool on_string_part(json::string_view s, std::size_t, json::error_code&) {
    capture(s);
    return true;
  }
  bool on_string(json::string_view s, std::size_t size, json::error_code&) {
    capture(s);
    found_text();
    if (size != 0)
      found_something();
    found_value();
    word_.clear();
    return true;
  }

  bool on_number_part(json::string_view, json::error_code&) { return true; }
  bool on_int64(std::int64_t i, json::string_view, json::error_code&) {
    if (i >= 0)
      found_count(static_cast<std::uint64_t>(i));
    found_value();
    return true;
  }
  bool on_uint64(std::uint64_t u, json::string_view, json::error_code&) {
    found_count(u);
    found_value();
    return true;
  }
  bool on_double(double, json::string_view, json::error_code&) {
    found_value();
    return true;
  }
  bool on_bool(bool, json::error_code&) {
    found_value();
    return true;
  }
  bool on_null(json::error_code&) { return true; }

private:
  // Deeper than a place can say, nothing matters and only the depth is kept.
  void enter(key k) noexcept {
    if (++depth_ <= levels)
      place_ = place_ << 8 | static_cast<place>(k);
  }
  void leave() noexcept {
    if (depth_-- <= levels)
      place_ >>= 8;
  }

  // The place of the current value, or 0 where nothing matters.
  place here() const noexcept { return depth_ <= levels ? place_ : 0; }

  // A non-null value of any kind.
  void found_value() noexcept {
    if (here() == at(key::error))
      out_.error = true;
  }

  // A text, list or object that is not empty.
  void found_something() noexcept {
    switch (here()) {
    case choice(key::message, key::content):
    case choice(key::message, key::tool_calls):
    case choice(key::message, key::function_call):
    case choice(key::message, key::refusal):
    case choice(key::message, key::audio):
    case choice(key::message, key::reasoning_content):
      out_.choice_content = true;
      break;
    case choice(key::text):
      out_.choice_text = true;
      break;
    case at(key::data):
      out_.data = true;
      break;
    case at(key::output):
      out_.output = true;
      break;
    default:
      break;
    }
  }

  // The texts that are read.
  void capture(json::string_view s) noexcept {
    const std::string_view piece(s.data(), s.size());
    switch (here()) {
    case choice(key::finish_reason):
    case at(key::status):
      word_.append(piece);
      break;
    case at(key::error, key::code):
      out_.code.append(piece);
      break;
    case at(key::error, key::type):
      out_.type.append(piece);
      break;
    case at(key::error, key::message):
      out_.message.append(piece);
      break;
    default:
      if (!error_object_)
        capture_outside_error(piece);
    }
  }

  // Some providers put the fields of an error at the top, or give the error as a mere text.
  void capture_outside_error(std::string_view piece) noexcept {
    switch (here()) {
    case at(key::code):
      out_.code.append(piece);
      break;
    case at(key::type):
      out_.type.append(piece);
      break;
    case at(key::error):
    case at(key::message):
    case at(key::detail):
      out_.message.append(piece);
      break;
    default:
      break;
    }
  }

  void prefer_error_object() noexcept {
    error_object_ = true;
    out_.code.clear();
    out_.type.clear();
    out_.message.clear();
  }

  void found_text() noexcept {
    const std::string_view word = word_.view();
    if (here() == choice(key::finish_reason))
      out_.telling_finish |= word == "length" || word == "content_filter" || word == "tool_calls";
    else if (here() == at(key::status))
      out_.incomplete = word == "incomplete";
  }

  void found_count(std::uint64_t n) noexcept {
    constexpr std::uint64_t most_tokens =
        1'000'000'000'000; // what is more is no count of tokens, and would spoil every sum
    if (n > most_tokens)
      return;
    switch (here()) {
    case at(key::usage, key::prompt_tokens):
    case at(key::usage, key::input_tokens):
      out_.tokens.input = n;
      break;
    case at(key::usage, key::completion_tokens):
    case at(key::usage, key::output_tokens):
      out_.tokens.output = n;
      break;
    default:
      break;
    }
  }

  answer_findings& out_;
  place place_ = 0;
  std::size_t depth_ = 0;
  bool error_object_ = false;
  bounded_text<32> word_; // of a key or a word that is being read; a longer one is none of ours
};

} // namespace

bool scan_answer(std::string_view text, answer_findings& out) {
  json::parse_options options;
  options.max_depth = max_depth;
  json::basic_parser<handler> parser(options, out);
  json::error_code ec;
  return parser.write_some(false, text.data(), text.size(), ec) == text.size() && !ec;
}

} // namespace switchyard::openai::detail
