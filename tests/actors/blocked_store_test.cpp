// What waits for an actor whose disk hangs is bounded: CAF's mailboxes are not.

#include "request_fixture.hpp"

#include <algorithm>

using namespace switchyard;
using namespace switchyard::test;

namespace {

// What stands in the mailbox of an actor that does not get to it.
struct mailbox {
  std::vector<caf::message> waiting;
  std::size_t settlements = 0;
};
using mailbox_ptr = std::shared_ptr<mailbox>;

idempotency_actor::behavior_type blocked_shard(idempotency_actor::pointer self, mailbox_ptr box) {
  const auto promises = std::make_shared<std::vector<caf::response_promise>>();
  return {
      [=](const reserve_key& r) -> caf::result<key_answer> {
        box->waiting.push_back(caf::make_message(r));
        promises->push_back(self->make_response_promise());
        return caf::delegated<key_answer>{};
      },
      [](const leave_key&) {},
      [](const settle_key&) { return key_settled{}; },
      [](const commit_keys&) {},
      [](const count_keys&) { return std::uint64_t{0}; },
  };
}

budget_actor::behavior_type blocked_budgets(budget_actor::pointer self, mailbox_ptr box) {
  const auto promises = std::make_shared<std::vector<caf::response_promise>>();
  return {
      [=](const reserve_budget& r) -> caf::result<budget_answer> {
        box->waiting.push_back(caf::make_message(r));
        promises->push_back(self->make_response_promise());
        return caf::delegated<budget_answer>{};
      },
      [box](const settle_budget&) { ++box->settlements; },
      [](const describe_budgets&) { return std::vector<budget_figures>{}; },
      [](const configure_budgets&) {},
      [](const commit_budgets&) {},
  };
}

class blocked_fixture : public request_fixture {
public:
  std::vector<running> submit_many(int count, const request_spec& what) {
    std::vector<running> all;
    for (int i = 0; i < count; ++i)
      all.push_back(start(what));
    return all;
  }

  mailbox_ptr box = std::make_shared<mailbox>();
};

std::size_t answered(const std::vector<running>& all, errc code) {
  return static_cast<std::size_t>(
      std::ranges::count_if(all, [&](const auto& r) { return r.answered() && r.result().code == code; }));
}

} // namespace

TEST_CASE_METHOD(blocked_fixture, "keys that gave up waiting for a hanging disk filled its shard's mailbox [I13]") {
  route("a");
  shard_is(own(system.spawn(blocked_shard, box)));
  environment->key_credit = mailbox_credit{2};
  const auto what = spec({.key = "k"});
  const auto first = submit_many(3, what);
  CHECK(answered(first, errc::store_unavailable) == 1); // at once
  pass(10s);
  CHECK(answered(first, errc::store_unavailable) == 3);
  CHECK(answered(submit_many(100, what), errc::store_unavailable) == 100);
  CHECK(box->waiting.size() == 2);
  box->waiting.clear(); // the disk works again
  const auto next = submit_many(2, what);
  CHECK(answered(next, errc::store_unavailable) == 0);
  CHECK(box->waiting.size() == 2);
}

TEST_CASE_METHOD(blocked_fixture, "requests that gave up waiting for budgets filled their mailbox [U1, I13]") {
  route("a");
  const auto budgets = own(system.spawn(blocked_budgets, box));
  environment->budgets = std::make_shared<actor_slot<budget_actor>>(budgets);
  environment->budget_credit = mailbox_credit{2};
  auto what = spec({});
  what.flow.budgeted = true;
  what.budget = budget_amount{1, 1, 0};
  const auto first = submit_many(3, what);
  CHECK(answered(first, errc::overloaded) == 1);
  pass(10s);
  CHECK(answered(first, errc::overloaded) == 3);
  CHECK(box->settlements == 2); // of those that may have been made
  CHECK(answered(submit_many(100, what), errc::overloaded) == 100);
  CHECK(box->waiting.size() == 2);
  CHECK(box->settlements == 2);
  CHECK(slots_used() == 0);
}
