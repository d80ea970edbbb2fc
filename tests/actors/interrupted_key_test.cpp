// What becomes of a key whose run a crash cut off.

#include "shard_fixture.hpp"

using namespace switchyard;
using namespace switchyard::test;
using texts = std::vector<std::string>;
using kind = flow_input::key_verdict::kind;

namespace {

/// A shard whose predecessor left key `k` reserved.
class interrupted_fixture : public shard_fixture {
public:
  interrupted_fixture() {
    shard_fixture::reserve();
    crash();
  }

  /// Whether the next submit of the key runs as after a crash.
  bool reruns() {
    const auto next = shard_fixture::reserve();
    CHECK(next.told->last() == kind::lead);
    return next.told->answers.back().verdict.rerun;
  }
};

} // namespace

TEST_CASE_METHOD(interrupted_fixture, "a rerun that runs out of time is not taken for the end of its key [I10]") {
  settle(reserve(), settle_deadline);
  CHECK(in_flight() == 0);
  CHECK(store->stored("k"));
  CHECK(reruns());
}

TEST_CASE_METHOD(interrupted_fixture, "a rerun leads only when the store can take its reservation [I10, I13]") {
  store->fail_put = true;
  const auto refused = reserve(), joiner = reserve();
  CHECK(refused.told->last() == kind::unavailable);
  CHECK(joiner.told->last() == kind::unavailable);
  CHECK(in_flight() == 0);
  store->fail_put = false;
  CHECK(reruns());
}

TEST_CASE_METHOD(interrupted_fixture, "a rerun that a crash cuts off is remembered from its own beginning on [I10]") {
  pass(50min);
  reserve();
  crash();
  pass(50min); // the first run's hour is over
  CHECK(reruns());
}

TEST_CASE_METHOD(interrupted_fixture, "a rerun that fails puts back what it found, with its age [I10]") {
  const bool in_time = GENERATE(true, false);
  pass(50min);
  const auto again = reserve();
  CHECK(store->stored("k")->stored_at == wall_start + 50min);
  settle(again, in_time ? settle_failure : settle_deadline);
  const auto record = store->stored("k");
  REQUIRE(record);
  CHECK(record->reserved);
  CHECK(record->stored_at == wall_start);
  pass(10min);
  CHECK_FALSE(reruns()); // its hour is over
}

TEST_CASE_METHOD(interrupted_fixture, "a rerun that ends without a call puts back what it found [I7, I10]") {
  pass(50min);
  settle(reserve(), end_by_itself);
  CHECK(store->stored("k")->stored_at == wall_start);
  CHECK(reruns());
}

TEST_CASE_METHOD(interrupted_fixture, "the heir of a rerun that fails puts back what that found [I7, I10]") {
  pass(50min);
  const auto again = reserve(), heir = reserve();
  settle(again, settle_deadline);
  CHECK(heir.told->last() == kind::lead);
  CHECK(heir.told->answers.back().verdict.rerun);
  settle(heir, settle_failure);
  CHECK(store->stored("k")->stored_at == wall_start);
  CHECK(events.lines("idempotency") ==
        texts{"idempotency lead", "idempotency rerun", "idempotency join", "idempotency rerun"});
}

TEST_CASE_METHOD(interrupted_fixture, "a rerun whose failure cannot be written stays interrupted [I10, I13]") {
  const auto again = reserve();
  store->fail_put = true;
  settle(again, settle_failure);
  CHECK(again.told->settled == std::vector<bool>{true});
  store->fail_put = false;
  CHECK(reruns());
}

TEST_CASE_METHOD(interrupted_fixture, "who joined a rerun is told that it was one, as later replays are [I4, I10]") {
  const int end = GENERATE(settle_success, settle_failure);
  const auto again = reserve(), joiner = reserve();
  settle(again, end);
  CHECK(joiner.told->last() == kind::answered);
  CHECK(joiner.told->answers.back().verdict.rerun);
}

TEST_CASE_METHOD(shard_fixture, "a stream that was run again to its end leaves its key free [I9, I10]") {
  submit_options stream;
  stream.stream = true;
  reserve(stream);
  crash();
  const auto failed = reserve(stream);
  CHECK(failed.told->answers.back().verdict.rerun);
  settle(failed, settle_failure);
  const auto again = reserve(stream);
  CHECK(again.told->answers.back().verdict.rerun);
  settle(again, settle_stream);
  CHECK(again.told->settled == std::vector<bool>{true});
  CHECK_FALSE(store->stored("k"));
  CHECK_FALSE(reserve(stream).told->answers.back().verdict.rerun);
}

TEST_CASE_METHOD(shard_fixture, "a reservation whose write failed and yet is there was no run [I10, I13]") {
  submit_options failing;
  failing.on_interrupted = idempotency_settings::interrupted_mode::fail;
  store->fail_put_late = true;
  CHECK(reserve(failing).told->last() == kind::unavailable);
  REQUIRE(store->stored("k"));
  store->fail_put_late = false;
  const auto next = reserve(failing);
  CHECK(next.told->last() == kind::lead);
  CHECK_FALSE(next.told->answers.back().verdict.rerun);
}

TEST_CASE_METHOD(shard_fixture, "an heir does not depend on what of another key cannot be written [I7, I13]") {
  const auto impatient = reserve(), heir = reserve();
  submit_options other;
  other.scope = "k2";
  const auto refused = make(other);
  store->fail_put = true;
  caf::anon_send(refused.actor, begin_request{});
  caf::anon_send(impatient.actor, request_tick{settle_deadline});
  run();
  CHECK(refused.told->last() == kind::unavailable);
  CHECK(heir.told->last() == kind::lead);
}

TEST_CASE_METHOD(shard_fixture,
                 "with `fail`, who joined a leader that was cut off is refused, and makes no second call [I7, I10]") {
  submit_options failing;
  failing.on_interrupted = idempotency_settings::interrupted_mode::fail;
  const auto leader = reserve(failing), first = reserve(failing), second = reserve(failing);
  kill(leader.actor);
  CHECK(first.told->last() == kind::interrupted);
  CHECK(second.told->last() == kind::interrupted);
  CHECK(in_flight() == 0);
  CHECK(reserve(failing).told->last() == kind::interrupted);
  pass(1h);
  CHECK(reserve(failing).told->last() == kind::lead);
}

TEST_CASE_METHOD(shard_fixture, "with `fail`, the heir of an impatient leader leads: it failed, and is over [I6, I7]") {
  submit_options failing;
  failing.on_interrupted = idempotency_settings::interrupted_mode::fail;
  const auto impatient = reserve(failing), heir = reserve(failing);
  settle(impatient, settle_deadline);
  CHECK(heir.told->last() == kind::lead);
  CHECK_FALSE(heir.told->answers.back().verdict.rerun);
}

TEST_CASE_METHOD(shard_fixture, "a leader that is killed before its lead is told has made no call [I7, I10]") {
  submit_options failing;
  failing.on_interrupted = idempotency_settings::interrupted_mode::fail;
  const bool joined = GENERATE(true, false);
  const auto leader = make(failing), joiner = make(failing);
  caf::anon_send(leader.actor, begin_request{});
  if (joined)
    caf::anon_send(joiner.actor, begin_request{});
  caf::anon_send_exit(leader.actor, caf::exit_reason::kill); // the shard hears of it before it gets to the commit
  run();
  const auto next = joined ? joiner : reserve(failing);
  CHECK(next.told->last() == kind::lead);
  CHECK_FALSE(next.told->answers.back().verdict.rerun);
}
