#include "support/actor_fixture.hpp"
#include "support/memory_stores.hpp"
#include "support/scripted_provider.hpp"
#include "support/test_route.hpp"

#include "switchyard/actors/breaker.hpp"
#include "switchyard/actors/idempotency.hpp"
#include "switchyard/actors/request.hpp"

#include <caf/typed_event_based_actor.hpp>

using namespace switchyard;
using namespace switchyard::test;
using texts = std::vector<std::string>;
using result_ptr = std::shared_ptr<const request_result>;

namespace {

// A breaker that never answers.
breaker_actor::behavior_type deaf_breaker(breaker_actor::pointer self) {
  auto held = std::make_shared<std::vector<caf::response_promise>>();
  return {
      [=](const probe_request&) -> caf::result<admission_verdict> {
        held->push_back(self->make_response_promise());
        return caf::delegated<admission_verdict>{};
      },
      [](const drain_reports&) {},
      [](const overflow_report&) {},
      [](const set_circuit_mode&) { return done{}; },
      [](const reset_circuit&) { return done{}; },
      [](const describe_circuit&) { return circuit_description{}; },
      [](const breaker_tick&) {},
  };
}

// A shard that never answers.
idempotency_actor::behavior_type deaf_shard(idempotency_actor::pointer self) {
  auto held = std::make_shared<std::vector<caf::response_promise>>();
  return {
      [=](const reserve_key&) -> caf::result<key_answer> {
        held->push_back(self->make_response_promise());
        return caf::delegated<key_answer>{};
      },
      [](const leave_key&) {},
      [=](const settle_key&) -> caf::result<key_settled> {
        held->push_back(self->make_response_promise());
        return caf::delegated<key_settled>{};
      },
      [](const count_keys&) { return std::uint64_t{0}; },
  };
}

struct running {
  request_actor actor;
  std::shared_ptr<std::vector<result_ptr>> results = std::make_shared<std::vector<result_ptr>>();

  bool answered() const { return !results->empty(); }
  const request_result& result() const { return *results->at(0); }
};

struct request_options {
  std::string key{}; ///< empty: none
  std::optional<duration> timeout{};
};

class request_fixture : public actor_fixture {
public:
  request_fixture() {
    environment->system = &system;
    environment->shared = shared;
    environment->telemetry = queue;
    environment->shards.push_back(own(spawn_idempotency_shard(system, store, shared, false)));
  }

  // A request under way must not outlive the fixture's providers.
  ~request_fixture() {
    for (const auto& actor : actors_)
      caf::anon_send_exit(actor, caf::exit_reason::kill);
    run();
  }

  void route(const std::string& name, const route_options& o = {}) {
    auto t = make_route(name, o);
    auto handle = own(std::make_shared<circuit_handle>(circuit_id{t.provider, {}, {}}, o.profile));
    spawn_breaker(system, handle, shared);
    run();
    t.circuit = handle->shared_cell();
    t.index = where->targets.size();
    where->targets.push_back(std::move(t));
    where->circuits.push_back(std::move(handle));
    auto made = std::make_shared<scripted_provider>();
    providers.push_back(made);
    where->providers.push_back(std::move(made));
  }

  request_spec spec(const request_options& o) const {
    request_spec s;
    s.where = where;
    s.flow.request_id = "r1";
    s.flow.operation = "/v1/chat/completions";
    s.flow.requested_route = where->targets.front().route;
    for (const auto& t : where->targets)
      s.flow.chain.push_back(&t);
    s.flow.timeout = o.timeout;
    s.flow.keyed = !o.key.empty();
    s.path = "/chat/completions";
    s.body_for = [](std::string_view model) { return std::make_shared<const std::string>("to " + std::string{model}); };
    if (!o.key.empty())
      s.key = request_key{o.key, {}, 1h};
    return s;
  }

  running submit(const request_options& o = {}) {
    running r;
    auto runner = std::make_unique<request_runner>(
        spec(o), environment, [results = r.results](result_ptr result) { results->push_back(std::move(result)); },
        now());
    r.actor = spawn_request(system, std::move(runner));
    actors_.push_back(r.actor);
    caf::anon_send(r.actor, begin_request{});
    run();
    return r;
  }

  void cancel(const running& r, bool force = false) {
    caf::anon_send(r.actor, cancel_request{force});
    run();
  }

  scripted_provider& provider(std::size_t i = 0) { return *providers.at(i); }
  circuit_handle& circuit(std::size_t i = 0) { return *where->circuits.at(i); }
  circuit_snapshot figures(std::size_t i = 0) {
    return ask<circuit_description>(circuit(i).breaker(), describe_circuit{}).figures;
  }

  void end(provider_result result, std::size_t i = 0) {
    provider(i).end(std::move(result));
    run();
  }

  void open_half() {
    for (int i = 0; i < 5; ++i) {
      outcome_report r;
      r.generation = circuit().cell().generation();
      r.what = outcome::failure;
      r.at = now();
      hand_in(circuit(), r);
    }
    run();
    pass(30s);
    events.clear();
  }

  std::uint32_t slots_used() const {
    std::uint32_t used = 0;
    for (const auto& t : where->targets)
      used += t.slots->used();
    return used;
  }

  // A request is done: told once, one record, nothing held.
  void check_done(const running& r) {
    CHECK(r.results->size() == 1);
    CHECK(events.records().size() == 1);
    CHECK(slots_used() == 0);
  }

  std::shared_ptr<topology> where = std::make_shared<topology>();
  std::vector<std::shared_ptr<scripted_provider>> providers;
  std::shared_ptr<memory_answer_store> store = std::make_shared<memory_answer_store>();
  std::shared_ptr<telemetry_queue> queue = std::make_shared<telemetry_queue>();
  std::shared_ptr<request_environment> environment = std::make_shared<request_environment>();

private:
  std::vector<request_actor> actors_;
};

} // namespace

TEST_CASE_METHOD(request_fixture,
                 "a request walks from a failure through its retry to the next route's answer [R1, B3, H4]") {
  route("a", {.max_attempts = 2, .base_delay = 100ms});
  route("b");
  const auto r = submit();
  CHECK(*provider().request(0).body == "to m-a");
  CHECK(provider().request(0).path == "/chat/completions");
  end(http_error(500, failure_class::server_error));
  pass(100ms);
  REQUIRE(provider().calls() == 2);
  end(lost_connection());
  REQUIRE(provider(1).calls() == 1);
  end(answer_of("hello"), 1);

  check_done(r);
  CHECK(r.result().ok());
  CHECK(r.result().content->body == "hello");
  CHECK(r.result().served.route == "b");
  CHECK(r.result().attempts == 3);
  CHECK(r.result().fallbacks == 1);
  CHECK(r.result().trail.size() == 2);
  const auto written = queue->pop();
  REQUIRE(written);
  CHECK(written->attempts.size() == 3);
}

TEST_CASE_METHOD(request_fixture, "a provider's error reaches the caller unchanged, with its Retry-After [B3]") {
  route("a", {.max_attempts = 1});
  const auto r = submit();
  auto limited = http_error(429, failure_class::rate_limit);
  limited.headers.add("Retry-After", "7");
  end(std::move(limited));
  check_done(r);
  CHECK(r.result().what == request_result::kind::provider_error);
  CHECK(r.result().content->status == 429);
  CHECK(r.result().content->headers.find("Retry-After") == "7");
  CHECK(r.result().retry_after == 7s);
}

TEST_CASE_METHOD(request_fixture, "a request with a key is stored before it is answered, and replayed [I4, I5]") {
  route("a");
  const auto r = submit({.key = "k"});
  provider().end(answer_of("hello"));
  run();
  check_done(r);
  REQUIRE(store->stored("k"));
  CHECK(store->stored("k")->body == "hello");
  events.clear();
  const auto again = submit({.key = "k"});
  check_done(again);
  CHECK(again.result().ok());
  CHECK(again.result().replayed);
  CHECK(again.result().content->body == "hello");
  CHECK(again.result().attempts == 0);
  CHECK(provider().calls() == 1);
}

TEST_CASE_METHOD(request_fixture, "simultaneous submits of a key are one call with equal answers [I4]") {
  route("a");
  std::vector<running> all;
  for (int i = 0; i < 20; ++i)
    all.push_back(submit({.key = "k"}));
  CHECK(provider().calls() == 1);
  end(answer_of("hello"));
  for (const auto& r : all) {
    REQUIRE(r.results->size() == 1);
    CHECK(r.result().content->body == "hello");
  }
  CHECK(events.records().size() == 20);
}

TEST_CASE_METHOD(request_fixture, "a leader that is killed answers, and the first joiner takes over [I7, C16]") {
  route("a");
  const auto leader = submit({.key = "k"});
  const auto joiner = submit({.key = "k"});
  kill(leader.actor);
  REQUIRE(leader.answered());
  CHECK(leader.result().code == errc::shutting_down);
  CHECK(provider().cancelled(0));
  REQUIRE(provider().calls() == 2);
  end(answer_of("hello"));
  CHECK(joiner.result().ok());
  CHECK(events.records().size() == 2);
  CHECK(slots_used() == 0);
}

TEST_CASE_METHOD(request_fixture, "a leader's failure reaches its joiners, the key is free again [I6]") {
  route("a", {.max_attempts = 1});
  const auto leader = submit({.key = "k"});
  const auto joiner = submit({.key = "k"});
  end(http_error(400, failure_class::client_error));
  CHECK(leader.result().content->status == 400);
  CHECK(joiner.result().content->status == 400);
  CHECK(joiner.result().attempts == 0);
  submit({.key = "k"});
  CHECK(provider().calls() == 2);
}

TEST_CASE_METHOD(request_fixture, "a store that fails is store_unavailable with a key and nothing without [I13]") {
  route("a");
  store->fail_find = true;
  const auto keyed = submit({.key = "k"});
  check_done(keyed);
  CHECK(keyed.result().code == errc::store_unavailable);
  submit();
  CHECK(provider().calls() == 1);
}

TEST_CASE_METHOD(request_fixture, "an unreachable shard is store_unavailable: missing, dead, or silent [I13]") {
  route("a");
  SECTION("missing") {
    environment->shards.clear();
  }
  SECTION("dead") {
    kill(environment->shards[0]);
  }
  SECTION("silent") {
    environment->shards = {own(system.spawn(deaf_shard))};
  }
  const auto r = submit({.key = "k"});
  pass(10s);
  check_done(r);
  CHECK(r.result().code == errc::store_unavailable);
  CHECK(provider().calls() == 0);
}

TEST_CASE_METHOD(request_fixture,
                 "a shard that dies before the answer is stored makes it store_unavailable [I5, I13]") {
  route("a");
  const auto r = submit({.key = "k"});
  kill(environment->shards[0]);
  end(answer_of("hello"));
  check_done(r);
  CHECK(r.result().code == errc::store_unavailable);
}

TEST_CASE_METHOD(request_fixture, "an unreachable breaker refuses: missing, dead, or silent [B5, C14]") {
  route("a");
  open_half();
  const auto breaker = circuit().breaker();
  SECTION("missing") {
    circuit().set_breaker(breaker_actor{});
  }
  SECTION("dead") {
    kill(breaker);
  }
  SECTION("silent") {
    circuit().set_breaker(own(system.spawn(deaf_breaker)));
  }
  const auto r = submit();
  pass(2s);
  check_done(r);
  CHECK(r.result().code == errc::circuit_open);
  CHECK(events.lines("refused").size() == 1);
  circuit().set_breaker(breaker);
}

TEST_CASE_METHOD(request_fixture,
                 "of several requests at a half-open circuit one probes, and its answer closes it [C7, C8]") {
  route("a");
  open_half();
  const auto probe = submit();
  const auto refused = submit();
  CHECK(provider().calls() == 1);
  CHECK(refused.result().code == errc::circuit_open);
  end(answer_of("hello"));
  CHECK(probe.result().ok());
  CHECK(circuit().cell().state() == circuit_state::closed);
}

TEST_CASE_METHOD(request_fixture, "a caller that leaves ends its attempt, and everything comes back [U4, C16]") {
  route("a");
  const auto r = submit();
  cancel(r);
  check_done(r);
  CHECK(r.result().code == errc::cancelled);
  CHECK(provider().cancelled(0));
  CHECK(figures().consecutive_failures == 0);
}

TEST_CASE_METHOD(request_fixture, "a caller that leaves in a backoff ends it, and the real error counts [R3]") {
  route("a");
  const auto r = submit();
  end(lost_connection());
  cancel(r);
  check_done(r);
  CHECK(figures().consecutive_failures == 1);
  pass(60s);
  CHECK(provider().calls() == 1);
}

TEST_CASE_METHOD(request_fixture, "a caller that leaves while its probe is asked for gives the probe back [C8, C16]") {
  route("a");
  open_half();
  running r;
  auto runner = std::make_unique<request_runner>(
      spec({}), environment, [results = r.results](result_ptr x) { results->push_back(std::move(x)); }, now());
  r.actor = spawn_request(system, std::move(runner));
  caf::anon_send(r.actor, begin_request{});
  caf::anon_send(r.actor, cancel_request{}); // handled before the breaker's answer
  run();
  check_done(r);
  CHECK(r.result().code == errc::cancelled);
  CHECK(provider().calls() == 0);
  CHECK(figures().probes_in_flight == 0);
}

TEST_CASE_METHOD(request_fixture, "a joiner that leaves affects nobody [I7]") {
  route("a");
  const auto leader = submit({.key = "k"});
  const auto joiner = submit({.key = "k"});
  cancel(joiner);
  CHECK(joiner.result().code == errc::cancelled);
  end(answer_of("hello"));
  CHECK(leader.result().ok());
  CHECK(joiner.results->size() == 1);
}

TEST_CASE_METHOD(request_fixture, "a leader whose client leaves runs on, so the retry finds the answer [I7]") {
  route("a");
  const auto leader = submit({.key = "k"});
  cancel(leader);
  CHECK_FALSE(leader.answered());
  end(answer_of("hello"));
  CHECK(leader.result().ok());
  CHECK(submit({.key = "k"}).result().replayed);
}

TEST_CASE_METHOD(request_fixture, "shutdown ends a request in every phase [U4, C16]") {
  route("a");
  request_options o;
  bool settles = false;
  SECTION("attempting") {}
  SECTION("backing off") {
    const auto r = submit();
    end(lost_connection());
    cancel(r, true);
    check_done(r);
    return;
  }
  SECTION("leading") {
    o.key = "k";
    settles = true;
  }
  const auto r = submit(o);
  cancel(r, true);
  check_done(r);
  CHECK(r.result().code == errc::shutting_down);
  CHECK(provider().cancelled(0));
  if (settles)
    CHECK(ask<std::uint64_t>(environment->shards[0], count_keys{}) == 0);
}

TEST_CASE_METHOD(request_fixture,
                 "a request that is killed still answers, writes its row and gives everything back [C16, H4]") {
  route("a");
  SECTION("attempting") {
    const auto r = submit();
    kill(r.actor);
    check_done(r);
    CHECK(provider().cancelled(0));
  }
  SECTION("backing off") {
    const auto r = submit();
    end(lost_connection());
    kill(r.actor);
    check_done(r);
    CHECK(figures().consecutive_failures == 1);
  }
  SECTION("probing") {
    open_half();
    const auto r = submit();
    kill(r.actor);
    check_done(r);
    CHECK(figures().probes_in_flight == 0);
  }
  SECTION("reserving") {
    environment->shards = {own(system.spawn(deaf_shard))};
    const auto r = submit({.key = "k"});
    kill(r.actor);
    check_done(r);
  }
  SECTION("joined") {
    submit({.key = "k"});
    const auto r = submit({.key = "k"});
    kill(r.actor);
    CHECK(r.results->size() == 1);
    CHECK(events.records().size() == 1);
  }
  SECTION("leading") {
    const auto r = submit({.key = "k"});
    kill(r.actor);
    check_done(r);
    CHECK(ask<std::uint64_t>(environment->shards[0], count_keys{}) == 0);
  }
  SECTION("settling") {
    const auto r = submit({.key = "k"});
    environment->shards[0] = own(system.spawn(deaf_shard));
    end(answer_of("hello"));
    REQUIRE_FALSE(r.answered());
    kill(r.actor);
    check_done(r);
  }
  SECTION("before it began") {
    running r;
    spawn_request(system, std::make_unique<request_runner>(
                              spec({}), environment,
                              [results = r.results](result_ptr x) { results->push_back(std::move(x)); }, now()));
    run();
    check_done(r); // nobody holds it, so it ends
  }
}

TEST_CASE_METHOD(request_fixture, "the deadline ends an attempt, and a late word of it changes nothing [B8, F3]") {
  route("a");
  const auto r = submit({.key = {}, .timeout = 5s});
  const auto listener = provider().listener_of(0);
  pass(5s);
  check_done(r);
  CHECK(r.result().code == errc::deadline_exceeded);
  CHECK(provider().cancelled(0));
  listener->on_attempt_done(answer_of("late"));
  run();
  check_done(r);
}

TEST_CASE_METHOD(request_fixture, "a late word of a cut attempt is no answer while the key is being settled [F3, I6]") {
  route("a");
  const auto r = submit({.key = "k", .timeout = 5s});
  environment->shards[0] = own(system.spawn(deaf_shard));
  const auto listener = provider().listener_of(0);
  pass(5s);
  REQUIRE_FALSE(r.answered());
  listener->on_attempt_done(answer_of("late"));
  run();
  pass(10s);
  check_done(r);
  CHECK(r.result().code == errc::deadline_exceeded);
  CHECK(r.result().content == nullptr);
}

TEST_CASE_METHOD(request_fixture, "a late word of an earlier attempt does not end the retry [F3]") {
  route("a", {.base_delay = 100ms});
  const auto r = submit();
  const auto listener = provider().listener_of(0);
  end(lost_connection());
  listener->on_attempt_done(answer_of("twice")); // in the backoff
  run();
  CHECK_FALSE(r.answered());
  pass(100ms);
  REQUIRE(provider().calls() == 2);
  listener->on_attempt_done(answer_of("twice"));
  run();
  CHECK_FALSE(r.answered());
  end(answer_of("hello"));
  CHECK(r.result().content->body == "hello");
  CHECK(r.result().attempts == 2);
}

TEST_CASE_METHOD(request_fixture, "whether bytes have come decides what a cut attempt was [F2]") {
  for (const bool responded : {true, false}) {
    where = std::make_shared<topology>();
    providers.clear();
    events.clear();
    route("a");
    const auto r = submit({.key = {}, .timeout = 12s});
    if (responded)
      provider().respond(0);
    pass(12s);
    check_done(r);
    CHECK(figures().consecutive_failures == (responded ? 0u : 1u));
  }
}

TEST_CASE_METHOD(request_fixture, "the actor can take over a request that waits, and it may end at once") {
  route("a");
  open_half();
  for (const bool reachable : {true, false}) {
    events.clear();
    running r;
    auto runner = std::make_unique<request_runner>(
        spec({}), environment, [results = r.results](result_ptr x) { results->push_back(std::move(x)); }, now());
    const auto wish = runner->feed(flow_input::begin{}, now(), [] { return std::shared_ptr<attempt_listener>{}; });
    REQUIRE(std::holds_alternative<runner_wish::breaker>(wish));
    const auto breaker = circuit().breaker();
    if (!reachable)
      circuit().set_breaker(breaker_actor{});
    r.actor = spawn_request(system, std::move(runner), wish);
    run();
    if (reachable)
      end(answer_of("hello"));
    check_done(r);
    CHECK(r.result().ok() == reachable);
    circuit().set_breaker(breaker);
    if (reachable)
      open_half();
  }
}

TEST_CASE_METHOD(request_fixture, "a call that hangs is reported at its slow limit by the actor's timer [C17]") {
  route_options o;
  o.profile.consecutive_failures = 100;
  window_settings w;
  w.minimum_calls = 1;
  w.slow_call_rate = 1.0;
  w.slow_call_after = 10s;
  o.profile.window = w;
  route("a", o);
  submit();
  pass(duration{10s} - 1ns);
  CHECK(circuit().cell().state() == circuit_state::closed);
  pass(1ns);
  CHECK(circuit().cell().state() == circuit_state::open);
}
