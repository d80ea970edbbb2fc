#include "support/actor_fixture.hpp"

#include "switchyard/actors/directory.hpp"

using namespace switchyard;
using namespace switchyard::test;
using texts = std::vector<std::string>;
using descriptions = std::vector<circuit_description>;

namespace {

class directory_fixture : public actor_fixture {
public:
  std::shared_ptr<circuit_handle> add(const std::string& provider) {
    return own(registry->add(std::make_shared<circuit_handle>(circuit_id{provider, {}, {}}, circuit_settings{})));
  }

  void start() {
    directory = own(spawn_directory(system, registry, shared));
    run();
  }

  texts list() {
    texts lines;
    for (const auto& d : ask<descriptions>(directory, list_circuits{}))
      lines.push_back(d.id.str() + " " + std::string{to_string(d.figures.state)} + " " +
                      std::string{to_string(d.figures.mode)});
    return lines;
  }

  bool change(const std::optional<std::string>& id, std::optional<circuit_mode> mode, bool reset = false) {
    return ask<done>(directory, change_circuit{id, mode, reset}).ok;
  }

  void trip(const circuit_handle& c) {
    outcome_report r;
    r.generation = c.cell().generation();
    r.what = outcome::failure;
    r.at = now();
    for (std::uint32_t i = 0; i < c.settings().consecutive_failures; ++i)
      hand_in(c, r);
    run();
  }

  std::shared_ptr<circuit_registry> registry = std::make_shared<circuit_registry>();
  directory_actor directory;
};

} // namespace

TEST_CASE_METHOD(directory_fixture, "the directory gives every circuit a breaker and lists them by id") {
  add("b");
  add("a");
  start();
  CHECK(list() == texts{"a closed auto", "b closed auto"});
}

TEST_CASE_METHOD(directory_fixture, "the registry keeps the first circuit of an id") {
  const auto first = add("a");
  CHECK(registry->add(std::make_shared<circuit_handle>(circuit_id{"a", {}, {}}, circuit_settings{})) == first);
  CHECK(registry->find("a") == first);
  CHECK(registry->find("b") == nullptr);
  CHECK(registry->all().size() == 1);
}

TEST_CASE_METHOD(directory_fixture,
                 "a breaker that dies comes back closed, keeps its mode, is logged and counted [C14]") {
  const auto c = add("a");
  start();
  change("a", circuit_mode::disabled);
  trip(*c);
  REQUIRE(c->cell().state() == circuit_state::open);
  const auto old_generation = c->cell().generation();
  const auto dead = c->breaker();
  log.clear(); // of its opening
  kill(dead);

  CHECK(c->breaker() != dead);
  CHECK(list() == texts{"a closed disabled"});
  CHECK(events.lines("restarted") == texts{"restarted a"});
  REQUIRE(log.size() == 1);
  CHECK(log[0].first == log_level::error);
  CHECK(log[0].second.find("circuit a") != std::string::npos);
  CHECK(c->cell().generation() > old_generation);
}

TEST_CASE_METHOD(directory_fixture, "permits of a dead breaker's circuit are stale and harmless [C9, C14]") {
  const auto c = add("a");
  start();
  outcome_report old;
  old.generation = c->cell().try_admit(now()).generation;
  old.what = outcome::failure;
  old.at = now();
  kill(c->breaker());
  for (int i = 0; i < 10; ++i)
    hand_in(*c, old);
  run();
  CHECK(list() == texts{"a closed auto"});
  trip(*c); // the new one counts
  CHECK(list() == texts{"a open auto"});
}

TEST_CASE_METHOD(directory_fixture, "a breaker that dies again and again comes back each time [C14]") {
  const auto c = add("a");
  start();
  for (int i = 0; i < 5; ++i)
    kill(c->breaker());
  CHECK(list() == texts{"a closed auto"});
  CHECK(events.lines("restarted").size() == 5);
}

TEST_CASE_METHOD(directory_fixture, "a breaker that is shut down stays so") {
  const auto c = add("a");
  start();
  const auto breaker = c->breaker();
  caf::anon_send_exit(breaker, caf::exit_reason::user_shutdown);
  run();
  CHECK(c->breaker() == breaker);
  CHECK(log.empty());
  CHECK(list() == texts{}); // it does not answer, and is left out
  CHECK_FALSE(change("a", circuit_mode::disabled));
}

TEST_CASE_METHOD(directory_fixture, "mode and reset of one circuit leave the others alone") {
  const auto a = add("a");
  const auto b = add("b");
  start();
  trip(*a);
  trip(*b);
  CHECK(change("a", circuit_mode::forced_open));
  CHECK(change("b", std::nullopt, true));
  CHECK(list() == texts{"a open forced_open", "b closed auto"});
}

TEST_CASE_METHOD(directory_fixture, "all circuits are changed at once") {
  const auto a = add("a");
  const auto b = add("b");
  start();
  trip(*a);
  CHECK(change(std::nullopt, circuit_mode::disabled, true));
  CHECK(list() == texts{"a closed disabled", "b closed disabled"});
}

TEST_CASE_METHOD(directory_fixture, "an unknown circuit is told") {
  add("a");
  start();
  CHECK_FALSE(change("x", circuit_mode::disabled));
  CHECK_FALSE(change("", circuit_mode::disabled)); // not all of them
  CHECK(list() == texts{"a closed auto"});
}

TEST_CASE_METHOD(directory_fixture, "a directory without circuits answers") {
  start();
  CHECK(list() == texts{});
  CHECK_FALSE(change(std::nullopt, std::nullopt, true));
}

TEST_CASE_METHOD(directory_fixture, "a circuit that is added later gets its breaker with the next message") {
  start();
  const auto c = add("late");
  CHECK_FALSE(c->breaker());
  CHECK(list() == texts{"late closed auto"});
  CHECK(c->breaker());
}

TEST_CASE_METHOD(directory_fixture,
                 "the breaker of a retired circuit comes back for who still holds it, and nobody hears of it [C14]") {
  const auto p = add("p");
  start();
  p->retire();
  registry->remove("p");
  kill(p->breaker());
  CHECK(p->cell().state() == circuit_state::closed);
  CHECK(ask<done>(p->breaker(), reset_circuit{}).ok);
  CHECK(events.lines().empty());
}
