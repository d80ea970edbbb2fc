#include "time_text.hpp"

#include <array>
#include <charconv>
#include <chrono>
#include <cstdio>
#include <ctime>

namespace switchyard::admin {

namespace {

using std::chrono::milliseconds;
using std::chrono::seconds;

bool take(std::string_view& text, std::string_view any_of) {
  if (text.empty() || any_of.find(text.front()) == std::string_view::npos)
    return false;
  text.remove_prefix(1);
  return true;
}

// Takes a number of exactly so many digits, at most `largest`.
bool take_number(std::string_view& text, std::size_t digits, int largest, int& number) {
  const auto front = text.substr(0, digits);
  if (front.size() < digits || front.find_first_not_of("0123456789") != std::string_view::npos)
    return false;
  std::from_chars(front.data(), front.data() + digits, number);
  text.remove_prefix(digits);
  return number <= largest;
}

// ".25" or nothing.
bool take_fraction(std::string_view& text, duration& fraction) {
  fraction = {};
  if (!take(text, "."))
    return true;
  if (text.find_first_of("0123456789") != 0)
    return false;
  std::int64_t unit = 1'000'000'000;
  for (int digit = 0; take_number(text, 1, 9, digit);)
    fraction += duration{digit * (unit /= 10)};
  return true;
}

// "Z", "+02:00" or "-02:00".
bool take_offset(std::string_view& text, duration& offset) {
  offset = {};
  if (take(text, "Zz"))
    return true;
  const bool west = text.starts_with('-');
  int hour = 0, minute = 0;
  if (!take(text, "+-") || !take_number(text, 2, 23, hour) || !take(text, ":") || !take_number(text, 2, 59, minute))
    return false;
  offset = std::chrono::hours{hour} + std::chrono::minutes{minute};
  if (west)
    offset = -offset;
  return true;
}

std::optional<wall_time> parse_rfc3339(std::string_view text) {
  constexpr int last_year = 2250; // what nanoseconds can hold, and some more
  int year = 0, month = 0, day = 0, hour = 0, minute = 0, second = 0;
  duration fraction{}, offset{};
  if (!take_number(text, 4, last_year, year) || !take(text, "-") || !take_number(text, 2, 12, month) ||
      !take(text, "-") || !take_number(text, 2, 31, day) || !take(text, "Tt") || !take_number(text, 2, 23, hour) ||
      !take(text, ":") || !take_number(text, 2, 59, minute) || !take(text, ":") || !take_number(text, 2, 60, second) ||
      !take_fraction(text, fraction) || !take_offset(text, offset) || !text.empty())
    return std::nullopt;
  const std::chrono::year_month_day date{std::chrono::year{year}, std::chrono::month(static_cast<unsigned>(month)),
                                         std::chrono::day(static_cast<unsigned>(day))};
  if (!date.ok() || year < 1970)
    return std::nullopt;
  const duration since_epoch = std::chrono::sys_days{date}.time_since_epoch() + std::chrono::hours{hour} +
                               std::chrono::minutes{minute} + seconds{second} + fraction - offset;
  return wall_time{since_epoch};
}

} // namespace

std::string to_rfc3339(wall_time t) {
  const auto ms = std::chrono::floor<milliseconds>(t);
  const auto whole = std::chrono::floor<seconds>(ms);
  const std::time_t unix_seconds = whole.time_since_epoch().count();
  std::tm parts{};
  gmtime_r(&unix_seconds, &parts);
  std::array<char, 40> text{};
  const auto length = std::strftime(text.data(), text.size(), "%Y-%m-%dT%H:%M:%S", &parts);
  std::array<char, 8> fraction{};
  std::snprintf(fraction.data(), fraction.size(), ".%03dZ", static_cast<int>((ms - whole).count() % 1000));
  return std::string{text.data(), length} + fraction.data();
}

std::optional<wall_time> parse_time(std::string_view text) {
  std::int64_t number = 0;
  const auto* const end = text.data() + text.size();
  if (const auto [stop, failed] = std::from_chars(text.data(), end, number); failed == std::errc{} && stop == end) {
    constexpr std::int64_t farthest = 9'000'000'000'000; // ms: the year 2255, what nanoseconds can hold
    if (number < 0 || number > farthest)
      return std::nullopt;
    return wall_time{milliseconds{number}};
  }
  return parse_rfc3339(text);
}

} // namespace switchyard::admin
