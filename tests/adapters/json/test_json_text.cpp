#include "switchyard/json/json_text.hpp"

#include "support/catch.hpp"

#include <boost/json/parse.hpp>
#include <boost/json/value.hpp>

#include <bit>
#include <cstdint>
#include <cstdlib>
#include <limits>
#include <random>

using switchyard::to_json_text;
namespace json = boost::json;

namespace {

std::string text_of(json::value v) {
  const auto text = to_json_text({{"v", std::move(v)}});
  return text.substr(5, text.size() - 6); // {"v":...}
}

} // namespace

TEST_CASE("numbers are plain decimals, not 1.11911E2") {
  CHECK(text_of(111.911) == "111.911");
  CHECK(text_of(0.912) == "0.912");
  CHECK(text_of(0.2) == "0.2");
  CHECK(text_of(-1.5) == "-1.5");
  CHECK(text_of(0.0) == "0");
  CHECK(text_of(100.0) == "100");
  CHECK(text_of(1e21) == "1000000000000000000000");
  CHECK(text_of(1e-7) == "0.0000001");
  CHECK(text_of(std::uint64_t{18446744073709551615u}) == "18446744073709551615");
  CHECK(text_of(std::int64_t{-7}) == "-7");
}

TEST_CASE("the largest and the smallest numbers keep their value, what is no number is null") {
  using limits = std::numeric_limits<double>;
  for (const double x : {limits::max(), limits::lowest(), limits::min(), limits::denorm_min(), -limits::denorm_min()}) {
    const auto text = text_of(x);
    CHECK(text.find_first_not_of("-.0123456789") == std::string::npos);
    CHECK(std::strtod(text.c_str(), nullptr) == x);
  }
  CHECK(text_of(limits::infinity()) == "null");
  CHECK(text_of(-limits::infinity()) == "null");
  CHECK(text_of(limits::quiet_NaN()) == "null");
}

TEST_CASE("every number reads back as itself") {
  std::mt19937_64 random{7};
  for (int i = 0; i < 10'000; ++i) {
    const auto x = std::bit_cast<double>(random());
    if (x - x != 0)
      continue; // an infinity or NaN
    const auto text = text_of(x);
    REQUIRE(text.find_first_not_of("-.0123456789") == std::string::npos);
    REQUIRE(std::strtod(text.c_str(), nullptr) == x);
  }
}

TEST_CASE("texts, names and nesting come out as JSON") {
  const json::object o{{"a\"\n", json::array{nullptr, true, false, "\x01 \u00e4 \\", json::object{}, json::array{}}},
                       {"b", json::object{{"c", 1.5}, {"d", json::array{0.25, json::object{{"e", 3}}}}}}};
  CHECK(json::parse(to_json_text(o)) == json::value(o));
  CHECK(to_json_text({}) == "{}");
  CHECK(to_json_text({{"a", 1}, {"b", json::array{1, 2}}}) == R"({"a":1,"b":[1,2]})");
}

TEST_CASE("bytes that are no UTF-8 do not make the whole no JSON") {
  CHECK(to_json_text({{"a\xff", "b\xc3\"\xe2\x82\n"}}) == R"({"a?":"b?\"??\n"})");
  CHECK(to_json_text({{"a", "\u00e4"}}) == "{\"a\":\"\u00e4\"}");
}
