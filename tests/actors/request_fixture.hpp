#pragma once

#include "support/actor_fixture.hpp"
#include "support/memory_stores.hpp"
#include "support/scripted_provider.hpp"
#include "support/test_route.hpp"

#include "switchyard/actors/breaker.hpp"
#include "switchyard/actors/idempotency.hpp"
#include "switchyard/actors/request.hpp"

#include <caf/typed_event_based_actor.hpp>

namespace switchyard::test {

using result_ptr = std::shared_ptr<const request_result>;

// A breaker that never answers.
inline breaker_actor::behavior_type deaf_breaker(breaker_actor::pointer self) {
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
      [](const configure_circuit&) { return done{}; },
      [](const canary_result&) {},
      [](const breaker_tick&) {},
  };
}

// A shard that never answers.
inline idempotency_actor::behavior_type deaf_shard(idempotency_actor::pointer self) {
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
      [](const commit_keys&) {},
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
  std::shared_ptr<stream_receiver> receiver{}; ///< of a stream
};

class request_fixture : public actor_fixture {
public:
  request_fixture() {
    environment->system = &system;
    environment->shared = shared;
    environment->telemetry = queue;
    shard_is(own(spawn_idempotency_shard(system, store, shared, false)));
  }

  // A request under way must not outlive the fixture's providers.
  ~request_fixture() {
    for (const auto& actor : actors_)
      caf::anon_send_exit(actor, caf::exit_reason::kill);
    run();
  }

  /// The only shard from now on.
  void shard_is(idempotency_actor shard) {
    environment->shards = {std::make_shared<actor_slot<idempotency_actor>>(std::move(shard))};
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
    s.flow.stream = s.stream = o.receiver != nullptr;
    s.receiver = o.receiver;
    s.path = "/chat/completions";
    s.body_for = [](std::string_view model) { return std::make_shared<const std::string>("to " + std::string{model}); };
    if (!o.key.empty())
      s.key = request_key{o.key, {}, 1h};
    return s;
  }

  running submit(const request_options& o = {}) { return start(spec(o)); }

  running start(request_spec what) {
    auto r = prepare(std::move(what));
    run();
    return r;
  }

  /// Begins with the next `run`.
  running prepare(request_spec what) {
    running r;
    auto runner = std::make_unique<request_runner>(
        std::move(what), environment,
        [results = r.results](result_ptr result) { results->push_back(std::move(result)); }, now());
    r.actor = spawn_request(system, std::move(runner));
    actors_.push_back(r.actor);
    caf::anon_send(r.actor, begin_request{});
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

} // namespace switchyard::test
