#pragma once

// What those who waited for a leader get of its result: the same, but no call of their own [I4, I6, U3].

#include "switchyard/actors/request_result.hpp"

#include <optional>

namespace switchyard {

inline request_result shared_with_others(request_result leader) {
  leader.attempts = 0;
  leader.fallbacks = 0;
  if (leader.ok() && leader.content) {
    auto content = std::make_shared<answer_payload>();
    content->status = leader.content->status;
    content->headers.add("Content-Type", leader.content->headers.find("Content-Type").value_or("application/json"));
    content->body = leader.content->body;
    leader.content = std::move(content);
    leader.served = {};
  }
  return leader;
}

inline std::optional<int> status_of(const request_result& r) {
  return r.content ? r.content->status : http_status(r.code, r.all_refused);
}

} // namespace switchyard
