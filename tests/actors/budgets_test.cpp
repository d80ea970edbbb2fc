#include "request_fixture.hpp"

#include "switchyard/actors/budgets.hpp"

#include <random>

using namespace switchyard;
using namespace switchyard::test;
using kind = flow_input::budget_verdict::kind;

namespace {

budget_settings requests(std::uint64_t limit) {
  budget_settings b;
  b.requests = limit;
  return b;
}

class budget_fixture : public request_fixture {
public:
  explicit budget_fixture(std::uint64_t limit = 10) {
    environment->budgets = std::make_shared<actor_slot<budget_actor>>();
    budgets_are(limit);
    route("a", {.circuit = false, .max_concurrency = 1000, .max_attempts = 1});
  }

  void budgets_are(std::uint64_t limit) {
    environment->budgets->set(own(spawn_budgets(system, {requests(limit)}, ledgers, shared, false)));
    run();
  }

  running submit_budgeted() {
    auto s = spec({});
    s.flow.budgeted = true;
    s.budget = budget_amount{1, 100, 0};
    return start(std::move(s));
  }

  std::uint64_t used() {
    const auto all = ask<std::vector<budget_figures>>(environment->budgets->get(), describe_budgets{});
    return all.empty() ? 0 : all[0].used.requests;
  }

  std::shared_ptr<memory_budget_store> ledgers = std::make_shared<memory_budget_store>();
};

class spent_fixture : public budget_fixture {
public:
  spent_fixture() : budget_fixture(1) {}
};

} // namespace

TEST_CASE_METHOD(spent_fixture, "a used-up budget refuses with the wait, and a failure gives it back [U1]") {
  const auto first = submit_budgeted();
  pass(30s);
  const auto second = submit_budgeted();
  REQUIRE(second.answered());
  CHECK(second.result().code == errc::budget_exceeded);
  CHECK(second.result().retry_after == 24h - 30s);
  CHECK(second.result().message.find("1 requests in 1d") != std::string::npos);
  CHECK(provider().calls() == 1);
  provider().end(0, http_error(500, failure_class::server_error));
  run();
  CHECK(first.answered());
  CHECK(used() == 0);
  submit_budgeted();
  CHECK(provider().calls() == 2);
}

TEST_CASE_METHOD(spent_fixture, "a request that is killed gives its part back [U1, C16]") {
  const auto first = submit_budgeted();
  kill(first.actor);
  CHECK(used() == 0);
}

TEST_CASE_METHOD(budget_fixture, "what is admitted together is written together, before it is told [U1]") {
  std::vector<running> all;
  const auto writes = ledgers->writes.load();
  for (int i = 0; i < 10; ++i) {
    auto s = spec({});
    s.flow.budgeted = true;
    s.budget = budget_amount{1, 100, 0};
    all.push_back(prepare(std::move(s)));
  }
  run();
  CHECK(ledgers->writes == writes + 1);
  CHECK(ledgers->stored().at(0).used.requests == 10);
  CHECK(provider().calls() == 10);
}

TEST_CASE_METHOD(budget_fixture, "a restart keeps what was used, with what was in flight [U1]") {
  for (int i = 0; i < 4; ++i)
    submit_budgeted();
  end(http_error(500, failure_class::server_error));
  CHECK(used() == 3);
  kill(environment->budgets->get());
  budgets_are(10);
  CHECK(used() == 3);
}

TEST_CASE_METHOD(budget_fixture, "while the store fails budgets go on, and are written when it works again [U1, I13]") {
  ledgers->fail = true;
  submit_budgeted();
  submit_budgeted();
  CHECK(provider().calls() == 2);
  CHECK(ledgers->stored().empty());
  CHECK(log.size() == 1); // once a minute
  ledgers->fail = false;
  submit_budgeted();
  CHECK(ledgers->stored().at(0).used.requests == 3);
}

TEST_CASE_METHOD(budget_fixture, "budgets that are not there refuse, and nobody waits for ever [U1]") {
  environment->budgets->set(budget_actor{});
  const auto r = submit_budgeted();
  REQUIRE(r.answered());
  CHECK(r.result().code == errc::overloaded);
  CHECK(r.result().message == "the budgets cannot be asked");
}

namespace {

// A hundred requests come in bursts of any size; the actor's answers come when the test lets it work. With `refunds`
// some that were admitted fail on the way, and make room.
void hundred_requests(std::uint32_t seed, bool refunds) {
  std::mt19937 random{seed};
  actor_fixture f;
  const auto budgets = spawn_budgets(f.system, {requests(10)}, nullptr, f.shared, false);
  f.run();
  using request = decltype(f.self->request(budgets, caf::infinite, reserve_budget{}));
  std::vector<std::pair<budget_reservation, request>> asked;
  std::vector<budget_reservation> held;
  std::size_t admitted = 0, refused = 0, refunded = 0;
  const auto hear = [&] {
    f.run();
    for (auto& [id, r] : asked) {
      const auto what = f.receive<budget_answer>(r).verdict.what;
      REQUIRE(what != kind::unavailable);
      if (what == kind::admitted)
        ++admitted, held.push_back(id);
      else
        ++refused;
    }
    asked.clear();
  };
  for (budget_reservation next = 0; next < 100;) {
    for (auto burst = 1 + random() % 20; burst > 0 && next < 100; --burst) {
      ++next;
      asked.emplace_back(
          next, f.self->request(budgets, caf::infinite, reserve_budget{next, "t", "a", budget_amount{1, 0, 0}}));
    }
    if (random() % 2)
      hear();
    if (refunds && !held.empty() && random() % 4 == 0) {
      std::swap(held[random() % held.size()], held.back());
      f.self->send(budgets, settle_budget{held.back(), std::nullopt});
      held.pop_back();
      ++refunded;
    }
  }
  hear();
  CAPTURE(seed, refunded);
  REQUIRE(admitted + refused == 100);
  REQUIRE(admitted <= 10 + refunded);
  REQUIRE(held.size() <= 10);
  if (!refunds)
    REQUIRE(admitted == 10);
  REQUIRE(f.ask<std::vector<budget_figures>>(budgets, describe_budgets{}).at(0).used.requests == held.size());
  f.kill(budgets);
}

} // namespace

TEST_CASE(
    "of a hundred parallel requests against a budget for ten exactly ten are admitted, on a thousand seeds [U1]") {
  for (std::uint32_t seed = 1; seed <= 1000; ++seed)
    hundred_requests(seed, false);
}

TEST_CASE("what fails on the way makes room for as many others, and for no more [U1]") {
  for (std::uint32_t seed = 1; seed <= 1000; ++seed)
    hundred_requests(seed, true);
}
