#include "switchyard/engine/backoff.hpp"

#include "support/catch.hpp"

#include <rapidcheck.h>

#include <cstdio>
#include <string>

using namespace switchyard;
using std::chrono::days, std::chrono::floor, std::chrono::hh_mm_ss, std::chrono::seconds, std::chrono::sys_days,
    std::chrono::weekday, std::chrono::year_month_day, std::chrono::January, std::chrono::February,
    std::chrono::November;

namespace {

// The moment of RFC 9110's examples: Sun, 06 Nov 1994 08:49:37 GMT.
constexpr wall_time example = sys_days{November / 6 / 1994} + 8h + 49min + 37s;

std::optional<duration> from_header(std::string_view retry_after, wall_time now = example) {
  return parse_retry_after(retry_after, "", now);
}

std::optional<duration> from_ms(std::string_view ms) {
  return parse_retry_after("", ms, example);
}

} // namespace

TEST_CASE("whole seconds are a wait, zero too [R4]") {
  CHECK(from_header("0") == 0s);
  CHECK(from_header("1") == 1s);
  CHECK(from_header("120") == 120s);
  CHECK(from_header(" \t7 ") == 7s);
  CHECK(from_header("007") == 7s);
}

TEST_CASE("milliseconds are a wait, with a fraction too [R4]") {
  CHECK(from_ms("0") == 0ms);
  CHECK(from_ms("1500") == 1500ms);
  CHECK(from_ms("1500.5") == 1500ms + 500us);
  CHECK(from_ms("0.000001") == 1ns);
  CHECK(from_ms("1.0000009999999999999999") == 1ms);
  CHECK(from_ms(" 20 ") == 20ms);
}

TEST_CASE("milliseconds win, unless they are senseless [R4]") {
  CHECK(parse_retry_after("9", "250", example) == 250ms);
  CHECK(parse_retry_after("9", "0", example) == 0ms);
  CHECK(parse_retry_after("9", "soon", example) == 9s);
  CHECK(parse_retry_after("soon", "250", example) == 250ms);
}

TEST_CASE("garbage and absence are no wait [R4]") {
  for (const char* text : {"", " ", "1e3", "-5", "+5", "5 s", "5s", "0x10", "5.5", "1,000", "NaN", "inf", "null", "--",
                           "99999999999999999999", "18446744073709551616", "5\n", "\xff"}) {
    CAPTURE(text);
    CHECK_FALSE(from_header(text).has_value());
  }
  for (const char* text : {"", ".", "5.", ".5", "1e3", "-5", "+5", "5 ms", "1.5.5", "1.-5", "1.5e3", "0x10",
                           "99999999999999999999", "99999999999999999999.5", "inf", "nan"}) {
    CAPTURE(text);
    CHECK_FALSE(from_ms(text).has_value());
  }
}

TEST_CASE("a wait is at most 366 days [R4]") {
  const duration longest = days{366};
  CHECK(from_header("31622400") == longest);
  CHECK(from_header("31622401") == longest);
  CHECK(from_header("18446744073709551615") == longest);
  CHECK(from_ms("18446744073709551615") == longest);
  CHECK(from_ms("31622400000.5") == longest);
  CHECK(from_header("Fri, 31 Dec 9999 23:59:59 GMT") == longest);
}

TEST_CASE("all three forms of an HTTP date are read [R4]") {
  const auto now = example - 90s;
  CHECK(from_header("Sun, 06 Nov 1994 08:49:37 GMT", now) == 90s);
  CHECK(from_header("Sunday, 06-Nov-94 08:49:37 GMT", now) == 90s);
  CHECK(from_header("Sun Nov  6 08:49:37 1994", now) == 90s);
  CHECK(from_header("Wed Nov 16 08:49:37 1994", now) == 90s + days{10});
}

TEST_CASE("the wait to a date counts from now to the nanosecond [R4]") {
  CHECK(from_header("Sun, 06 Nov 1994 08:49:37 GMT", example - 1ns) == 1ns);
  CHECK(from_header("Sun, 06 Nov 1994 08:49:37 GMT", example - 1500ms) == 1500ms);
  CHECK(from_header("Sun, 06 Nov 1994 08:49:37 GMT", example) == 0s);
}

TEST_CASE("a past date is no wait [R4]") {
  CHECK_FALSE(from_header("Sun, 06 Nov 1994 08:49:37 GMT", example + 1ns).has_value());
  CHECK_FALSE(from_header("Sun, 06 Nov 1994 08:49:36 GMT").has_value());
  CHECK_FALSE(from_header("Thu, 01 Jan 0001 00:00:00 GMT").has_value());
}

TEST_CASE("a year of two digits is at most 50 years ahead [R4]") {
  const wall_time now = sys_days{January / 1 / 2026};
  CHECK(from_header("Thursday, 01-Jan-26 00:00:10 GMT", now) == 10s);
  CHECK(from_header("Tuesday, 01-Jan-75 00:00:10 GMT", now) == duration{days{366}}); // 2075
  CHECK_FALSE(from_header("Saturday, 01-Jan-77 00:00:10 GMT", now).has_value());     // 1977
  const wall_time turn_of_the_century = sys_days{January / 1 / 2000};
  CHECK(from_header("Saturday, 01-Jan-00 00:00:10 GMT", turn_of_the_century - 5s) == 15s);
}

TEST_CASE("a leap second and a leap day are dates [R4]") {
  const wall_time new_year = sys_days{January / 1 / 2017};
  CHECK(from_header("Sat, 31 Dec 2016 23:59:60 GMT", new_year - 5s) == 5s);
  CHECK(from_header("Thu, 29 Feb 2024 00:00:00 GMT", sys_days{February / 28 / 2024}) == duration{days{1}});
}

TEST_CASE("what only looks like a date is no wait [R4]") {
  const auto now = example - days{100};
  for (const char* text : {
           "Sun, 06 Nov 1994 08:49:37",       // no zone
           "Sun, 06 Nov 1994 08:49:37 CET",   // another zone
           "Sun, 06 Nov 1994 08:49:37 GMT x", // more
           "Sun, 6 Nov 1994 08:49:37 GMT",    // a digit too few
           "Sun, 06 nov 1994 08:49:37 GMT",   // case counts
           "06 Nov 1994 08:49:37 GMT",        // no day
           "Sun, 31 Nov 1994 08:49:37 GMT",   // no such day
           "Sun, 00 Nov 1994 08:49:37 GMT",
           "Sun, 06 Nov 1994 24:00:00 GMT",
           "Sun, 06 Nov 1994 08:60:00 GMT",
           "Sun, 06 Nov 1994 08:49:61 GMT",
           "Sun, 06 Nov -994 08:49:37 GMT",
           "Thu, 29 Feb 2023 00:00:00 GMT",
           "Sun, 06-Nov-94 08:49:37 GMT", // the short name in the long form
           "Sun Nov 6 08:49:37 1994",
           "Wed Nov  6 08:49:37 199", // a digit cut off
           "1994-11-06T08:49:37Z",
           "Sun",
       }) {
    CAPTURE(text);
    CHECK_FALSE(from_header(text, now).has_value());
  }
}

TEST_CASE("no text at all makes the parser fail or exceed its bound [R4]") {
  REQUIRE(rc::check("any bytes", [](const std::string& a, const std::string& b) {
    const auto wait = parse_retry_after(a, b, example);
    RC_ASSERT(!wait || (*wait >= duration::zero() && *wait <= days{366}));
  }));
}

TEST_CASE("a written date is read back, in each form [R4]") {
  static constexpr const char* short_names[] = {"Sun", "Mon", "Tue", "Wed", "Thu", "Fri", "Sat"};
  static constexpr const char* long_names[] = {"Sunday",   "Monday", "Tuesday", "Wednesday",
                                               "Thursday", "Friday", "Saturday"};
  static constexpr const char* months[] = {"Jan", "Feb", "Mar", "Apr", "May", "Jun",
                                           "Jul", "Aug", "Sep", "Oct", "Nov", "Dec"};
  REQUIRE(rc::check("round trip", [] {
    const auto ahead = seconds{*rc::gen::inRange<std::int64_t>(0, 31'000'000)};
    const wall_time now = example + seconds{*rc::gen::inRange<std::int64_t>(0, 2'000'000'000)};
    const auto at = now + ahead;
    const auto day = floor<days>(at);
    const year_month_day date{day};
    const hh_mm_ss clock{floor<seconds>(at - day)};
    const auto weekday_number = weekday{day}.c_encoding();
    const auto month = months[static_cast<unsigned>(date.month()) - 1];
    const auto d = static_cast<unsigned>(date.day());
    const auto y = static_cast<int>(date.year());

    char time[16], text[64];
    std::snprintf(time, sizeof time, "%02d:%02d:%02d", static_cast<int>(clock.hours().count()),
                  static_cast<int>(clock.minutes().count()), static_cast<int>(clock.seconds().count()));
    std::snprintf(text, sizeof text, "%s, %02u %s %04d %s GMT", short_names[weekday_number], d, month, y, time);
    RC_ASSERT(from_header(text, now) == ahead);
    std::snprintf(text, sizeof text, "%s, %02u-%s-%02d %s GMT", long_names[weekday_number], d, month, y % 100, time);
    RC_ASSERT(from_header(text, now) == ahead);
    std::snprintf(text, sizeof text, "%s %s %2u %s %04d", short_names[weekday_number], month, d, time, y);
    RC_ASSERT(from_header(text, now) == ahead);
  }));
}
