#pragma once

// What a request flow is told and what it wants done; request_flow.hpp says in which order.

#include "switchyard/engine/budget.hpp"
#include "switchyard/engine/circuit.hpp"
#include "switchyard/engine/error_code.hpp"
#include "switchyard/engine/route_target.hpp"
#include "switchyard/engine/telemetry.hpp"

#include <cstdint>
#include <optional>
#include <string>
#include <variant>

namespace switchyard {

/// One attempt or refusal, for the caller's eyes [B4].
struct trail_entry {
  std::string route, provider, model;
  failure_class what = failure_class::unknown;
  std::optional<int> status; ///< nothing without an HTTP answer
  duration latency{};
  std::string message; ///< no secret, no text of a provider
};

/// What the flow is told.
namespace flow_input {

struct begin {};

/// The idempotency shard's word on the key.
struct key_verdict {
  enum class kind : std::uint8_t {
    lead,        ///< run it
    joined,      ///< wait for the leader; another verdict follows
    answered,    ///< the answer is there (a replay, or the leader's success or failure); the owner has it
    conflict,    ///< [I3]
    in_flight,   ///< [I9, `concurrent` = reject]
    interrupted, ///< [I10]
    unavailable, ///< the store fails [I13]
  } what = kind::lead;
  bool success = false;                 ///< of an answered one
  std::optional<int> status;            ///< of an answered one
  std::optional<failure_class> failure; ///< of an answered failure: the leader's
  std::optional<errc> code;             ///< of an answered failure that is an error of our own
  bool rerun = false; ///< of a lead or an answered one: a crash left an earlier run's outcome unknown [I10]
};

/// The cache's word on the request [U3].
struct cache_verdict {
  enum class kind : std::uint8_t {
    lead,       ///< nothing that may be served: run it, and settle the cache
    joined,     ///< wait for the one that leads; another verdict follows
    answered,   ///< the answer is there: a stored one, or what the leader came to; the owner has it
    unavailable ///< run it as if there were no cache
  } what = kind::unavailable;
  bool stale = false;                   ///< of a lead: the owner has an expired answer, for the worst case
  std::optional<int> status;            ///< of an answered one
  std::optional<failure_class> failure; ///< of an answered failure: the leader's
  std::optional<errc> code;             ///< of an answered failure that is an error of our own
};

/// The budgets' word on the request [U1].
struct budget_verdict {
  enum class kind : std::uint8_t { admitted, refused, unavailable } what = kind::unavailable;
  std::optional<duration> retry_after; ///< of a refusal: to the end of the window
};

/// The breaker's answer to ask_breaker; nothing when it could not be reached.
struct breaker_verdict {
  std::optional<admission_verdict> verdict;
};

/// The first content of a stream has come: from here on no other provider is asked [S2], and the deadline no longer
/// holds [B8].
struct content_begun {
  std::optional<int> status; ///< of the provider's answer
};

/// The attempt under way has ended.
struct attempt_done {
  std::optional<failure_class> failure;
  std::optional<int> status; ///< of an HTTP answer
  std::optional<transport_error> error;
  std::optional<duration> retry_after;
  bool sent = false;
  token_usage tokens;
};

/// The answer was stored, or the failure made known: settle_key is done. `stored` is false when the store failed.
struct key_settled {
  bool stored = true;
};

/// How far the running attempt has come, for the inputs that may cut it.
struct attempt_progress {
  bool sent = true;       ///< bytes of the request were written [R6]; assumed when not known
  bool responded = false; ///< a byte of its answer has come [F2]
  token_usage tokens{};   ///< of a stream, so far [S4]
  bool ended = false;     ///< the provider's part of a stream is over, and only the caller has not taken it all;
  std::optional<failure_class> failure{}; ///< with what, then
};

/// `wake_at` has come.
struct timer {
  attempt_progress attempt{};
};

/// The caller went away. A leader runs on [I7], unless `force` (shutdown after its grace).
struct cancel {
  bool force = false;
  attempt_progress attempt{};
};

} // namespace flow_input

using flow_event =
    std::variant<flow_input::begin, flow_input::key_verdict, flow_input::cache_verdict, flow_input::budget_verdict,
                 flow_input::breaker_verdict, flow_input::content_begun, flow_input::attempt_done,
                 flow_input::key_settled, flow_input::timer, flow_input::cancel>;

/// What the flow wants done.
namespace flow_action {

struct reserve_key {}; ///< ask the shard; feed key_verdict
struct leave_key {};   ///< a joiner gives up; nothing is fed
/// The leader is done; feed key_settled. Should the flow end before [B8], what was sent to the shard stands.
struct settle_key {
  bool success = false;
};
struct look_up_cache {}; ///< ask the cache; feed cache_verdict
struct leave_cache {};   ///< one that joined gives up; nothing is fed
struct settle_cache {    ///< the leader is done; nothing is fed
  bool keep = false;     ///< the answer may be kept for later: it is usable, and not a fallback's
};
struct reserve_budget {}; ///< ask the budgets; feed budget_verdict
/// What was reserved is settled to what it was, or with nothing refunded; nothing is fed. Also for a reservation whose
/// verdict never came.
struct settle_budget {
  std::optional<budget_amount> actual;
};
/// Feed breaker_verdict. Should the flow end before [B8], whatever is still granted must be given back to the breaker,
/// which knows when its asker has gone [C16].
struct ask_breaker {
  const route_target* target;
};
struct wake_breaker { ///< tell the target's breaker that reports are waiting; nothing is fed
  const route_target* target;
};
struct send_report { ///< the queue was full: send this report to the breaker; nothing is fed
  const route_target* target;
  outcome_report report;
};
struct start_attempt { ///< feed attempt_done
  const route_target* target;
};
struct let_flow {};     ///< the stream may go to the caller, who is told first who serves it; nothing is fed
struct stop_attempt {}; ///< end the running attempt on the wire; nothing is fed

/// The last action: how the request ended.
struct finish {
  enum class kind : std::uint8_t {
    answer,         ///< the last attempt's answer
    provider_error, ///< the last attempt's answer, an HTTP error
    joined_answer,  ///< what came with the last key_verdict or cache_verdict
    static_answer,  ///< the fixed answer of the last target
    stale_answer,   ///< the expired answer that came with the cache's verdict: every route has failed
    own_error,      ///< `code`
  } what = kind::own_error;
  errc code = errc::internal;
  std::optional<duration> retry_after;
};

} // namespace flow_action

using flow_step = std::variant<flow_action::reserve_key, flow_action::leave_key, flow_action::settle_key,
                               flow_action::look_up_cache, flow_action::leave_cache, flow_action::settle_cache,
                               flow_action::reserve_budget, flow_action::settle_budget, flow_action::ask_breaker,
                               flow_action::wake_breaker, flow_action::send_report, flow_action::start_attempt,
                               flow_action::let_flow, flow_action::stop_attempt, flow_action::finish>;

} // namespace switchyard
