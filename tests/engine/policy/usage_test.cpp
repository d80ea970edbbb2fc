#include "switchyard/engine/usage.hpp"

#include "support/catch.hpp"

#include <string>

using namespace switchyard;
using namespace std::chrono_literals;

namespace {

constexpr wall_time noon{std::chrono::hours{500'000}};

request_row served(std::string tenant = "acme", std::uint64_t input = 10, std::uint64_t output = 5,
                   std::optional<double> cost = 0.5) {
  request_row r;
  r.time = noon + 10min;
  r.tenant = std::move(tenant);
  r.requested_route = "chat";
  r.route = "backup";
  r.provider = "p";
  r.model = "m";
  r.success = true;
  r.tokens.input = input;
  r.tokens.output = output;
  r.cost = cost;
  return r;
}

} // namespace

TEST_CASE("each served request counts once, by hour, tenant, route and model [U2]") {
  usage_sums sums;
  sums.add(served());
  sums.add(served("acme", 1, 2, 0.25));
  auto later = served();
  later.time = noon + 60min;
  sums.add(later);
  REQUIRE(std::distance(sums.begin(), sums.end()) == 2);
  const auto& [key, totals] = *sums.begin();
  CHECK(key == usage_key{noon, "acme", "backup", "p", "m"});
  CHECK(totals == usage_totals{2, 11, 7, 0, 0, 0.75});
}

TEST_CASE("what was not served, replayed or cached is no usage; a stream counts as far as it came [U2, I8, S4]") {
  usage_sums sums;
  auto failed = served(), replayed = served(), cached = served();
  failed.success = false;
  replayed.replayed = true;
  cached.cached = true;
  for (const auto& r : {failed, replayed, cached})
    sums.add(r);
  CHECK(sums.empty());
  auto broken = failed;
  broken.time_to_first_token = 1s;
  broken.tokens.estimated = true;
  sums.add(broken);
  CHECK(sums.begin()->second.requests == 1);
  CHECK(sums.begin()->second.estimated == 1);
}

TEST_CASE("an unknown price is no price of 0: the cost of a group is null, or that of its priced requests [U2]") {
  usage_sums sums;
  sums.add(served("free", 1, 1, std::nullopt));
  sums.add(served("mixed", 1, 1, std::nullopt));
  sums.add(served("mixed", 1, 1, 2.0));
  const auto rows = grouped(sums, usage_group::tenant);
  REQUIRE(rows.size() == 2);
  CHECK(rows[0].name == "free");
  CHECK_FALSE(rows[0].cost());
  CHECK(rows[0].totals.unpriced == 1);
  CHECK(rows[1].cost() == 2.0);
  CHECK(rows[1].totals.unpriced == 1);
}

TEST_CASE("sums are grouped by tenant, route or model [U2]") {
  usage_sums sums;
  sums.add(served("a"));
  sums.add(served("b"));
  CHECK(grouped(sums, usage_group::tenant).size() == 2);
  const auto routes = grouped(sums, usage_group::route), models = grouped(sums, usage_group::model);
  REQUIRE(routes.size() == 1);
  CHECK(routes[0].name == "backup"); // who served
  CHECK(routes[0].totals.requests == 2);
  CHECK(models.at(0).name == "m");
}

TEST_CASE("too many keys are counted together, and none is lost [U5]") {
  usage_sums sums;
  for (std::size_t i = 0; i < usage_sums::most_keys + 1000; ++i)
    sums.add(served("tenant " + std::to_string(i)));
  CHECK(static_cast<std::size_t>(std::distance(sums.begin(), sums.end())) <= usage_sums::most_keys + 1);
  std::uint64_t requests = 0;
  for (const auto& [key, totals] : sums)
    requests += totals.requests;
  CHECK(requests == usage_sums::most_keys + 1000);
}
