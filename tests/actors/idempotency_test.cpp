#include "shard_fixture.hpp"

using namespace switchyard;
using namespace switchyard::test;
using texts = std::vector<std::string>;
using kind = flow_input::key_verdict::kind;

TEST_CASE_METHOD(shard_fixture, "of a hundred simultaneous submits one leads and all get its answer [I4]") {
  std::vector<submit> all;
  for (int i = 0; i < 100; ++i) {
    all.push_back(make());
    caf::anon_send(all.back().actor, begin_request{});
  }
  run();
  std::vector<submit> leaders;
  for (const auto& s : all)
    if (s.told->last() == kind::lead)
      leaders.push_back(s);
  REQUIRE(leaders.size() == 1);
  CHECK(store->finds == 1);
  settle(leaders[0], settle_success);
  const auto body = store->stored("k")->body;
  for (const auto& s : all) {
    if (s.actor == leaders[0].actor)
      continue;
    REQUIRE(s.told->answers.size() == 2);
    CHECK(s.told->answers[0].verdict.what == kind::joined);
    CHECK(s.told->last() == kind::answered);
    CHECK(s.told->answers[1].verdict.success);
    CHECK(s.told->answers[1].verdict.status == 200);
    CHECK(body_of(s) == body);
    CHECK(s.told->answers[1].result->replayed);
    CHECK(s.told->answers[1].result->attempts == 0);
  }
  CHECK(in_flight() == 0);
}

TEST_CASE_METHOD(shard_fixture, "a success is stored before it is settled, and later submits replay it [I5]") {
  const auto leader = reserve();
  settle(leader, settle_success);
  CHECK(leader.told->settled == std::vector<bool>{true});
  const auto later = reserve();
  CHECK(later.told->last() == kind::answered);
  CHECK(body_of(later) == "body 1");
  CHECK(later.told->answers[0].result->content->headers.find("content-type") == "application/json");
  pass(1h);
  CHECK(reserve().told->last() == kind::lead); // expired
  CHECK(events.lines("idempotency") == texts{"idempotency lead", "idempotency replay", "idempotency lead"});
}

TEST_CASE_METHOD(shard_fixture, "the same key with another payload conflicts, in flight and stored [I3]") {
  submit_options other;
  other.payload = 2;
  const auto leader = reserve();
  CHECK(reserve(other).told->last() == kind::conflict);
  settle(leader, settle_success);
  CHECK(reserve(other).told->last() == kind::conflict);
}

TEST_CASE_METHOD(shard_fixture, "another scope is another key [I2]") {
  submit_options other;
  other.scope = "k2";
  CHECK(reserve().told->last() == kind::lead);
  CHECK(reserve(other).told->last() == kind::lead);
  CHECK(in_flight() == 2);
}

TEST_CASE_METHOD(shard_fixture, "with reject, and with streams, a second submit is in_flight [I9]") {
  submit_options rejecting, stream;
  rejecting.concurrent = idempotency_settings::concurrent_mode::reject;
  stream.stream = true;
  reserve();
  CHECK(reserve(rejecting).told->last() == kind::in_flight);
  CHECK(reserve(stream).told->last() == kind::in_flight);
  submit_options streaming_key;
  streaming_key.scope = "s";
  streaming_key.stream = true;
  reserve(streaming_key);
  streaming_key.stream = false;
  CHECK(reserve(streaming_key).told->last() == kind::in_flight);
}

TEST_CASE_METHOD(shard_fixture, "a failure is shared with the joiners, never stored, and the next submit runs [I6]") {
  const auto leader = reserve(), joiner = reserve();
  settle(leader, settle_failure);
  CHECK(leader.told->settled == std::vector<bool>{true});
  const auto& told = joiner.told->answers.back();
  CHECK(told.verdict.what == kind::answered);
  CHECK_FALSE(told.verdict.success);
  CHECK(told.verdict.status == 504);
  CHECK(told.result->code == errc::upstream_timeout);
  CHECK(told.result->attempts == 0);
  CHECK(told.result->fallbacks == 0);
  CHECK_FALSE(store->stored("k"));
  const auto next = reserve();
  CHECK(next.told->last() == kind::lead);
  CHECK_FALSE(next.told->answers[0].verdict.rerun);
}

TEST_CASE_METHOD(shard_fixture, "a leader that dies hands the lead to the first joiner, with a new token [I7]") {
  const auto leader = reserve(), first = reserve(), second = reserve();
  const auto old_token = leader.told->answers[0].token;
  kill(leader.actor);
  CHECK(first.told->last() == kind::lead);
  CHECK(first.told->answers.back().token != old_token);
  CHECK(second.told->last() == kind::joined);
  settle(first, settle_success);
  CHECK(body_of(second) == "body 2");
}

TEST_CASE_METHOD(shard_fixture, "one that has lost the lead neither stores nor releases [I7]") {
  const auto leader = reserve(), heir = reserve(), joiner = reserve();
  kill(leader.actor);
  settle_key late{"k", leader.told->answers[0].token, std::make_shared<stored_answer>(), nullptr};
  CHECK_FALSE(ask<key_settled>(shard, late).stored);
  CHECK(store->stored("k")->reserved);
  CHECK(in_flight() == 1);
  CHECK(joiner.told->last() == kind::joined);
  settle(heir, settle_success);
  CHECK(joiner.told->last() == kind::answered);
}

TEST_CASE_METHOD(shard_fixture, "a joiner that is dead when its turn comes passes the lead on [I7]") {
  const auto leader = reserve(), dead = reserve(), next = reserve();
  kill(dead.actor);
  kill(leader.actor);
  CHECK(next.told->last() == kind::lead);
  settle(next, settle_success);
  CHECK(in_flight() == 0);
}

TEST_CASE_METHOD(shard_fixture, "when leader and all joiners are killed the key is interrupted [I7, I10]") {
  const auto leader = reserve(), joiner = reserve();
  kill(joiner.actor);
  kill(leader.actor);
  CHECK(in_flight() == 0);
  const auto next = reserve();
  CHECK(next.told->last() == kind::lead);
  CHECK(next.told->answers[0].verdict.rerun);
}

TEST_CASE_METHOD(shard_fixture, "a joiner that leaves affects nobody and hears nothing more [I7]") {
  const auto leader = reserve(), leaver = reserve(), stayer = reserve();
  leave(leaver);
  kill(leader.actor);
  CHECK(leaver.told->answers.size() == 1);
  CHECK(stayer.told->last() == kind::lead);
  settle(stayer, settle_success);
  CHECK(leaver.told->answers.size() == 1);
}

TEST_CASE_METHOD(shard_fixture, "a leader that dies after it has settled takes nothing with it [I7]") {
  const auto leader = reserve();
  settle(leader, settle_success);
  submit_options other;
  other.scope = "k2";
  const auto second = reserve(other);
  kill(leader.actor);
  CHECK(in_flight() == 1);
  CHECK(reserve().told->last() == kind::answered);
}

TEST_CASE_METHOD(shard_fixture, "a reservation is written before its lead is told, and goes with a failure [I10]") {
  store->fail_put = true;
  const auto refused = reserve();
  CHECK(refused.told->last() == kind::unavailable);
  CHECK(in_flight() == 0);
  store->fail_put = false;
  const auto leader = reserve();
  CHECK(leader.told->last() == kind::lead);
  const auto record = store->stored("k");
  REQUIRE(record);
  CHECK(record->reserved);
  CHECK(record->fingerprint[0] == 1);
  CHECK(record->stored_at == wall_start);
  CHECK(record->ttl == 1h);
  settle(leader, settle_failure);
  CHECK_FALSE(store->stored("k"));
}

TEST_CASE_METHOD(shard_fixture, "what a crash leaves in flight runs again, marked, and so does its replay [I10]") {
  reserve();
  shard = own(spawn_idempotency_shard(system, store, shared, false)); // which knows of nothing
  const auto again = reserve(), joiner = reserve();
  CHECK(again.told->last() == kind::lead);
  CHECK(again.told->answers[0].verdict.rerun);
  CHECK(joiner.told->last() == kind::joined);
  settle(again, settle_failure);
  const auto third = reserve();
  CHECK(third.told->answers[0].verdict.rerun); // a failure tells nothing of the first run
  auto answer = std::make_shared<stored_answer>();
  answer->fingerprint[0] = 1;
  answer->outcome_unknown = true; // as a rerun's runner says
  answer->stored_at = wall_start;
  answer->ttl = 1h;
  CHECK(ask<key_settled>(shard, settle_key{"k", third.told->answers[0].token, answer, nullptr}).stored);
  const auto replay = reserve();
  CHECK(replay.told->last() == kind::answered);
  CHECK(replay.told->answers[0].verdict.rerun);
}

TEST_CASE_METHOD(shard_fixture, "with `fail`, what a crash leaves in flight is refused until its TTL [I10, I3]") {
  submit_options failing, other;
  failing.on_interrupted = other.on_interrupted = idempotency_settings::interrupted_mode::fail;
  other.payload = 2;
  reserve(failing);
  shard = own(spawn_idempotency_shard(system, store, shared, false));
  CHECK(reserve(other).told->last() == kind::conflict);
  CHECK(reserve(failing).told->last() == kind::interrupted);
  CHECK(in_flight() == 0);
  pass(1h);
  CHECK(reserve(failing).told->last() == kind::lead);
}

TEST_CASE_METHOD(shard_fixture,
                 "a leader that dies alone leaves its key interrupted, one that ends by itself free [I7, I10]") {
  const auto killed = reserve();
  kill(killed.actor);
  CHECK(in_flight() == 0);
  const auto again = reserve();
  CHECK(again.told->answers[0].verdict.rerun);
  settle(again, settle_success);

  submit_options other;
  other.scope = "k2";
  const auto late = reserve(other); // its lead came too late for it, and it ends without a call
  settle(late, end_by_itself);
  CHECK_FALSE(store->stored("k2"));
  CHECK_FALSE(reserve(other).told->answers[0].verdict.rerun);
}

TEST_CASE_METHOD(shard_fixture,
                 "the heir of a killed leader knows that the key may have been charged, that of an impatient one "
                 "does not [I7, I10]") {
  const auto impatient = reserve(), heir = reserve(), last = reserve();
  settle(impatient, settle_deadline);
  CHECK(heir.told->last() == kind::lead);
  CHECK_FALSE(heir.told->answers.back().verdict.rerun);
  kill(heir.actor);
  CHECK(last.told->last() == kind::lead);
  CHECK(last.told->answers.back().verdict.rerun);
}

TEST_CASE_METHOD(shard_fixture, "an impatient leader without joiners leaves its key free at once [I6]") {
  const auto impatient = reserve();
  const auto next = make();
  caf::anon_send(impatient.actor, request_tick{settle_deadline});
  caf::anon_send(next.actor, begin_request{}); // before what is written of it is gone
  run();
  CHECK(next.told->last() == kind::lead);
  CHECK_FALSE(next.told->answers[0].verdict.rerun);
  CHECK(store->stored("k")->reserved); // the new one's
}

TEST_CASE_METHOD(shard_fixture, "a leader that ends before its reservation is written leaves its key free [I7]") {
  const auto late = make();
  caf::anon_send(late.actor, begin_request{});
  caf::anon_send(late.actor, request_tick{end_by_itself}); // the shard hears of its end before it gets to the commit
  run();
  CHECK(in_flight() == 0);
  CHECK_FALSE(store->stored("k"));
  const auto next = reserve();
  CHECK(next.told->last() == kind::lead);
  CHECK_FALSE(next.told->answers[0].verdict.rerun);
}

TEST_CASE_METHOD(shard_fixture, "shards start their tokens apart, so that a replaced one's leads are lost [I7]") {
  auto other = own(spawn_idempotency_shard(system, store, shared, false));
  const auto here = reserve();
  std::swap(shard, other);
  const auto there = reserve();
  CHECK(here.told->answers[0].token != there.told->answers[0].token);
  settle_key late{"k", here.told->answers[0].token, std::make_shared<stored_answer>(), nullptr};
  CHECK_FALSE(ask<key_settled>(shard, late).stored);
}

TEST_CASE_METHOD(shard_fixture, "a scope has one shard, and without shards there is none") {
  const auto other = own(spawn_idempotency_shard(system, store, shared, false));
  const idempotency_shards shards{std::make_shared<actor_slot<idempotency_actor>>(shard),
                                  std::make_shared<actor_slot<idempotency_actor>>(other)};
  bool both[2] = {false, false};
  for (int i = 0; i < 100; ++i) {
    const auto scope = std::to_string(i);
    const auto owner = shard_of(shards, scope);
    CHECK(owner == shard_of(shards, scope));
    both[owner == other] = true;
  }
  CHECK(both[0]);
  CHECK(both[1]);
  CHECK_FALSE(shard_of({}, "k"));
}
