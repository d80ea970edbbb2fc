#include "support/catch.hpp"
#include "switchyard/engine/duration_text.hpp"

#include <random>
#include <string>

using namespace switchyard;
using namespace std::chrono_literals;

TEST_CASE("a duration is a number with a unit") {
  CHECK(parse_duration("250ms") == 250ms);
  CHECK(parse_duration("30s") == 30s);
  CHECK(parse_duration("15m") == 15min);
  CHECK(parse_duration("24h") == 24h);
  CHECK(parse_duration("30d") == 24h * 30);
  CHECK(parse_duration("0s") == 0s);
  CHECK(parse_duration("007s") == 7s);
}

TEST_CASE("a duration may be a fraction, down to the nanosecond") {
  CHECK(parse_duration("1.5s") == 1500ms);
  CHECK(parse_duration("0.25ms") == 250us);
  CHECK(parse_duration("0.5d") == 12h);
  CHECK(parse_duration("0.000001ms") == 1ns);
  CHECK(parse_duration("0.0000009ms") == 0ns);
  CHECK(parse_duration("1.00000000000000000000000000001s") == 1s);
}

TEST_CASE("what is no duration is refused") {
  for (const auto* text :
       {"",     "5",   "s",   "-1s",    "+1s", " 1s", "1s ", "1 s", "soon", "nan s", "nans", "infs",
        "1e3s", "1.s", ".5s", "1.5.5s", "1S",  "1us", "1w",  "1ss", "1s1s", "0x1s",  "1,5s", "1m30s"}) {
    INFO(text);
    CHECK_FALSE(parse_duration(text).has_value());
  }
}

TEST_CASE("a duration is at most ten years, and longer ones do not overflow") {
  CHECK(parse_duration("3650d") == longest_duration);
  CHECK(parse_duration("87600h") == longest_duration);
  for (const auto* text : {"3650.0001d", "3651d", "87601h", "99999999999999999d", "18446744073709551615ms",
                           "18446744073709551616ms", "340282366920938463463374607431768211456s", "213503982334601d"}) {
    INFO(text);
    CHECK_FALSE(parse_duration(text).has_value());
  }
}

TEST_CASE("a duration is written in its largest whole unit") {
  CHECK(format_duration(0s) == "0s");
  CHECK(format_duration(90s) == "90s");
  CHECK(format_duration(60s) == "1m");
  CHECK(format_duration(1500ms) == "1500ms");
  CHECK(format_duration(36h) == "36h");
  CHECK(format_duration(48h) == "2d");
  CHECK(format_duration(250us) == "0.25ms");
  CHECK(format_duration(1ns) == "0.000001ms");
  CHECK(format_duration(-90s) == "-90s");
  CHECK(format_duration(-1ns) == "-0.000001ms");
  CHECK(format_duration(duration::min()) == "-9223372036854.775808ms");
  CHECK(format_duration(duration::max()) == "9223372036854.775807ms");
}

TEST_CASE("every duration reads back as it was written") {
  std::mt19937_64 random{20240101};
  for (int i = 0; i < 20'000; ++i) {
    // All magnitudes alike: shifted by a random number of bits.
    const auto length = duration{static_cast<std::int64_t>(random() >> (random() % 60 + 4))};
    if (length > longest_duration)
      continue;
    INFO(length.count() << " ns: " << format_duration(length));
    REQUIRE(parse_duration(format_duration(length)) == length);
  }
}

TEST_CASE("a size is a whole number of bytes with or without a unit") {
  CHECK(parse_bytes("0") == 0u);
  CHECK(parse_bytes("17") == 17u);
  CHECK(parse_bytes("17B") == 17u);
  CHECK(parse_bytes("2KiB") == 2048u);
  CHECK(parse_bytes("16MiB") == 16u << 20);
  CHECK(parse_bytes("3GiB") == 3ull << 30);
  CHECK(parse_bytes("2KB") == 2000u);
  CHECK(parse_bytes("2MB") == 2'000'000u);
  CHECK(parse_bytes("2GB") == 2'000'000'000u);
  CHECK(parse_bytes("18446744073709551615") == 18446744073709551615ull);
}

TEST_CASE("what is no size is refused") {
  for (const auto* text : {"", "B", "-1", "+1", " 1", "1 MiB", "1.5MiB", "1TiB", "1mib", "1M", "0x10", "1e3", "many",
                           "18446744073709551616", "17179869184GiB"}) {
    INFO(text);
    CHECK_FALSE(parse_bytes(text).has_value());
  }
}

TEST_CASE("every size reads back as it was written") {
  for (const std::uint64_t bytes : {0ull, 1ull, 1000ull, 1024ull, 16ull << 20, 3ull << 30, (1ull << 30) + 1, ~0ull}) {
    INFO(format_bytes(bytes));
    CHECK(parse_bytes(format_bytes(bytes)) == bytes);
  }
  CHECK(format_bytes(16u << 20) == "16MiB");
  CHECK(format_bytes(1000) == "1000B");
}
