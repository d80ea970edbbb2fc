#pragma once

// A shard of the idempotency ledger over a store in memory, and those who submit keys to it.

#include "support/actor_fixture.hpp"
#include "support/memory_stores.hpp"

#include "switchyard/actors/idempotency.hpp"

#include <caf/event_based_actor.hpp>
#include <caf/typed_event_based_actor.hpp>

#include <cstdint>
#include <memory>
#include <string>
#include <vector>

namespace switchyard::test {

/// What a submit is told to do with its lead.
inline constexpr int settle_success = 1, settle_failure = 2, settle_deadline = 3, end_by_itself = 4, settle_stream = 5;

// What a submit has been told.
struct heard {
  std::vector<key_answer> answers;
  std::vector<bool> settled;

  flow_input::key_verdict::kind last() const { return answers.back().verdict.what; }
};

// One submit of a key: a request actor that does what the test says.
struct submit {
  request_actor actor;
  std::shared_ptr<heard> told;
};

struct submit_script {
  idempotency_actor shard;
  std::shared_ptr<const reserve_request> request;
  std::string body;

  settle_key settlement(std::uint64_t how, owner_token token) const {
    settle_key s{request->scope, token, nullptr, nullptr};
    if (how != settle_success) {
      auto failed = std::make_shared<request_result>();
      if (how == settle_stream) {
        failed->what = request_result::kind::answer;
        failed->streamed = true;
        s.result = std::move(failed);
        return s;
      }
      failed->code = how == settle_deadline ? errc::deadline_exceeded : errc::upstream_timeout;
      failed->failure = how == settle_deadline ? failure_class::deadline : failure_class::timeout;
      failed->attempts = 3;
      failed->fallbacks = 1;
      s.result = std::move(failed);
      return s;
    }
    auto answer = std::make_shared<stored_answer>();
    answer->fingerprint = request->fingerprint;
    answer->content_type = "application/json";
    answer->body = body;
    answer->stored_at = wall_start;
    answer->ttl = 1h;
    s.answer = std::move(answer);
    return s;
  }
};

inline request_actor::behavior_type submit_behavior(request_actor::pointer self, submit_script script,
                                                    std::shared_ptr<heard> told) {
  const auto on_answer = [told](const key_answer& a) { told->answers.push_back(a); };
  return {
      [=](const begin_request&) {
        self->request(script.shard, caf::infinite, reserve_key{script.request}).then(on_answer);
      },
      [](const stream_begun&) {},
      [](const attempt_ended&) {},
      on_answer,
      [](const cache_answer&) {},
      [=](const request_tick& t) { // settle, with the token heard last
        if (t.number == end_by_itself)
          return self->quit();
        self->request(script.shard, caf::infinite, script.settlement(t.number, told->answers.back().token))
            .then([told](const key_settled& s) { told->settled.push_back(s.stored); });
      },
      [=](const cancel_request&) {
        self->send(script.shard, leave_key{script.request->scope, script.request->waiter});
      },
  };
}

struct submit_options {
  std::string scope = "k";
  std::uint8_t payload = 1;
  bool stream = false;
  idempotency_settings::concurrent_mode concurrent = idempotency_settings::concurrent_mode::join;
  idempotency_settings::interrupted_mode on_interrupted = idempotency_settings::interrupted_mode::rerun;
};

class shard_fixture : public actor_fixture {
public:
  shard_fixture() { shard = own(spawn_idempotency_shard(system, store, shared, false)); }

  submit make(const submit_options& o = {}) {
    auto request = std::make_shared<reserve_request>();
    request->scope = o.scope;
    request->fingerprint[0] = o.payload;
    request->waiter = ++waiters_;
    request->stream = o.stream;
    request->concurrent = o.concurrent;
    request->on_interrupted = o.on_interrupted;
    request->ttl = 1h;
    submit s;
    s.told = std::make_shared<heard>();
    s.actor =
        own(system.spawn(submit_behavior, submit_script{shard, request, "body " + std::to_string(waiters_)}, s.told));
    return s;
  }

  submit reserve(const submit_options& o = {}) {
    const auto s = make(o);
    caf::anon_send(s.actor, begin_request{});
    run();
    return s;
  }

  void settle(const submit& s, int how) {
    caf::anon_send(s.actor, request_tick{static_cast<std::uint64_t>(how)});
    run();
  }

  void leave(const submit& s) {
    caf::anon_send(s.actor, cancel_request{});
    run();
  }

  /// A shard in place of the one that was killed, which knows of nothing but the store.
  void crash() { shard = own(spawn_idempotency_shard(system, store, shared, false)); }

  std::uint64_t in_flight() { return ask<std::uint64_t>(shard, count_keys{}); }

  std::shared_ptr<memory_answer_store> store = std::make_shared<memory_answer_store>();
  idempotency_actor shard;

private:
  waiter_id waiters_ = 0;
};

inline std::string body_of(const submit& s) {
  return s.told->answers.back().result->content->body;
}

} // namespace switchyard::test
