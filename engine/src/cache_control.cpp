#include "switchyard/engine/cache_control.hpp"

#include "switchyard/engine/header_list.hpp"

#include <algorithm>
#include <charconv>
#include <chrono>

namespace switchyard {

namespace {

constexpr std::string_view blanks = " \t";

std::string_view trimmed(std::string_view text) {
  text.remove_prefix(std::min(text.find_first_not_of(blanks), text.size()));
  return text.substr(0, text.find_last_not_of(blanks) + 1);
}

// Takes the next element off the front of a list; a comma within quotes does not end it.
std::string_view next_element(std::string_view& list) {
  bool quoted = false;
  std::size_t end = 0;
  for (; end < list.size() && (quoted || list[end] != ','); ++end) {
    if (list[end] == '"')
      quoted = !quoted;
    else if (quoted && list[end] == '\\')
      ++end;
  }
  end = std::min(end, list.size());
  const auto element = list.substr(0, end);
  list.remove_prefix(std::min(end + 1, list.size()));
  return trimmed(element);
}

// delta-seconds, RFC 9111, section 1.2.2: too large a number is the largest; a recipient should take quotes too.
std::optional<duration> seconds_of(std::string_view text) {
  if (text.size() >= 2 && text.front() == '"' && text.back() == '"')
    text = text.substr(1, text.size() - 2);
  constexpr std::uint32_t largest = 1u << 31;
  std::uint32_t seconds = 0;
  const auto [end, problem] = std::from_chars(text.data(), text.data() + text.size(), seconds);
  if (text.empty() || end != text.data() + text.size() || problem == std::errc::invalid_argument)
    return std::nullopt;
  return std::chrono::seconds{problem == std::errc::result_out_of_range ? largest : std::min(seconds, largest)};
}

} // namespace

cache_directives parse_cache_control(std::string_view value) {
  cache_directives d;
  while (!value.empty()) {
    const auto element = next_element(value);
    const auto equals = std::min(element.find('='), element.size());
    const auto name = trimmed(element.substr(0, equals));
    if (same_field_name(name, "no-store"))
      d.read = d.store = false;
    else if (same_field_name(name, "no-cache"))
      d.read = false;
    else if (same_field_name(name, "max-age") && equals < element.size())
      if (const auto age = seconds_of(trimmed(element.substr(equals + 1))))
        d.max_age = std::min(*age, d.max_age.value_or(*age));
  }
  return d;
}

} // namespace switchyard
