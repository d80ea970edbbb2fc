#pragma once

// One request from its submit to its answer, as a state machine without threads, clock or IO: `step(input, now)` gives
// the actions that its owner must execute, in order. The owner is a request actor, or the caller's executor as long
// as nobody has to be asked (actors/request_runner.hpp).
//
//                 joined             sharing
//                  ^ |                ^ |
//                  | v lead           | v lead
//   begin -key?-> reserving -cache?-> looking_up -budget?-> budgeting --> per route: bulkhead,
//                    |                  |                       |         circuit --ask--> asking
//         replay, conflict, ...        hit                   refused         |               |
//                    |                  |                       |            +-> attempting <-+
//                    |                  |                       |                 |     ^
//                    |                  |                       |                 v     |
//                    |                  |                       |               backing_off
//                    |                  |                       |                 |
//                    |                  +-----------------------+----> settling (with a key)
//                    v                                                            |
//                  done <---------------------------------------------------------+
//
// What is not asked for, a key, the cache, budgets, is passed over. What was begun, a lead or a reservation, is settled
// on every way out.
//
// The pipeline is idempotency > cache > budget > fallback { bulkhead > circuit > retries { attempt } }. One time limit
// runs at a time: `wake_at` says when the owner must feed `timer`.

#include "switchyard/engine/events.hpp"
#include "switchyard/engine/flow_steps.hpp"

#include <cstdint>
#include <optional>
#include <random>
#include <span>
#include <string>
#include <variant>
#include <vector>

namespace switchyard {

/// What the flow is given.
struct flow_request {
  std::string request_id;
  std::string operation; ///< path, for telemetry
  std::string tenant;
  std::string requested_route;
  std::vector<const route_target*> chain; ///< primary first, never empty; kept alive by the owner
  std::optional<duration> deadline;       ///< of the requested route; that of the first without it
  std::optional<duration> timeout;        ///< the caller's own deadline [B8]
  bool keyed = false;
  bool stream = false;
  bool cacheable = false;                   ///< the cache is asked [U3]; never for a stream
  bool budgeted = false;                    ///< the budgets are asked [U1]
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
    looking_up,
    sharing,
    budgeting,
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
  void on(const flow_input::cache_verdict& v);
  void on(const flow_input::budget_verdict& v);
  void on(const flow_input::breaker_verdict& v);
  void on(const flow_input::content_begun& c);
  void on(const flow_input::attempt_done& r);
  void on(const flow_input::key_settled& s);
  void on(const flow_input::timer& t);
  void on(const flow_input::cancel& c);

  void look_up();
  void take_budget();
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
  bool serves_stale(const flow_action::finish& f, std::optional<failure_class> why) const;
  std::optional<budget_amount> spent() const;
  /// Nobody waits for the answer: the caller left and it is not a leader's [I7, U3] (a stream's is not kept for anybody
  /// [I9]), or shutdown.
  bool abandoned() const noexcept {
    return forced_ || (caller_left_ && (request_.stream || !(leads_ || fills_cache_)));
  }
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
  bool fills_cache_ = false; ///< leads those who wait for the same answer of the cache
  bool holds_budget_ = false;
  std::optional<flow_input::key_verdict> replay_;
  std::optional<flow_input::cache_verdict> cached_; ///< of an answer, or of a lead that has a stale one
  bool all_refused_or_limited_ = true;              ///< of what was tried so far
  std::optional<time_point> earliest_try_;          ///< the smallest known wait, as the time when it ends
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
