#include "support/actor_fixture.hpp"

#include "switchyard/actors/health.hpp"

using namespace switchyard;
using namespace switchyard::test;
using texts = std::vector<std::string>;
using figures_list = std::vector<provider_health>;

namespace {

scored_attempt sample(const std::string& provider, bool success, duration latency = 200ms) {
  return {provider, provider, {wall_start, success, latency}};
}

health_batch batch(std::vector<scored_attempt> attempts) {
  return {std::make_shared<const std::vector<scored_attempt>>(std::move(attempts))};
}

telemetry_record record_of(std::optional<failure_class> failure) {
  attempt_row row;
  row.provider = "p";
  row.circuit = "p/m";
  row.time = wall_start;
  row.latency = 300ms;
  row.success = !failure;
  row.failure = failure;
  telemetry_record record;
  record.attempts.push_back(row);
  return record;
}

} // namespace

TEST_CASE("what an attempt counts in health is the table's word [H2]") {
  for (int i = 0; i < failure_class_count; ++i) {
    const auto f = static_cast<failure_class>(i);
    std::vector<scored_attempt> scored;
    append_scored(record_of(f), scored);
    INFO(to_string(f));
    CHECK(scored.size() == (traits(f).counts_in_health ? 1u : 0u));
  }
}

TEST_CASE("a success is scored to its provider at its end, with its latency [H2, H3]") {
  std::vector<scored_attempt> scored;
  append_scored(record_of(std::nullopt), scored);
  REQUIRE(scored.size() == 1);
  CHECK(scored[0].provider == "p");
  CHECK(scored[0].circuit == "p/m");
  CHECK(scored[0].sample.success);
  CHECK(scored[0].sample.at == wall_start + 300ms);
  CHECK(scored[0].sample.latency == 300ms);
}

TEST_CASE_METHOD(actor_fixture, "health scores batches by provider and tells the scores [H1]") {
  const auto health = own(spawn_health(system, {}, {}, shared));
  run();
  CHECK(ask<figures_list>(health, describe_health{}).empty()); // no data [H8]
  std::vector<scored_attempt> attempts(9, sample("p", true));
  attempts.push_back(sample("p", false));
  attempts.push_back(sample("q", false));
  caf::anon_send(health, batch(attempts));
  const auto figures = ask<figures_list>(health, describe_health{});
  REQUIRE(figures.size() == 2);
  CHECK(figures[0].provider == "p");
  CHECK(figures[0].figures.samples == 10);
  CHECK(figures[0].figures.score.value() == Approx(0.912));
  CHECK(figures[1].figures.score.value() == Approx(0.0));
  CHECK(events.lines("health") == texts{"health p known", "health q known"});
}

TEST_CASE_METHOD(actor_fixture, "health begins with the history of the log, and tells its scores [H5]") {
  const auto health = own(spawn_health(system, {}, {sample("p", true), sample("p", false)}, shared));
  const auto figures = ask<figures_list>(health, describe_health{});
  REQUIRE(figures.size() == 1);
  CHECK(figures[0].figures.samples == 2);
  CHECK(events.lines("health") == texts{"health p known"});
}

TEST_CASE_METHOD(actor_fixture, "attempts leave health with the window, and unknown is told as such [H1, H8]") {
  const auto health = own(spawn_health(system, {}, {sample("p", true)}, shared));
  pass(16min);
  const auto figures = ask<figures_list>(health, describe_health{});
  REQUIRE(figures.size() == 1);
  CHECK(figures[0].figures.samples == 0);
  CHECK_FALSE(figures[0].figures.score);
}

TEST_CASE_METHOD(actor_fixture, "a score stayed with observers when its window had ended [H8, M]") {
  health_settings settings;
  settings.window = 1min;
  const auto health = own(spawn_health(system, settings, {sample("p", true)}, shared));
  run();
  CHECK(events.lines("health") == texts{"health p known"});
  pass(30s);
  CHECK(events.lines("health") == texts{"health p known"}); // nothing new
  pass(1min);
  CHECK(events.lines("health") == texts{"health p known", "health p unknown"});
  caf::anon_send(health, batch({{"p", "p", {shared->wall_clock(), true, 200ms}}}));
  run();
  CHECK(events.lines("health").back() == "health p known");
}

TEST_CASE_METHOD(actor_fixture, "scores are published for who sorts by them, and change with time alone [B6]") {
  const auto board = std::make_shared<health_board>(std::vector<std::string>{"p", "q"});
  health_settings settings;
  settings.window = 1min;
  const auto health = own(spawn_health(system, settings, {sample("p", true)}, shared, board));
  run();
  CHECK(board->score("p") == Approx(1.0).margin(0.05));
  CHECK_FALSE(board->score("q")); // no data
  CHECK_FALSE(board->score("nobody"));
  caf::anon_send(health, batch({sample("q", false), sample("stranger", true)}));
  run();
  CHECK(board->score("q") == Approx(0.0));
  pass(3min); // nothing came meanwhile
  CHECK_FALSE(board->score("p"));
  CHECK_FALSE(board->score("q"));
}

TEST_CASE_METHOD(actor_fixture, "observers that did not know a provider hear its score after a reload [M, H8]") {
  const auto health = own(spawn_health(system, {}, {sample("p", true)}, shared));
  run();
  events.clear();
  caf::anon_send(health, configure_health{{}, nullptr});
  run();
  CHECK(events.lines("health") == texts{"health p known"});
}
