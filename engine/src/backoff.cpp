#include "switchyard/engine/backoff.hpp"

#include <algorithm>
#include <array>
#include <charconv>
#include <chrono>
#include <cmath>
#include <cstddef>
#include <span>

namespace switchyard {

namespace {

constexpr duration longest_wait = std::chrono::days{366};

constexpr std::array<std::string_view, 12> month_names{"Jan", "Feb", "Mar", "Apr", "May", "Jun",
                                                       "Jul", "Aug", "Sep", "Oct", "Nov", "Dec"};
constexpr std::array<std::string_view, 7> short_day_names{"Mon", "Tue", "Wed", "Thu", "Fri", "Sat", "Sun"};
constexpr std::array<std::string_view, 7> long_day_names{"Monday", "Tuesday",  "Wednesday", "Thursday",
                                                         "Friday", "Saturday", "Sunday"};

// Reads a text from left to right. The first mismatch makes it fail for good, so that a grammar is one sequence of
// reads with one check at the end.
class reader {
public:
  explicit reader(std::string_view text) noexcept : rest_(text) {}

  bool complete() const noexcept { return !failed_ && rest_.empty(); }

  reader& literal(std::string_view expected) noexcept {
    if (rest_.starts_with(expected))
      rest_.remove_prefix(expected.size());
    else
      failed_ = true;
    return *this;
  }

  // The position of the name that comes next.
  reader& name(std::span<const std::string_view> names, unsigned& position) noexcept {
    const auto found = std::ranges::find_if(names, [this](std::string_view n) { return rest_.starts_with(n); });
    if (found == names.end()) {
      failed_ = true;
      return *this;
    }
    position = static_cast<unsigned>(found - names.begin());
    return literal(*found);
  }

  // Exactly `count` digits.
  reader& digits(std::size_t count, unsigned& value) noexcept {
    const auto field = rest_.substr(0, count);
    const auto* end = field.data() + field.size();
    const auto [stop, error] = std::from_chars(field.data(), end, value);
    if (field.size() != count || error != std::errc{} || stop != end)
      failed_ = true;
    rest_.remove_prefix(field.size());
    return *this;
  }

  // asctime's day of the month: two digits, or a space and one.
  reader& padded_day(unsigned& value) noexcept {
    return rest_.starts_with(' ') ? literal(" ").digits(1, value) : digits(2, value);
  }

private:
  std::string_view rest_;
  bool failed_ = false;
};

struct civil_time {
  unsigned weekday = 0, year = 0, month = 0, day = 0, hour = 0, minute = 0, second = 0;

  // The moment meant, or nothing for the likes of 30 February. A leap second is the next minute's first.
  std::optional<std::chrono::sys_seconds> moment() const noexcept {
    using namespace std::chrono;
    const year_month_day date{std::chrono::year{static_cast<int>(year)}, std::chrono::month{month + 1},
                              std::chrono::day{day}};
    if (!date.ok() || hour > 23 || minute > 59 || second > 60)
      return std::nullopt;
    return sys_days{date} + hours{hour} + minutes{minute} + seconds{second};
  }
};

reader& read_clock(reader& in, civil_time& t) noexcept {
  return in.digits(2, t.hour).literal(":").digits(2, t.minute).literal(":").digits(2, t.second);
}

// "Sun, 06 Nov 1994 08:49:37 GMT"
bool read_imf_fixdate(reader in, civil_time& t) noexcept {
  in.name(short_day_names, t.weekday).literal(", ").digits(2, t.day).literal(" ").name(month_names, t.month);
  in.literal(" ").digits(4, t.year).literal(" ");
  return read_clock(in, t).literal(" GMT").complete();
}

// "Sunday, 06-Nov-94 08:49:37 GMT"; the year has two digits.
bool read_rfc850_date(reader in, civil_time& t) noexcept {
  in.name(long_day_names, t.weekday).literal(", ").digits(2, t.day).literal("-").name(month_names, t.month);
  in.literal("-").digits(2, t.year).literal(" ");
  return read_clock(in, t).literal(" GMT").complete();
}

// "Sun Nov  6 08:49:37 1994"
bool read_asctime_date(reader in, civil_time& t) noexcept {
  in.name(short_day_names, t.weekday).literal(" ").name(month_names, t.month).literal(" ").padded_day(t.day);
  in.literal(" ");
  return read_clock(in, t).literal(" ").digits(4, t.year).complete();
}

// The year meant by two digits: the latest one that is not more than 50 years ahead (RFC 9110 5.6.7).
unsigned full_year(unsigned two_digits, wall_time now) noexcept {
  using namespace std::chrono;
  const auto this_year = static_cast<int>(year_month_day{floor<days>(now)}.year());
  const auto latest = this_year + 50;
  const auto year = latest - latest % 100 + static_cast<int>(two_digits);
  return static_cast<unsigned>(year > latest ? year - 100 : year);
}

// An HTTP date in any of the three forms that a recipient must accept (RFC 9110 5.6.7).
std::optional<std::chrono::sys_seconds> parse_http_date(std::string_view text, wall_time now) noexcept {
  const reader in(text);
  civil_time t;
  if (read_imf_fixdate(in, t) || read_asctime_date(in, t))
    return t.moment();
  if (!read_rfc850_date(in, t))
    return std::nullopt;
  t.year = full_year(t.year, now);
  return t.moment();
}

std::string_view trim(std::string_view text) noexcept {
  constexpr std::string_view blank = " \t";
  const auto first = text.find_first_not_of(blank);
  if (first == text.npos)
    return {};
  return text.substr(first, text.find_last_not_of(blank) - first + 1);
}

// A number of nothing but digits, or nothing; also when it is too large for the type.
std::optional<std::uint64_t> parse_whole(std::string_view text) noexcept {
  std::uint64_t value = 0;
  const auto* end = text.data() + text.size();
  const auto [stop, error] = std::from_chars(text.data(), end, value);
  if (error != std::errc{} || stop != end)
    return std::nullopt;
  return value;
}

template <class Unit>
duration bounded(std::uint64_t count) noexcept {
  const auto most = static_cast<std::uint64_t>(std::chrono::duration_cast<Unit>(longest_wait).count());
  return Unit{std::min(count, most)};
}

// "1500" or "1500.5", in milliseconds; digits below a nanosecond are dropped.
std::optional<duration> parse_milliseconds(std::string_view text) noexcept {
  const auto dot = text.find('.');
  const auto whole = parse_whole(text.substr(0, dot));
  if (!whole || dot == text.npos)
    return whole ? std::optional{bounded<std::chrono::milliseconds>(*whole)} : std::nullopt;

  const auto fraction = text.substr(dot + 1);
  if (fraction.empty() || fraction.find_first_not_of("0123456789") != fraction.npos)
    return std::nullopt;
  std::int64_t nanoseconds = 0;
  for (std::size_t i = 0; i < 6; ++i)
    nanoseconds = nanoseconds * 10 + (i < fraction.size() ? fraction[i] - '0' : 0);
  return std::min(longest_wait, bounded<std::chrono::milliseconds>(*whole) + duration{nanoseconds});
}

std::optional<duration> parse_seconds_or_date(std::string_view text, wall_time now) noexcept {
  if (const auto seconds = parse_whole(text))
    return bounded<std::chrono::seconds>(*seconds);
  const auto moment = parse_http_date(text, now);
  if (!moment)
    return std::nullopt;
  // Compared in seconds first: the years 1 and 9999 do not fit into nanoseconds.
  const auto second = std::chrono::floor<std::chrono::seconds>(now);
  const auto ahead = *moment - second;
  if (ahead < std::chrono::seconds::zero())
    return std::nullopt;
  if (ahead >= std::chrono::duration_cast<std::chrono::seconds>(longest_wait))
    return longest_wait;
  const duration wait = ahead - (now - second);
  return wait < duration::zero() ? std::nullopt : std::optional{wait};
}

} // namespace

duration backoff_delay(const retry_settings& s, std::uint32_t n, double uniform) noexcept {
  const auto cap = static_cast<double>(s.max_delay.count());
  const auto base = static_cast<double>(s.base_delay.count());
  if (!(base > 0) || !(cap > 0))
    return duration::zero();
  // The power may be infinite for a large n; the minimum is not.
  const double delay = std::min(base * std::pow(s.multiplier, n), cap);
  const double spread = delay * (1 + s.jitter * (2 * uniform - 1));
  if (!(spread < cap)) // also whatever rounding made of the cap itself
    return s.max_delay;
  return duration{static_cast<duration::rep>(std::max(spread, 0.0))};
}

std::optional<duration> parse_retry_after(std::string_view retry_after, std::string_view retry_after_ms,
                                          wall_time now) noexcept {
  if (const auto wait = parse_milliseconds(trim(retry_after_ms)))
    return wait;
  return parse_seconds_or_date(trim(retry_after), now);
}

} // namespace switchyard
