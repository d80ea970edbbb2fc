#include "switchyard/engine/fallback_plan.hpp"

#include "support/catch.hpp"

#include <rapidcheck.h>

#include <algorithm>
#include <cmath>
#include <limits>

using namespace switchyard;
using ids = std::vector<std::string>;
using order = std::vector<std::size_t>;
using scores = std::vector<std::optional<double>>;
using mode = health_settings::reorder_mode;

namespace {

struct route_table {
  std::map<std::string, route_settings> routes;
  route_table& add(const std::string& id, ids fallback = {}, bool active = true) {
    auto& route = routes[id];
    route.name = id;
    route.fallback = std::move(fallback);
    route.active = active;
    return *this;
  }
};

} // namespace

TEST_CASE("a route id is trimmed and folded, ASCII only [B1]") {
  CHECK(fold_route_id("chat") == "chat");
  CHECK(fold_route_id(" \tChat-Local\r\n") == "chat-local");
  CHECK(fold_route_id("GPT 4") == "gpt 4");
  CHECK(fold_route_id("\xC3\x84") == "\xC3\x84"); // a letter beyond ASCII stays as it is
  CHECK(fold_route_id("   ").empty());
  CHECK(fold_route_id("").empty());
}

TEST_CASE("a chain is the primary and its fallbacks in order [B1]") {
  const auto t = route_table().add("a", {"c", "b"}).add("b").add("c");
  const auto chain = plan_fallbacks(t.routes, "a");
  CHECK(chain.routes == ids{"a", "c", "b"});
  CHECK(chain.skipped_missing.empty());
  CHECK(chain.skipped_inactive.empty());
}

TEST_CASE("a primary is found in any spelling [B1]") {
  const auto t = route_table().add("a", {"b"}).add("b");
  CHECK(plan_fallbacks(t.routes, " A ").routes == ids{"a", "b"});
}

TEST_CASE("a chain has the first occurrence of each id, and never the primary twice [B1]") {
  const auto t = route_table().add("a", {" B ", "A", "c", "b", "C", "a"}).add("b").add("c");
  CHECK(plan_fallbacks(t.routes, "a").routes == ids{"a", "b", "c"});
}

TEST_CASE("a fallback's own chain is ignored [B1]") {
  const auto t = route_table().add("a", {"b"}).add("b", {"c"}).add("c", {"a"});
  CHECK(plan_fallbacks(t.routes, "a").routes == ids{"a", "b"});
}

TEST_CASE("missing and inactive fallbacks are skipped and named, once each [B2]") {
  const auto t = route_table().add("a", {"gone", "off", "b", "GONE", "Off", "  "}).add("b").add("off", {}, false);
  const auto chain = plan_fallbacks(t.routes, "a");
  CHECK(chain.routes == ids{"a", "b"});
  CHECK(chain.skipped_missing == ids{"gone", ""});
  CHECK(chain.skipped_inactive == ids{"off"});
}

TEST_CASE("with every fallback skipped the primary is left alone [B2]") {
  const auto t = route_table().add("a", {"gone", "off"}).add("off", {}, false);
  CHECK(plan_fallbacks(t.routes, "a").routes == ids{"a"});
  CHECK(plan_fallbacks(t.routes, "nowhere").routes == ids{"nowhere"});
}

TEST_CASE("reordering is off by default and then changes nothing [B6]") {
  const scores s{0.1, 0.9, std::nullopt};
  CHECK(health_settings{}.reorder == mode::off);
  CHECK(reorder_by_health(s, mode::off) == order{0, 1, 2});
}

TEST_CASE("fallbacks are reordered behind the primary, or with it [B6]") {
  const scores s{0.1, 0.2, 0.9};
  CHECK(reorder_by_health(s, mode::fallbacks) == order{0, 2, 1});
  CHECK(reorder_by_health(s, mode::all) == order{2, 1, 0});
}

TEST_CASE("an unknown score is neutral [B6]") {
  const scores s{0.4, std::nullopt, 0.6};
  CHECK(reorder_by_health(s, mode::all) == order{2, 1, 0});
  const scores level{std::nullopt, 0.5, std::nullopt};
  CHECK(reorder_by_health(level, mode::all) == order{0, 1, 2});
  const scores odd{0.4, std::numeric_limits<double>::quiet_NaN(), 0.6};
  CHECK(reorder_by_health(odd, mode::all) == order{2, 1, 0});
}

TEST_CASE("an empty chain and one of one are left alone [B6]") {
  CHECK(reorder_by_health({}, mode::fallbacks).empty());
  CHECK(reorder_by_health(scores{std::nullopt}, mode::fallbacks) == order{0});
  CHECK(reorder_by_health(scores{0.1}, mode::all) == order{0});
}

TEST_CASE("reordering is stable, descending and drops nothing [B6]") {
  REQUIRE(rc::check("a stable descending permutation", [] {
    // Few values, so that many are equal; -1 stands for unknown.
    const auto drawn = *rc::gen::container<std::vector<int>>(rc::gen::inRange(-1, 5));
    scores s;
    for (int d : drawn)
      s.push_back(d < 0 ? std::nullopt : std::optional(d / 4.0));
    const auto which = *rc::gen::element(mode::fallbacks, mode::all);

    const auto result = reorder_by_health(s, which);
    RC_ASSERT(result.size() == s.size());
    auto sorted = result;
    std::ranges::sort(sorted);
    for (std::size_t i = 0; i < sorted.size(); ++i)
      RC_ASSERT(sorted[i] == i);
    const std::size_t first = which == mode::fallbacks ? 1 : 0;
    if (first == 1 && !result.empty())
      RC_ASSERT(result.front() == 0u);
    for (std::size_t i = first; i + 1 < result.size(); ++i) {
      const auto a = s[result[i]].value_or(0.5), b = s[result[i + 1]].value_or(0.5);
      RC_ASSERT(a > b || (a == b && result[i] < result[i + 1]));
    }
  }));
}
