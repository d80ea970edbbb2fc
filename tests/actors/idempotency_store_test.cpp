// The shard and its store: what is written together, and what happens when it cannot be.

#include "shard_fixture.hpp"

using namespace switchyard;
using namespace switchyard::test;
using texts = std::vector<std::string>;
using kind = flow_input::key_verdict::kind;

TEST_CASE_METHOD(shard_fixture, "while the store cannot be read, keys are unavailable and nothing is reserved [I13]") {
  store->fail_find = true;
  CHECK(reserve().told->last() == kind::unavailable);
  CHECK(in_flight() == 0);
  CHECK(log.size() == 1);
  store->fail_find = false;
  CHECK(reserve().told->last() == kind::lead);
}

TEST_CASE_METHOD(
    shard_fixture,
    "an answer that cannot be stored is unavailable for leader and joiners, and holds no key in flight [I13]") {
  const auto leader = reserve(), joiner = reserve();
  store->fail_put = true;
  settle(leader, settle_success);
  CHECK(leader.told->settled == std::vector<bool>{false});
  CHECK(joiner.told->last() == kind::unavailable);
  CHECK(joiner.told->answers.back().result == nullptr);
  CHECK(in_flight() == 0);
  CHECK(log.size() == 1);
  store->fail_put = false;
  CHECK(reserve().told->last() == kind::lead);
}

TEST_CASE_METHOD(shard_fixture,
                 "after an answer could not be stored nobody leads before the store can be written again [I13]") {
  submit_options other;
  other.scope = "k2";
  const auto leader = reserve();
  store->fail_put = true;
  settle(leader, settle_success);
  CHECK(reserve(other).told->last() == kind::unavailable);
  CHECK(in_flight() == 0);
  store->fail_put = false;
  CHECK(reserve(other).told->last() == kind::lead);
}

TEST_CASE_METHOD(shard_fixture, "an answer stored earlier is still replayed while no new one can be stored [I13]") {
  settle(reserve(), settle_success);
  store->fail_put = true;
  CHECK(reserve().told->last() == kind::answered);
}

TEST_CASE_METHOD(shard_fixture, "changes that come together are written together [I11]") {
  std::vector<submit> all;
  for (int i = 0; i < 100; ++i) {
    submit_options o;
    o.scope = "k" + std::to_string(i);
    all.push_back(make(o));
    caf::anon_send(all.back().actor, begin_request{});
  }
  run();
  CHECK(store->writes == 1);
  for (const auto& s : all) {
    CHECK(s.told->last() == kind::lead);
    caf::anon_send(s.actor, request_tick{settle_success});
  }
  run();
  CHECK(store->writes == 2);
  for (const auto& s : all)
    CHECK(s.told->settled == std::vector<bool>{true});
  CHECK(in_flight() == 0);
}

TEST_CASE_METHOD(shard_fixture, "who joins while the reservation is not written yet is refused with its leader [I13]") {
  store->fail_put = true;
  const auto leader = make(), joiner = make();
  caf::anon_send(leader.actor, begin_request{});
  caf::anon_send(joiner.actor, begin_request{});
  run();
  CHECK(leader.told->last() == kind::unavailable);
  CHECK(joiner.told->last() == kind::unavailable);
  CHECK(in_flight() == 0);
}

TEST_CASE_METHOD(shard_fixture, "a failure that could not be written is not taken for an interruption [I6, I13]") {
  const auto leader = reserve();
  store->fail_put = true;
  settle(leader, settle_failure);
  CHECK(leader.told->settled == std::vector<bool>{true}); // a failure is one, written or not
  CHECK(reserve().told->last() == kind::unavailable);     // nobody leads before it can be written
  store->fail_put = false;
  const auto next = reserve();
  CHECK(next.told->last() == kind::lead);
  CHECK_FALSE(next.told->answers[0].verdict.rerun);
}

TEST_CASE_METHOD(shard_fixture,
                 "an answer that could not be stored leaves its key interrupted: it was paid for [I10, I13]") {
  const auto leader = reserve();
  store->fail_put = true;
  settle(leader, settle_success);
  store->fail_put = false;
  const auto next = reserve();
  CHECK(next.told->last() == kind::lead);
  CHECK(next.told->answers[0].verdict.rerun);
}

TEST_CASE_METHOD(shard_fixture, "a shard that is told to end writes and answers what it has begun [I5]") {
  const auto leader = reserve();
  auto answer = std::make_shared<stored_answer>();
  answer->fingerprint[0] = 1;
  answer->ttl = 1h;
  auto settled = self->request(shard, caf::infinite, settle_key{"k", leader.told->answers[0].token, answer, nullptr});
  caf::anon_send_exit(shard, caf::exit_reason::user_shutdown); // comes before the commit that the shard sends itself
  run();
  CHECK(receive<key_settled>(settled).stored);
  CHECK_FALSE(store->stored("k")->reserved);
}

TEST_CASE_METHOD(shard_fixture, "who waits for a shard that dies before it commits is answered at once [I13]") {
  const auto leader = reserve();
  auto request = std::make_shared<reserve_request>();
  request->scope = "other";
  request->waiter = 1000;
  request->ttl = 1h;
  auto reserved = self->request(shard, caf::infinite, reserve_key{request});
  auto settled = self->request(shard, caf::infinite,
                               settle_key{"k", leader.told->answers[0].token, std::make_shared<stored_answer>(), {}});
  caf::anon_send_exit(shard, caf::exit_reason::kill); // comes before the commit that the shard sends itself
  run();
  CHECK(receive<key_answer>(reserved).verdict.what == kind::unavailable);
  CHECK_FALSE(receive<key_settled>(settled).stored);
}

namespace {

class throwing_answers final : public answer_store {
public:
  store_result<std::shared_ptr<const stored_answer>> find(const std::string& scope) override {
    if (scope == "unreadable")
      throw 5;
    return std::shared_ptr<const stored_answer>{};
  }
  store_result<void> write(std::span<const key_change>) override { throw 5; }
};

} // namespace

TEST_CASE_METHOD(shard_fixture, "a shard outlives a store that throws what is no exception [I13]") {
  shard = own(spawn_idempotency_shard(system, std::make_shared<throwing_answers>(), shared, false));
  submit_options unreadable;
  unreadable.scope = "unreadable";
  CHECK(reserve(unreadable).told->last() == kind::unavailable);
  CHECK(reserve().told->last() == kind::unavailable);
  CHECK(in_flight() == 0);
}
