#pragma once

// Those who wait for a leader, and what they get of its result: the same, but no call of their own [I4, I6, U3].

#include "switchyard/actors/interfaces.hpp"
#include "switchyard/actors/request_result.hpp"
#include "switchyard/engine/single_flight.hpp"

#include <memory>
#include <unordered_map>
#include <vector>

namespace switchyard {

/// `reduced` is the answer with its type and body alone, if that has been made: it is shared, not copied.
inline request_result shared_with_others(request_result leader,
                                         std::shared_ptr<const answer_payload> reduced = nullptr) {
  leader.attempts = 0;
  leader.fallbacks = 0;
  if (!leader.ok() || !leader.content)
    return leader;
  if (!reduced) {
    auto content = std::make_shared<answer_payload>();
    content->status = leader.content->status;
    content->headers.add("Content-Type", leader.content->headers.find("Content-Type").value_or("application/json"));
    content->body = leader.content->body;
    reduced = std::move(content);
  }
  leader.content = std::move(reduced);
  leader.served = {};
  return leader;
}

/// The verdict that goes with a leader's result.
template <class Verdict>
void describe_result(Verdict& verdict, const request_result& result) {
  verdict.status = result.content ? result.content->status : http_status(result.code, result.all_refused);
  verdict.failure = result.failure;
  if (result.what == request_result::kind::own_error)
    verdict.code = result.code;
}

/// Whom an owner of single flights will tell.
class joiners {
public:
  void add(waiter_id waiter, request_actor who) { all_[waiter] = std::move(who); }
  void remove(waiter_id waiter) { all_.erase(waiter); }

  /// Takes one out; null when it has left.
  request_actor take(waiter_id waiter) {
    const auto node = all_.extract(waiter);
    return node.empty() ? request_actor{} : node.mapped();
  }

  /// Sends each of them the answer, in their name, and forgets them.
  template <class Self, class Answer>
  void tell(Self* self, const std::vector<waiter_id>& waiting, Answer answer) {
    for (const auto waiter : waiting) {
      const auto who = take(waiter);
      if (!who)
        continue;
      answer.waiter = waiter;
      self->send(who, answer);
    }
  }

private:
  std::unordered_map<waiter_id, request_actor> all_;
};

} // namespace switchyard
