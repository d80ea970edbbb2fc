#include "support/actor_fixture.hpp"

#include "switchyard/actors/actor_slot.hpp"
#include "switchyard/actors/health.hpp"
#include "switchyard/actors/supervisor.hpp"

using namespace switchyard;
using namespace switchyard::test;

namespace {

class supervisor_fixture : public actor_fixture {
public:
  void start() {
    supervisor = own(spawn_supervisor(system,
                                      {{"health",
                                        [this] {
                                          ++starts;
                                          if (fails > 0) {
                                            --fails;
                                            throw std::runtime_error("no room");
                                          }
                                          slot->set(spawn_health(system, {}, {}, shared));
                                          return caf::actor_cast<caf::actor>(slot->get());
                                        }}},
                                      shared, false));
    CHECK(ask<done>(supervisor, await_start{}).ok);
  }

  ~supervisor_fixture() {
    caf::anon_send_exit(supervisor, caf::exit_reason::user_shutdown);
    run();
    if (auto child = slot->get())
      caf::anon_send_exit(child, caf::exit_reason::user_shutdown);
    slot->set({});
  }

  bool answers() {
    bool ok = false;
    auto request = self->request(slot->get(), 10s, describe_health{});
    run();
    request.receive([&](const std::vector<provider_health>&) { ok = true; }, [](const caf::error&) {});
    return ok;
  }

  supervisor_actor supervisor;
  std::shared_ptr<actor_slot<health_actor>> slot = std::make_shared<actor_slot<health_actor>>();
  int starts = 0;
  int fails = 0;
};

} // namespace

TEST_CASE_METHOD(supervisor_fixture, "an actor that dies is started anew where it is looked up, and it is logged") {
  start();
  REQUIRE(answers());
  pass(5s);
  kill(slot->get());
  CHECK(starts == 2);
  CHECK(answers());
  REQUIRE(log.size() == 1);
  CHECK(log[0].second.find("health died") == 0);
}

TEST_CASE_METHOD(supervisor_fixture, "one that dies as soon as it lives is started anew after a while") {
  start();
  kill(slot->get());
  CHECK(starts == 1);
  pass(1s);
  CHECK(starts == 2);
  CHECK(answers());
}

TEST_CASE_METHOD(supervisor_fixture, "one that cannot be started is tried again until it can") {
  fails = 2;
  start();
  CHECK(starts == 1);
  pass(1s);
  pass(1s);
  CHECK(starts == 3);
  CHECK(answers());
  REQUIRE(log.size() == 2);
  CHECK(log[0].second == "health cannot be started: no room");
}

TEST_CASE_METHOD(supervisor_fixture, "one that is shut down on purpose stays away") {
  start();
  pass(5s);
  caf::anon_send_exit(slot->get(), caf::exit_reason::user_shutdown);
  run();
  pass(5s);
  CHECK(starts == 1);
}
