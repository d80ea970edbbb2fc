#include "switchyard/engine/duration_text.hpp"

#include <array>
#include <charconv>
#include <limits>
#include <system_error>

namespace switchyard {
namespace {

struct time_unit {
  std::string_view name;
  std::int64_t nanoseconds;
};

constexpr std::array<time_unit, 5> time_units{{
    {"d", 86'400'000'000'000},
    {"h", 3'600'000'000'000},
    {"m", 60'000'000'000},
    {"s", 1'000'000'000},
    {"ms", 1'000'000},
}};

struct byte_unit {
  std::string_view name;
  std::uint64_t bytes;
};

constexpr std::array<byte_unit, 8> byte_units{{
    {"GiB", 1ull << 30},
    {"MiB", 1ull << 20},
    {"KiB", 1ull << 10},
    {"B", 1},
    {"GB", 1'000'000'000},
    {"MB", 1'000'000},
    {"KB", 1'000},
    {"", 1},
}};

constexpr bool is_digit(char c) noexcept {
  return c >= '0' && c <= '9';
}

/// Takes the leading digits off `text`.
std::string_view take_digits(std::string_view& text) noexcept {
  std::size_t n = 0;
  while (n < text.size() && is_digit(text[n]))
    ++n;
  const auto digits = text.substr(0, n);
  text.remove_prefix(n);
  return digits;
}

std::optional<std::uint64_t> to_number(std::string_view digits) noexcept {
  std::uint64_t number = 0;
  const auto [end, error] = std::from_chars(digits.data(), digits.data() + digits.size(), number);
  if (error != std::errc{} || end != digits.data() + digits.size())
    return std::nullopt;
  return number;
}

} // namespace

std::optional<duration> parse_duration(std::string_view text) noexcept {
  const auto number = to_number(take_digits(text));
  if (!number)
    return std::nullopt;
  std::string_view fraction;
  if (text.starts_with('.')) {
    text.remove_prefix(1);
    fraction = take_digits(text);
    if (fraction.empty())
      return std::nullopt;
  }
  for (const auto& unit : time_units) {
    if (text != unit.name)
      continue;
    const std::int64_t longest = longest_duration.count();
    if (*number > static_cast<std::uint64_t>(longest / unit.nanoseconds))
      return std::nullopt;
    std::int64_t total = static_cast<std::int64_t>(*number) * unit.nanoseconds;
    std::int64_t scale = unit.nanoseconds;
    for (const char digit : fraction) {
      scale /= 10;
      total += (digit - '0') * scale;
    }
    if (total > longest)
      return std::nullopt;
    return duration{total};
  }
  return std::nullopt;
}

std::string format_duration(duration d) {
  const std::int64_t total = d.count();
  if (total == 0)
    return "0s";
  for (const auto& unit : time_units) {
    if (total % unit.nanoseconds == 0)
      return std::to_string(total / unit.nanoseconds).append(unit.name);
  }
  constexpr std::int64_t millisecond = 1'000'000;
  // Unsigned, because the smallest duration has no positive counterpart.
  const auto size = total < 0 ? 0 - static_cast<std::uint64_t>(total) : static_cast<std::uint64_t>(total);
  std::string fraction = std::to_string(millisecond + static_cast<std::int64_t>(size % millisecond)).substr(1);
  fraction.erase(fraction.find_last_not_of('0') + 1);
  return (total < 0 ? "-" : "") + std::to_string(size / millisecond) + "." + fraction + "ms";
}

std::optional<std::uint64_t> parse_bytes(std::string_view text) noexcept {
  const auto number = to_number(take_digits(text));
  if (!number)
    return std::nullopt;
  for (const auto& unit : byte_units) {
    if (text != unit.name)
      continue;
    if (*number > std::numeric_limits<std::uint64_t>::max() / unit.bytes)
      return std::nullopt;
    return *number * unit.bytes;
  }
  return std::nullopt;
}

std::string format_bytes(std::uint64_t bytes) {
  if (bytes == 0)
    return "0B";
  for (const auto& unit : byte_units) {
    if (bytes % unit.bytes == 0) // the binary units come first, and "B" ends the search
      return std::to_string(bytes / unit.bytes).append(unit.name);
  }
  return {};
}

} // namespace switchyard
