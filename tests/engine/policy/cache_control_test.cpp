#include "switchyard/engine/cache_control.hpp"

#include "support/catch.hpp"

#include <rapidcheck.h>

#include <chrono>
#include <string>

using namespace switchyard;
using namespace std::chrono_literals;

TEST_CASE("the directives of a request are read, in any case and place [U3]") {
  CHECK(parse_cache_control("") == cache_directives{});
  CHECK(parse_cache_control("no-cache") == cache_directives{false, true, {}});
  CHECK(parse_cache_control("No-Store") == cache_directives{false, false, {}});
  CHECK(parse_cache_control("max-age=60") == cache_directives{true, true, 60s});
  CHECK(parse_cache_control("MAX-AGE=\"60\"") == cache_directives{true, true, 60s});
  CHECK(parse_cache_control("private, \t max-age = 0 ,no-cache") == cache_directives{false, true, 0s});
  CHECK(parse_cache_control("no-cache=\"Set-Cookie\"") == cache_directives{false, true, {}});
}

TEST_CASE("what is unknown or malformed says nothing, and of two ages the stricter counts [U3]") {
  for (const auto* text : {",", ",,=", "max-age", "max-age=", "max-age=-1", "max-age=1.5", "max-age=1s", "max-age=\"",
                           "no-cachex", "xno-cache", "no cache", "\"no-store\"", "x=\"a, no-store, b\"",
                           "x=\"\\\", no-store", "only-if-cached", "min-fresh=5"}) {
    CAPTURE(text);
    CHECK(parse_cache_control(text) == cache_directives{});
  }
  CHECK(parse_cache_control("max-age=9, max-age=7, max-age=8").max_age == 7s);
  CHECK(parse_cache_control("max-age=99999999999999999999").max_age == std::chrono::seconds{1ll << 31});
}

TEST_CASE("whatever a client sends, reading ends [U3]") {
  const bool held = rc::check([] {
    const auto text = *rc::gen::container<std::string>(rc::gen::weightedElement<char>(
        {{3, ','}, {3, '"'}, {2, '\\'}, {2, '='}, {2, ' '}, {1, 'a'}, {1, '\0'}, {1, '\xff'}}));
    RC_ASSERT(parse_cache_control(text) == cache_directives{});
    RC_ASSERT_FALSE(parse_cache_control("no-store," + text).store);
  });
  CHECK(held);
}
