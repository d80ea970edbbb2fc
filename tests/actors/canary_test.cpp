#include "support/actor_fixture.hpp"
#include "support/scripted_provider.hpp"

#include "switchyard/actors/breaker.hpp"
#include "switchyard/actors/canary.hpp"

#include <stdexcept>

using namespace switchyard;
using namespace switchyard::test;

namespace {

// A circuit that opens at the first failure, cools down for 10 s, and asks a canary for at most 5 s.
class canary_fixture : public actor_fixture {
public:
  canary_fixture() {
    circuit_settings s;
    s.consecutive_failures = 1;
    s.cooldown = 10s;
    s.canary.emplace();
    circuit = own(std::make_shared<circuit_handle>(circuit_id{"p", {}, {}}, s));
    circuit->set_canary(plan());
    spawn_breaker(system, circuit, shared);
    run();
  }

  std::shared_ptr<const canary_plan> plan() const {
    auto made = std::make_shared<canary_plan>();
    made->target = provider;
    made->request.path = "/chat/completions";
    made->request.body = std::make_shared<const std::string>("ping");
    made->timeout = 5s;
    made->problem = [](const provider_result& r) {
      return r.failure ? std::optional<std::string>{"it failed"} : std::nullopt;
    };
    return made;
  }

  void trip() {
    outcome_report r;
    r.generation = circuit->cell().generation();
    r.what = outcome::failure;
    r.at = now();
    hand_in(*circuit, r);
    run();
    REQUIRE(circuit->cell().state() == circuit_state::open);
  }

  fast_admission admission() { return circuit->cell().try_admit(now()); }
  circuit_state state() { return circuit->cell().state(); }
  bool logged(const std::string& text) const {
    for (const auto& [level, line] : log)
      if (line.find(text) != std::string::npos)
        return true;
    return false;
  }

  std::shared_ptr<scripted_provider> provider = std::make_shared<scripted_provider>();
  std::shared_ptr<circuit_handle> circuit;
};

template <class Thrown>
class refusing_provider : public switchyard::provider {
public:
  explicit refusing_provider(Thrown what) : what_(std::move(what)) {}
  std::shared_ptr<attempt_handle> start(provider_request, std::shared_ptr<attempt_listener>) override { throw what_; }

private:
  Thrown what_;
};

} // namespace

TEST_CASE_METHOD(canary_fixture, "at the cooldown's end one canary goes, and opens half_open when it passes [C13]") {
  trip();
  pass(10s - 1ns);
  CHECK(provider->calls() == 0);
  pass(1ns);
  REQUIRE(provider->calls() == 1);
  CHECK(*provider->request(0).body == "ping");
  CHECK(state() == circuit_state::open);
  provider->end(0, answer_of("{}"));
  run();
  CHECK(state() == circuit_state::half_open);
  CHECK(logged("its canary passed"));
}

TEST_CASE_METHOD(canary_fixture,
                 "while the canary runs callers are refused without a known wait, and none is sent more "
                 "[C6, C13]") {
  trip();
  pass(10s);
  for (int i = 0; i < 10; ++i) {
    CHECK(admission().what == fast_admission::kind::refused);
    CHECK_FALSE(admission().wait);
    CHECK(ask<admission_verdict>(circuit->breaker(), probe_request{}).what == admission_verdict::kind::refused);
  }
  CHECK(provider->calls() == 1);
}

TEST_CASE_METHOD(canary_fixture, "a canary that fails starts the cooldown again, and then the next one goes [C13]") {
  trip();
  pass(10s);
  pass(1s);
  provider->end(0, http_error(500, failure_class::server_error));
  run();
  CHECK(state() == circuit_state::open);
  CHECK(admission().wait == 10s);
  CHECK(logged("its canary failed: it failed"));
  pass(10s);
  REQUIRE(provider->calls() == 2);
  provider->end(1, answer_of("{}"));
  run();
  CHECK(state() == circuit_state::half_open);
}

TEST_CASE_METHOD(canary_fixture,
                 "a canary without an answer in its time has failed, and is cut on the wire [C13, F3]") {
  trip();
  pass(10s);
  pass(5s);
  CHECK(provider->cancelled(0));
  CHECK(admission().wait == 10s);
  CHECK(logged("no answer in time"));
}

TEST_CASE_METHOD(canary_fixture,
                 "a canary that cannot be sent, or dies, has failed: the circuit is not stuck [C8, C13]") {
  trip();
  auto refusing = std::make_shared<canary_plan>(*plan());
  refusing->target = std::make_shared<refusing_provider<std::runtime_error>>(std::runtime_error{"no way"});
  circuit->set_canary(refusing);
  pass(10s);
  CHECK(admission().wait == 10s);
  CHECK(logged("its canary failed: cannot be sent: no way"));
  refusing = std::make_shared<canary_plan>(*plan());
  refusing->target = std::make_shared<refusing_provider<int>>(1); // a program's own provider may throw anything
  circuit->set_canary(refusing);
  pass(10s);
  CHECK(admission().wait == 10s);
  CHECK(logged("its canary failed: cannot be sent: it threw something that is no std::exception"));
}

TEST_CASE_METHOD(canary_fixture, "a reset while a canary runs closes the circuit, and the canary's word is too late") {
  trip();
  pass(10s);
  CHECK(ask<done>(circuit->breaker(), reset_circuit{}).ok);
  CHECK(state() == circuit_state::closed);
  trip();
  provider->end(0, answer_of("{}"));
  run();
  CHECK(state() == circuit_state::open);
  pass(10s);
  CHECK(provider->calls() == 2);
}

TEST_CASE_METHOD(canary_fixture, "a circuit that an operator forces open sends no canary until he lets it") {
  trip();
  ask<done>(circuit->breaker(), set_circuit_mode{circuit_mode::forced_open});
  pass(1h);
  CHECK(provider->calls() == 0);
  ask<done>(circuit->breaker(), set_circuit_mode{circuit_mode::automatic});
  CHECK(provider->calls() == 1);
}

TEST_CASE_METHOD(canary_fixture, "where nobody can be asked the cooldown's end alone decides [C6]") {
  circuit->set_canary(nullptr);
  trip();
  pass(10s);
  CHECK(state() == circuit_state::half_open);
}

TEST_CASE_METHOD(canary_fixture, "the breaker's death ends its canary, and its successor is closed [C14]") {
  trip();
  pass(10s);
  const auto breaker = circuit->breaker();
  kill(breaker);
  CHECK(provider->cancelled(0));
}

TEST_CASE_METHOD(canary_fixture,
                 "other settings begin a circuit anew, closed, in the operator's mode; the same change nothing") {
  trip();
  auto s = circuit->settings();
  CHECK_FALSE(circuit->configure(s));
  ask<done>(circuit->breaker(), configure_circuit{});
  CHECK(state() == circuit_state::open);
  ask<done>(circuit->breaker(), set_circuit_mode{circuit_mode::disabled});
  s.consecutive_failures = 2;
  CHECK(circuit->configure(s));
  ask<done>(circuit->breaker(), configure_circuit{});
  CHECK(state() == circuit_state::closed);
  CHECK(circuit->cell().mode() == circuit_mode::disabled);
}

TEST_CASE_METHOD(canary_fixture, "the end of the last who holds a circuit ends its breaker") {
  auto held = std::make_shared<circuit_handle>(circuit_id{"q", {}, {}}, circuit_settings{});
  const auto breaker = spawn_breaker(system, held, shared);
  run();
  self->monitor(breaker);
  held.reset();
  run();
  bool gone = false;
  self->receive([&](const caf::down_msg&) { gone = true; });
  CHECK(gone);
}

TEST_CASE_METHOD(canary_fixture,
                 "a retired circuit asked the provider of before, and told observers of another's state [C13, M]") {
  trip();
  circuit->retire();
  events.clear();
  pass(10s);
  CHECK(provider->calls() == 0);
  CHECK(state() == circuit_state::half_open); // for requests that still hold it
  ask<done>(circuit->breaker(), set_circuit_mode{circuit_mode::disabled});
  CHECK(events.lines().empty());
}
