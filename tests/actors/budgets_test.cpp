#include "request_fixture.hpp"

#include "switchyard/actors/budgets.hpp"

#include <random>

using namespace switchyard;
using namespace switchyard::test;
using kind = flow_input::budget_verdict::kind;
using texts = std::vector<std::string>;

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

TEST_CASE_METHOD(budget_fixture, "what is taken of a budget is told when it changes, with nobody asking [M, U1]") {
  CHECK(events.lines("budget").empty());
  submit_budgeted();
  submit_budgeted();
  CHECK(events.lines("budget").back() == "budget  * requests=20%");
  end(http_error(500, failure_class::server_error));
  CHECK(events.lines("budget").back() == "budget  * requests=10%");
  provider().end(0, answer_of("{}"));
  run();
  const auto told = events.lines("budget").size();
  pass(23h);
  CHECK(events.lines("budget").size() == told);
  pass(1h);
  CHECK(events.lines("budget").back() == "budget  * requests=0%");
}

TEST_CASE_METHOD(budget_fixture, "what a restart finds written down is told, too [M, U1]") {
  submit_budgeted();
  kill(environment->budgets->get());
  events.clear();
  budgets_are(10);
  CHECK(events.lines("budget") == texts{"budget  * requests=10%"});
}

TEST_CASE_METHOD(budget_fixture, "budgets that are not there refuse, and nobody waits for ever [U1]") {
  environment->budgets->set(budget_actor{});
  const auto r = submit_budgeted();
  REQUIRE(r.answered());
  CHECK(r.result().code == errc::overloaded);
  CHECK(r.result().message == "the budgets cannot be asked");
}

TEST_CASE_METHOD(budget_fixture, "what could not be read at first is neither forgotten nor written over [U1, I13]") {
  for (int i = 0; i < 4; ++i)
    submit_budgeted();
  kill(environment->budgets->get());
  ledgers->fail_load = true;
  budgets_are(10);
  CHECK(log.size() == 1);
  submit_budgeted();
  CHECK(provider().calls() == 5);
  CHECK(ledgers->stored().at(0).used.requests == 4);
  ledgers->fail_load = false;
  submit_budgeted();
  CHECK(ledgers->stored().at(0).used.requests == 6);
  CHECK(used() == 6);
}

namespace {

// A store of a program's own may throw whatever it likes.
class throwing_store final : public budget_store {
public:
  store_result<std::vector<stored_budget>> load() override { throw 5; }
  store_result<void> write(std::span<const stored_budget>) override { throw std::runtime_error("the tape is torn"); }
};

} // namespace

TEST_CASE_METHOD(budget_fixture, "budgets outlive a store that throws [U1, I13]") {
  environment->budgets->set(
      own(spawn_budgets(system, {requests(1)}, std::make_shared<throwing_store>(), shared, false)));
  submit_budgeted();
  CHECK(provider().calls() == 1);
  CHECK(submit_budgeted().result().code == errc::budget_exceeded);
  CHECK(used() == 1);
}

TEST_CASE_METHOD(budget_fixture, "who waits for budgets that die before they commit is answered at once [U1]") {
  auto broken = std::make_shared<services>(*shared);
  broken->wall_clock = [this, reads = 0]() mutable {
    if (reads++ > 1) // the start, the reservation
      throw std::runtime_error("no clock");
    return shared->wall_clock();
  };
  environment->budgets->set(own(spawn_budgets(system, {requests(10)}, nullptr, broken, false)));
  const auto r = submit_budgeted();
  REQUIRE(r.answered());
  CHECK(r.result().code == errc::overloaded);
  CHECK(provider().calls() == 0);
}

namespace {

// A hundred requests come in bursts of any size; the actor's answers come when the test lets it work. With `all_ways`
// they go on in every way there is: settled, given back, once or twice, or left before the answer comes.
class hundred_requests {
public:
  hundred_requests(std::uint32_t seed, bool all_ways)
      : random_{seed}, budgets_(f_.own(spawn_budgets(f_.system, {requests(10)}, nullptr, f_.shared, false))) {
    f_.run();
    while (next_ <= 100) {
      for (auto burst = 1 + random_() % 20; burst > 0 && next_ <= 100; --burst)
        ask(all_ways && random_() % 8 == 0);
      if (random_() % 2)
        hear();
      for (auto steps = all_ways ? random_() % 4 : 0; steps > 0 && !held_.empty(); --steps)
        go_on();
    }
    hear();
  }

  std::size_t admitted = 0, refused = 0, settled = 0, given_back = 0;

  budget_figures figures() { return f_.ask<std::vector<budget_figures>>(budgets_, describe_budgets{}).at(0); }

private:
  using request = decltype(std::declval<caf::scoped_actor&>()->request(std::declval<budget_actor&>(), caf::infinite,
                                                                       reserve_budget{}));
  struct asked {
    budget_reservation id;
    bool left;
    request answer;
  };

  void ask(bool leaves) {
    const auto id = next_++;
    asked_.push_back(
        {id, leaves, f_.self->request(budgets_, caf::infinite, reserve_budget{id, "t", "a", budget_amount{1, 0, 0}})});
    if (leaves)
      tell(id, std::nullopt);
  }

  void hear() {
    f_.run();
    for (auto& a : asked_) {
      const bool is_admitted = f_.receive<budget_answer>(a.answer).verdict.what == kind::admitted;
      ++(is_admitted ? admitted : refused);
      if (is_admitted && a.left)
        ++given_back;
      else if (is_admitted)
        held_.push_back(a.id);
    }
    asked_.clear();
  }

  void go_on() {
    std::swap(held_[random_() % held_.size()], held_.back());
    const auto id = held_.back();
    held_.pop_back();
    const bool served = random_() % 3 == 0;
    ++(served ? settled : given_back);
    tell(id, served ? std::optional{budget_amount{1, 0, 0}} : std::nullopt);
    if (random_() % 4 == 0)
      tell(id, std::nullopt);
  }

  void tell(budget_reservation id, std::optional<budget_amount> actual) {
    f_.self->send(budgets_, settle_budget{id, actual});
  }

  std::mt19937 random_;
  actor_fixture f_;
  budget_actor budgets_;
  budget_reservation next_ = 1;
  std::vector<asked> asked_;
  std::vector<budget_reservation> held_;
};

} // namespace

TEST_CASE(
    "of a hundred parallel requests against a budget for ten exactly ten are admitted, on a thousand seeds [U1]") {
  for (std::uint32_t seed = 1; seed <= 1000; ++seed) {
    hundred_requests all{seed, false};
    CAPTURE(seed);
    REQUIRE(all.admitted == 10);
    REQUIRE(all.refused == 90);
    REQUIRE(all.figures().used.requests == 10);
  }
}

TEST_CASE("what is given back makes room for as many others, and for no more, on a thousand seeds [U1]") {
  for (std::uint32_t seed = 1; seed <= 1000; ++seed) {
    hundred_requests all{seed, true};
    const auto figures = all.figures();
    CAPTURE(seed);
    REQUIRE(all.admitted + all.refused == 100);
    REQUIRE(figures.used.requests <= 10);
    REQUIRE(figures.used.requests == all.admitted - all.given_back);
    REQUIRE(figures.reserved.requests == all.admitted - all.given_back - all.settled);
  }
}
