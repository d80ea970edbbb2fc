#include "support/catch.hpp"
#include "switchyard/engine/setting_rules.hpp"

#include <cmath>
#include <limits>

using namespace switchyard;
using namespace std::chrono_literals;

TEST_CASE("an address is a host and a port") {
  CHECK(parse_host_port("127.0.0.1:8080") == host_port{"127.0.0.1", 8080});
  CHECK(parse_host_port("localhost:0") == host_port{"localhost", 0});
  CHECK(parse_host_port("[::1]:65535") == host_port{"::1", 65535});
  for (const auto* text :
       {"",        ":",         "8080",    ":8080",          "host",         "host:",       "host:65536",
        "host:-1", "host:+1",   "host: 1", "host:1x",        "::1:80",       "[]:80",       "[::1]",
        "[::1:80", "[name]:80", "a b:80",  "http://host:80", "user@host:80", "host/path:80"}) {
    INFO(text);
    CHECK_FALSE(parse_host_port(text).has_value());
  }
}

TEST_CASE("only what stays on this machine is loopback") {
  for (const auto* host : {"localhost", "127.0.0.1", "127.8.9.10", "::1"})
    CHECK(is_loopback(host));
  for (const auto* host : {"0.0.0.0", "::", "10.0.0.1", "127.example.org", "127.0.0.1.example.org",
                           "localhost.example.org", "128.0.0.1", ""})
    CHECK_FALSE(is_loopback(host));
}

TEST_CASE("a rate is a finite number in its range") {
  constexpr real_rule rate{0, 1, true};
  CHECK(holds(rate, 0.5));
  CHECK(holds(rate, 1.0));
  CHECK(holds(rate, std::numeric_limits<double>::denorm_min()));
  for (const double value : {0.0, -0.0, -0.5, 1.0000001, std::nan(""), HUGE_VAL, -HUGE_VAL})
    CHECK_FALSE(holds(rate, value));
  CHECK_FALSE(holds(real_rule{1}, HUGE_VAL));
}

TEST_CASE("a rule says what it accepts") {
  CHECK(accepted(whole_rule{1, 100}) == "a whole number from 1 to 100");
  CHECK(accepted(real_rule{0, 1, true}) == "a number above 0, at most 1");
  CHECK(accepted(real_rule{1}) == "a number of at least 1");
  CHECK(accepted(positive_span) == "a duration with a unit (ms, s, m, h, d) such as \"30s\", above 0s, at most 3650d");
  CHECK(accepted(choice("a", "b", "c")) == "\"a\", \"b\" or \"c\"");
  CHECK(accepted(classes_rule{{failure_class::auth, failure_class::timeout}}) == "an array of \"timeout\", \"auth\"");
}

TEST_CASE("a name has no control characters, no white space around it and at most 128 bytes") {
  CHECK(is_id("gpt-4o"));
  CHECK(is_id("a/b %~ ü"));
  CHECK(is_id(std::string(128, 'x')));
  for (const auto& name : {std::string(), std::string(129, 'x'), std::string(" a"), std::string("a "),
                           std::string("a\nb"), std::string("a\0b", 3), std::string("\x7f")})
    CHECK_FALSE(is_id(name));
}

TEST_CASE("header names are tokens and header values have no line break") {
  CHECK(is_header_name("X-Api_Key.1"));
  for (const auto* name : {"", "a b", "a:", "a\r", "ü", "a(b)"})
    CHECK_FALSE(is_header_name(name));
  CHECK(is_header_value("a \t\xC3\xBC"));
  CHECK(is_header_value(""));
  for (const auto& value : {std::string("a\r\nb"), std::string("\n"), std::string("\0", 1), std::string("\x7f")})
    CHECK_FALSE(is_header_value(value));
}
