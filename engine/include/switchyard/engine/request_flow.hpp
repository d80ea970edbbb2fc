#pragma once

// One request from its submit to its answer, as a state machine without threads, clock or IO: `step(input, now)` gives
// the actions that its owner must execute, in order. The owner is a request actor, or the caller's executor as long
// as nobody has to be asked (actors/request_runner.hpp).
//
//   begin --> reserving --lead--> +-----------------------------------------------+
//     |           |               | per route:                                    |
//     |           +--joined--> joined    bulkhead, circuit --ask--> asking        |
//     |           |               |                   |               |           |
//     +-(no key)--|-------------> |                   +--> attempting <+           |
//                 |               |                        |      ^              |
//                 |               |                        v      |              |
//                 |               |                      backing_off             |
//                 |               +-----------------------------------------------+
//                 |                                 |
//                 +--replay, conflict, ...          v
//                 |                             settling (with a key)
//                 v                                 v
//               done <------------------------------+
//
// The pipeline is idempotency > fallback { bulkhead > circuit > retries { attempt } }. One time limit runs at a time:
// `wake_at` says when the owner must feed `timer`.

#include "switchyard/engine/circuit.hpp"
#include "switchyard/engine/error_code.hpp"
#include "switchyard/engine/events.hpp"
#include "switchyard/engine/route_target.hpp"
#include "switchyard/engine/telemetry.hpp"

#include <cstdint>
#include <optional>
#include <random>
#include <span>
#include <string>
#include <variant>
#include <vector>

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
  bool rerun = false;                   ///< of a lead: a crash left an earlier run's outcome unknown [I10]
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
    std::variant<flow_input::begin, flow_input::key_verdict, flow_input::breaker_verdict, flow_input::content_begun,
                 flow_input::attempt_done, flow_input::key_settled, flow_input::timer, flow_input::cancel>;

/// What the flow wants done.
namespace flow_action {

struct reserve_key {}; ///< ask the shard; feed key_verdict
struct leave_key {};   ///< a joiner gives up; nothing is fed
/// The leader is done; feed key_settled. Should the flow end before [B8], what was sent to the shard stands.
struct settle_key {
  bool success = false;
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
    joined_answer,  ///< what came with the last key_verdict
    own_error,      ///< `code`
  } what = kind::own_error;
  errc code = errc::internal;
  std::optional<duration> retry_after;
};

} // namespace flow_action

using flow_step =
    std::variant<flow_action::reserve_key, flow_action::leave_key, flow_action::settle_key, flow_action::ask_breaker,
                 flow_action::wake_breaker, flow_action::send_report, flow_action::start_attempt, flow_action::let_flow,
                 flow_action::stop_attempt, flow_action::finish>;

/// What the flow is given.
struct flow_request {
  std::string request_id;
  std::string operation; ///< path, for telemetry
  std::string tenant;
  std::string requested_route;
  std::vector<const route_target*> chain; ///< primary first, never empty; kept alive by the owner
  std::optional<duration> timeout;        ///< the caller's own deadline [B8]
  bool keyed = false;
  bool stream = false;
  std::uint64_t estimated_tokens = 0;       ///< input and output, for context windows [B7]
  std::uint64_t estimated_input_tokens = 0; ///< for slow limits [C1]
  std::uint64_t seed = 0;                   ///< of the backoff's jitter [R2]
};

class request_flow {
public:
  /// `events` may be null; it is called within `step`.
  request_flow(flow_request request, time_point now, wall_time wall, event_sink* events);
  ~request_flow(); ///< gives back a slot; a permit not yet reported must have been reported by `cancel`
  request_flow(const request_flow&) = delete;
  request_flow& operator=(const request_flow&) = delete;

  /// Feeds one input. The actions stay valid until the next call. An input that does not fit the state is ignored.
  std::span<const flow_step> step(const flow_event& input, time_point now);

  /// When `timer` must be fed, if no other input comes before.
  std::optional<time_point> wake_at() const noexcept;

  bool done() const noexcept { return state_ == state::done; }
  const flow_request& request() const noexcept { return request_; }
  const std::vector<trail_entry>& trail() const noexcept { return trail_; }
  /// The route of the last attempt, or null.
  const route_target* last_target() const noexcept { return last_target_; }
  std::uint32_t attempts() const noexcept { return attempts_; }
  std::uint32_t fallbacks() const noexcept { return fallbacks_; }
  time_point started_at() const noexcept { return started_; }
  time_point last_step_at() const noexcept { return now_; }
  wall_time wall_at(time_point t) const noexcept { return wall_started_ + (t - started_); }

  /// Whether a stream has begun to flow to the caller.
  bool flowed() const noexcept { return first_content_.has_value(); }

  /// How the request ends, once that is known: from settle_key on.
  const flow_action::finish& result() const noexcept { return result_; }
  /// The class of that end; nothing for a success.
  std::optional<failure_class> result_class() const noexcept { return result_class_; }

  /// Whether no route was called, or each one called was rate limited: decides about the status of fallback_exhausted.
  bool all_refused_or_limited() const noexcept { return all_refused_or_limited_; }

  /// The record for the log, once done; leaves the flow without its rows.
  telemetry_record take_record();

private:
  enum class state : std::uint8_t {
    idle,
    reserving,
    joined,
    asking,
    attempting,
    streaming,
    backing_off,
    settling,
    done
  };

  struct permit {
    bool held = false;
    std::uint32_t generation = 0;
    std::uint32_t probe = 0;
    std::uint32_t amends = 0; ///< ticket + 1 of the `hanging` report, if one was sent [C17]
  };

  // Steps of the walk. Each leaves the flow in a state that waits, or done.
  void on(const flow_input::begin&);
  void on(const flow_input::key_verdict& v);
  void on(const flow_input::breaker_verdict& v);
  void on(const flow_input::content_begun& c);
  void on(const flow_input::attempt_done& r);
  void on(const flow_input::key_settled& s);
  void on(const flow_input::timer& t);
  void on(const flow_input::cancel& c);

  void run();
  void enter_route();
  bool try_enter(const route_target& t);
  void admitted(std::uint32_t generation, std::uint32_t probe);
  void refused(const route_target& t, failure_class why, std::optional<duration> wait, std::string message);
  void circuit_refused(const route_target& t, std::optional<duration> wait);
  void start_attempt();
  void call_failed();
  std::optional<duration> retry_delay();
  void end_call(std::optional<failure_class> f);
  void report(outcome what);
  void hand_in(outcome_report r);
  void record_attempt(const flow_input::attempt_done& r, std::optional<failure_class> f);
  void report_hanging();
  void report_flowing();
  void on_deadline(const flow_input::attempt_progress& attempt);
  void stop_attempt(failure_class f, const flow_input::attempt_progress& attempt);
  void stream_done(const flow_input::attempt_done& r);
  void end_stream_early(const flow_input::attempt_progress& attempt);
  void note_wait(std::optional<duration> wait);
  std::optional<duration> from_now(std::optional<time_point> t) const;
  bool left_behind(failure_class why);
  void end_walk();
  void surface();
  void finish_with(flow_action::finish f, std::optional<failure_class> why);
  void fail_with(errc code, failure_class why, std::optional<duration> retry_after = {});
  void emit_finish();
  /// Nobody waits for the answer: the caller left and it is not a leader's [I7] (a stream's is not kept for anybody
  /// [I9]), or shutdown.
  bool abandoned() const noexcept { return forced_ || (caller_left_ && (!leads_ || request_.stream)); }
  const route_target& target() const { return *request_.chain[position_]; }
  template <class E>
  void emit(const E& e) {
    if (events_)
      events_->on_event(event{e});
  }

  flow_request request_;
  time_point started_;
  wall_time wall_started_;
  event_sink* events_;
  time_point deadline_;
  time_point now_{};
  state state_ = state::idle;
  std::minstd_rand random_;

  std::size_t position_ = 0; ///< in the chain
  const route_target* last_target_ = nullptr;
  permit permit_;
  bulkhead::slot slot_;
  time_point call_started_{};
  time_point attempt_started_{};
  std::optional<time_point> slow_at_;
  std::optional<time_point> retry_at_;
  std::optional<time_point> first_content_; ///< of the stream that flows, or has flowed
  std::optional<int> stream_status_;        ///< its status
  std::uint32_t call_attempts_ = 0;         ///< of this route
  std::uint32_t attempts_ = 0;              ///< of the request
  std::uint32_t fallbacks_ = 0;
  std::size_t skipped_for_context_ = 0;
  bool caller_left_ = false;
  bool forced_ = false;
  bool leads_ = false;
  bool rerun_ = false;
  std::optional<flow_input::key_verdict> replay_;
  bool all_refused_or_limited_ = true;     ///< of what was tried so far
  std::optional<time_point> earliest_try_; ///< the smallest known wait, as the time when it ends
  failure_class last_failure_ = failure_class::unknown;
  std::optional<int> last_status_;           ///< of the last attempt's HTTP answer
  std::optional<time_point> last_try_after_; ///< of the last attempt or refusal: when another try makes sense

  flow_action::finish result_;
  std::optional<failure_class> result_class_;
  time_point finished_{};
  std::vector<trail_entry> trail_;
  std::vector<attempt_row> rows_;
  std::vector<flow_step> actions_;
};

} // namespace switchyard
