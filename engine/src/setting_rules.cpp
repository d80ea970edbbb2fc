#include "switchyard/engine/setting_rules.hpp"

#include <algorithm>
#include <charconv>
#include <cmath>

namespace switchyard {
namespace {

constexpr bool is_control(char c) noexcept {
  return static_cast<unsigned char>(c) < 0x20 || c == 0x7F;
}

constexpr bool is_digit(char c) noexcept {
  return c >= '0' && c <= '9';
}

constexpr bool is_letter(char c) noexcept {
  return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z');
}

bool has_control(std::string_view text) noexcept {
  return std::ranges::any_of(text, is_control);
}

bool has_space(std::string_view text) noexcept {
  return text.find(' ') != text.npos;
}

bool is_variable(std::string_view text) noexcept {
  return !text.empty() && !is_digit(text.front()) &&
         std::ranges::all_of(text, [](char c) { return is_letter(c) || is_digit(c) || c == '_'; });
}

/// http:// or https:// and something after it.
bool is_http_url(std::string_view text) noexcept {
  if (text.starts_with("http://"))
    text.remove_prefix(7);
  else if (text.starts_with("https://"))
    text.remove_prefix(8);
  else
    return false;
  return !text.empty() && text.front() != '/' && !has_space(text) && !has_control(text);
}

bool is_origin(std::string_view text) noexcept {
  if (text == "*")
    return true;
  return is_http_url(text) && text.find_first_of("/?#@", text.find("://") + 3) == text.npos;
}

std::string quoted_names(failure_set classes) {
  std::string names;
  for (int i = 0; i < failure_class_count; ++i) {
    if (const auto f = static_cast<failure_class>(i); classes.contains(f))
      names.append(names.empty() ? "\"" : ", \"").append(to_string(f)).append("\"");
  }
  return names;
}

std::string range(std::string_view what, const std::string& min, const std::string& max, bool above_min) {
  return std::string(what) + (above_min ? " above " : " from ") + min + (above_min ? ", at most " : " to ") + max;
}

} // namespace

bool holds(const whole_rule& rule, std::uint64_t value) noexcept {
  return value >= rule.min && value <= rule.max;
}

bool holds(const bytes_rule& rule, std::uint64_t value) noexcept {
  return value >= rule.min && value <= rule.max;
}

bool holds(const real_rule& rule, double value) noexcept {
  return std::isfinite(value) && (rule.above_min ? value > rule.min : value >= rule.min) && value <= rule.max;
}

bool holds(const span_rule& rule, duration value) noexcept {
  return (rule.above_min ? value > rule.min : value >= rule.min) && value <= rule.max;
}

bool holds(const text_rule& rule, std::string_view value) noexcept {
  switch (rule.form) {
  case text_form::any:
    return !has_control(value);
  case text_form::nonempty:
  case text_form::file:
    return !value.empty() && !has_control(value);
  case text_form::id:
    return is_id(value);
  case text_form::variable:
    return is_variable(value);
  case text_form::endpoint:
    return parse_host_port(value).has_value();
  case text_form::base_url:
    return is_http_url(value);
  case text_form::path:
    return value.starts_with('/') && !has_control(value) && !has_space(value) && value.find('#') == value.npos;
  case text_form::origin:
    return is_origin(value);
  }
  return false;
}

bool holds(const classes_rule& rule, failure_set value) noexcept {
  for (int i = 0; i < failure_class_count; ++i) {
    const auto f = static_cast<failure_class>(i);
    if (value.contains(f) && !rule.allowed.contains(f))
      return false;
  }
  return true;
}

std::string accepted(const flag_rule&) {
  return "true or false";
}

std::string accepted(const whole_rule& rule) {
  return range("a whole number", std::to_string(rule.min), std::to_string(rule.max), false);
}

std::string accepted(const bytes_rule& rule) {
  return range("a whole number of bytes, or a text such as \"16MiB\",", format_bytes(rule.min), format_bytes(rule.max),
               false);
}

std::string accepted(const real_rule& rule) {
  if (rule.max < std::numeric_limits<double>::max())
    return range("a number", format_real(rule.min), format_real(rule.max), rule.above_min);
  return "a number" + std::string(rule.above_min ? " above " : " of at least ") + format_real(rule.min);
}

std::string accepted(const span_rule& rule) {
  return range("a duration with a unit (ms, s, m, h, d) such as \"30s\",", format_duration(rule.min),
               format_duration(rule.max), rule.above_min);
}

std::string accepted(const text_rule& rule) {
  switch (rule.form) {
  case text_form::any:
    return "a text without control characters";
  case text_form::nonempty:
    return "a text that is not empty, without control characters";
  case text_form::id:
    return "a name of 1 to 128 bytes, without control characters or white space around it";
  case text_form::variable:
    return "the name of an environment variable (letters, digits and _, not first a digit)";
  case text_form::endpoint:
    return "HOST:PORT such as \"127.0.0.1:8080\", an IPv6 address in brackets, the port from 0 to 65535";
  case text_form::base_url:
    return "a URL that starts with http:// or https://, without user, query or fragment";
  case text_form::path:
    return "a URL path that starts with /";
  case text_form::file:
    return "a path that is not empty";
  case text_form::origin:
    return "an origin such as \"https://example.org\", or \"*\"";
  }
  return {};
}

std::string accepted(const classes_rule& rule) {
  return "an array of " + quoted_names(rule.allowed);
}

std::string accepted_entry(const classes_rule& rule) {
  return "one of " + quoted_names(rule.allowed);
}

std::string accepted(const json_object_rule&) {
  return "an object";
}

std::string accepted(const window_size_rule& rule) {
  return "for type \"count\" " + accepted(rule.count) + ", for type \"time\" " + accepted(rule.time);
}

std::string accepted(const headers_rule&) {
  return "an object of headers, each a text without control characters or {\"env\": \"NAME\"}";
}

std::string accepted_names(const std::string_view* names, std::size_t count) {
  std::string text;
  for (std::size_t i = 0; i < count; ++i)
    text.append(i == 0 ? "\"" : i + 1 == count ? " or \"" : ", \"").append(names[i]).append("\"");
  return text;
}

std::string format_real(double value) {
  std::array<char, 32> buffer{};
  const auto [end, error] = std::to_chars(buffer.data(), buffer.data() + buffer.size(), value);
  return error == std::errc{} ? std::string(buffer.data(), end) : std::string{};
}

bool is_id(std::string_view text) noexcept {
  constexpr std::size_t longest = 128;
  return !text.empty() && text.size() <= longest && !has_control(text) && text.front() != ' ' && text.back() != ' ';
}

bool is_header_name(std::string_view text) noexcept {
  constexpr std::string_view others = "!#$%&'*+-.^_`|~";
  return !text.empty() && std::ranges::all_of(text, [&](char c) {
    return is_letter(c) || is_digit(c) || others.find(c) != others.npos;
  });
}

bool is_header_value(std::string_view text) noexcept {
  return std::ranges::none_of(text, [](char c) { return is_control(c) && c != '\t'; });
}

bool is_bearer_key(std::string_view text) noexcept {
  return !text.empty() && std::ranges::all_of(text, [](char c) { return c > 0x20 && c < 0x7F; });
}

std::optional<host_port> parse_host_port(std::string_view text) {
  const auto colon = text.rfind(':');
  if (colon == text.npos)
    return std::nullopt;
  auto host = text.substr(0, colon);
  const auto port = text.substr(colon + 1);
  if (host.starts_with('[') && host.ends_with(']') && host.size() > 2) {
    host = host.substr(1, host.size() - 2);
    if (host.find_first_not_of("0123456789abcdefABCDEF:.%") != host.npos || host.find(':') == host.npos)
      return std::nullopt;
  } else if (host.empty() || host.find_first_of("[]:/@?# \t") != host.npos || has_control(host)) {
    return std::nullopt;
  }
  std::uint16_t number = 0;
  const auto [end, error] = std::from_chars(port.data(), port.data() + port.size(), number);
  if (error != std::errc{} || end != port.data() + port.size())
    return std::nullopt;
  return host_port{std::string(host), number};
}

bool is_loopback(std::string_view host) noexcept {
  if (host == "localhost" || host == "::1")
    return true;
  // Four numbers, of which the first is 127; "127.example.org" is a name like any other.
  return host.starts_with("127.") && std::ranges::count(host, '.') == 3 &&
         host.find_first_not_of("0123456789.") == host.npos;
}

} // namespace switchyard
