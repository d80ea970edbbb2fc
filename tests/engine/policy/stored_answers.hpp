#pragma once

// What the tests of the ledger of keys find in its store.

#include "switchyard/engine/idempotency_ledger.hpp"

#include <cstdint>
#include <memory>
#include <utility>
#include <vector>

namespace switchyard::test {

using kind = reserve_result::kind;
using concurrent_mode = idempotency_settings::concurrent_mode;
using interrupted_mode = idempotency_settings::interrupted_mode;
using waiters = std::vector<waiter_id>;

constexpr wall_time now{std::chrono::seconds{1'750'000'000}};

inline payload_fingerprint payload(std::uint8_t n) {
  payload_fingerprint f{};
  f.back() = n;
  return f;
}

inline std::shared_ptr<const stored_answer> record(std::uint8_t body, bool reserved, wall_time at = now,
                                                   duration ttl = 1h) {
  stored_answer a;
  a.fingerprint = payload(body);
  a.reserved = reserved;
  if (!reserved)
    a.body = "answer";
  a.stored_at = at;
  a.ttl = ttl;
  return std::make_shared<const stored_answer>(std::move(a));
}

} // namespace switchyard::test
