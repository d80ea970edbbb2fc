#include "json_check.hpp"

#include "switchyard/openai/body.hpp"

#include <boost/json/basic_parser_impl.hpp>

#include <cstdint>

namespace switchyard::openai::detail {
namespace {

namespace json = boost::json;

// Hears the whole document and keeps nothing.
struct null_handler {
  static constexpr std::size_t max_array_size = static_cast<std::size_t>(-1);
  static constexpr std::size_t max_object_size = static_cast<std::size_t>(-1);
  static constexpr std::size_t max_string_size = static_cast<std::size_t>(-1);
  static constexpr std::size_t max_key_size = static_cast<std::size_t>(-1);

  bool on_document_begin(json::error_code&) { return true; }
  bool on_document_end(json::error_code&) { return true; }
  bool on_array_begin(json::error_code&) { return true; }
  bool on_array_end(std::size_t, json::error_code&) { return true; }
  bool on_object_begin(json::error_code&) { return true; }
  bool on_object_end(std::size_t, json::error_code&) { return true; }
  bool on_string_part(json::string_view, std::size_t, json::error_code&) { return true; }
  bool on_string(json::string_view, std::size_t, json::error_code&) { return true; }
  bool on_key_part(json::string_view, std::size_t, json::error_code&) { return true; }
  bool on_key(json::string_view, std::size_t, json::error_code&) { return true; }
  bool on_number_part(json::string_view, json::error_code&) { return true; }
  bool on_int64(std::int64_t, json::string_view, json::error_code&) { return true; }
  bool on_uint64(std::uint64_t, json::string_view, json::error_code&) { return true; }
  bool on_double(double, json::string_view, json::error_code&) { return true; }
  bool on_bool(bool, json::error_code&) { return true; }
  bool on_null(json::error_code&) { return true; }
  bool on_comment_part(json::string_view, json::error_code&) { return true; }
  bool on_comment(json::string_view, json::error_code&) { return true; }
};

constexpr bool within(unsigned char c, unsigned low, unsigned high) noexcept {
  return low <= c && c <= high;
}

// The length of the well-formed sequence at the beginning of a text, or 0. RFC 3629, section 4.
std::size_t sequence_length(std::string_view s) noexcept {
  const auto at = [&](std::size_t i) { return static_cast<unsigned char>(i < s.size() ? s[i] : 0); };
  const auto tail = [&](std::size_t i) { return within(at(i), 0x80, 0xBF); };
  const unsigned char lead = at(0);
  if (lead < 0x80)
    return 1;
  if (within(lead, 0xC2, 0xDF))
    return tail(1) ? 2 : 0;
  // The second byte of these is bounded further: no overlong form, no surrogate, nothing above U+10FFFF.
  if (within(lead, 0xE0, 0xEF))
    return within(at(1), lead == 0xE0 ? 0xA0 : 0x80, lead == 0xED ? 0x9F : 0xBF) && tail(2) ? 3 : 0;
  if (within(lead, 0xF0, 0xF4))
    return within(at(1), lead == 0xF0 ? 0x90 : 0x80, lead == 0xF4 ? 0x8F : 0xBF) && tail(2) && tail(3) ? 4 : 0;
  return 0;
}

} // namespace

std::optional<json_fault> check_json(std::string_view text) {
  json::parse_options options;
  options.max_depth = max_depth;
  json::basic_parser<null_handler> parser(options);
  json::error_code ec;
  const std::size_t read = parser.write_some(false, text.data(), text.size(), ec);
  if (ec)
    return json_fault{ec, read};
  if (read < text.size()) // what follows is not white space: the parser has eaten that
    return json_fault{json::make_error_code(json::error::extra_data), read};
  return std::nullopt;
}

std::optional<std::size_t> invalid_utf8(std::string_view text) noexcept {
  for (std::size_t i = 0; i < text.size();) {
    const std::size_t length = sequence_length(text.substr(i));
    if (length == 0)
      return i;
    i += length;
  }
  return std::nullopt;
}

} // namespace switchyard::openai::detail
