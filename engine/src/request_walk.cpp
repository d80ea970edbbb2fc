// The walk over the routes: admission, attempts, retries, fallback.

#include "switchyard/engine/backoff.hpp"
#include "switchyard/engine/request_flow.hpp"

#include <algorithm>
#include <utility>

namespace switchyard {

namespace {

errc code_of(failure_class f) {
  switch (f) {
  case failure_class::connection:
    return errc::upstream_connection;
  case failure_class::timeout:
    return errc::upstream_timeout;
  case failure_class::empty_response:
  case failure_class::soft_failure:
    return errc::upstream_invalid;
  case failure_class::configuration:
    return errc::misconfigured;
  case failure_class::circuit_open:
    return errc::circuit_open;
  case failure_class::overloaded:
    return errc::overloaded;
  case failure_class::budget:
    return errc::budget_exceeded;
  case failure_class::cancelled:
    return errc::cancelled;
  case failure_class::deadline:
    return errc::deadline_exceeded;
  default:
    return errc::upstream_error;
  }
}

errc code_of_break(const flow_input::attempt_done& r) {
  if (r.failure == failure_class::cancelled) // by whom it went to
    return errc::cancelled;
  if (r.error == transport_error::idle_timeout)
    return errc::upstream_stalled;
  const bool bad_frame = r.failure == failure_class::soft_failure || r.error == transport_error::malformed_http;
  return bad_frame ? errc::upstream_invalid : errc::upstream_cut;
}

} // namespace

void request_flow::look_up() {
  if (!request_.cacheable || abandoned())
    return take_budget();
  state_ = state::looking_up;
  actions_.push_back(flow_action::look_up_cache{});
}

void request_flow::take_budget() {
  if (!request_.budgeted || abandoned() || now_ >= deadline_)
    return enter_route(); // which looks at the latter two
  state_ = state::budgeting;
  actions_.push_back(flow_action::reserve_budget{});
}

void request_flow::enter_route() {
  do {
    if (abandoned())
      return fail_with(forced_ ? errc::shutting_down : errc::cancelled, failure_class::cancelled);
    if (now_ >= deadline_)
      return fail_with(errc::deadline_exceeded, failure_class::deadline);
    if (try_enter(target()))
      return;
  } while (left_behind(last_failure_));
}

// Whether the flow now waits for an attempt or for the breaker, or is at its end; false when the route refused.
bool request_flow::try_enter(const route_target& t) {
  if (t.context_tokens && request_.estimated_tokens > *t.context_tokens) {
    ++skipped_for_context_;
    refused(t, failure_class::context_length, std::nullopt,
            "context window of " + std::to_string(*t.context_tokens) + " tokens is too small");
    return false;
  }
  if (t.is_static) {
    last_target_ = &t;
    last_status_ = 200;
    finish_with({.what = flow_action::finish::kind::static_answer, .code = {}, .retry_after = {}}, std::nullopt);
    return true;
  }
  slot_ = t.slots->try_acquire();
  if (!slot_) {
    refused(t, failure_class::overloaded, std::nullopt, "provider " + t.provider + " has no free slot");
    return false;
  }
  if (!t.circuit) {
    admitted(0, 0);
    return true;
  }
  const auto answer = t.circuit->try_admit(now_);
  switch (answer.what) {
  case fast_admission::kind::admitted:
    admitted(answer.generation, 0);
    return true;
  case fast_admission::kind::ask:
    state_ = state::asking;
    actions_.push_back(flow_action::ask_breaker{&t});
    return true;
  case fast_admission::kind::refused:
    break;
  }
  slot_.release();
  circuit_refused(t, answer.wait);
  return false;
}

void request_flow::circuit_refused(const route_target& t, std::optional<duration> wait) {
  t.circuit->count_refusal();
  const auto& id = t.circuit->parts();
  emit(circuit_refused_event{t.circuit->id(), id.provider, id.model, id.region, request_.request_id, wait,
                             wall_at(now_)});
  refused(t, failure_class::circuit_open, wait, "circuit " + t.circuit->id() + " refuses");
}

void request_flow::refused(const route_target& t, failure_class why, std::optional<duration> wait,
                           std::string message) {
  last_failure_ = why;
  last_status_.reset();
  last_try_after_ = wait ? std::optional{plus(now_, *wait)} : std::nullopt;
  note_wait(wait);
  trail_.push_back({t.route, t.provider, t.model, why, std::nullopt, duration{}, std::move(message)});
}

void request_flow::admitted(std::uint32_t generation, std::uint32_t probe) {
  const auto& t = target();
  permit_ = {.held = t.circuit != nullptr, .generation = generation, .probe = probe, .amends = 0};
  call_started_ = now_;
  call_attempts_ = 0;
  slow_at_.reset();
  if (t.circuit && t.slow && probe == 0)
    slow_at_ = now_ + t.slow->for_tokens(request_.estimated_input_tokens);
  t.retries->earn(t.retry.budget);
  start_attempt();
}

void request_flow::start_attempt() {
  ++attempts_;
  ++call_attempts_;
  attempt_started_ = now_;
  last_target_ = &target();
  state_ = state::attempting;
  actions_.push_back(flow_action::start_attempt{last_target_});
}

// Whether the failure of the last attempt is retried in place, and after how long [R2, R3, R4].
std::optional<duration> request_flow::retry_delay() {
  const auto& t = target();
  if (call_attempts_ >= t.retry.max_attempts)
    return std::nullopt;
  const bool limited = last_failure_ == failure_class::rate_limit;
  const bool last_route = position_ + 1 == request_.chain.size();
  if (limited ? !last_route : !traits(last_failure_).retried_in_place)
    return std::nullopt;
  const auto asked_for = from_now(last_try_after_);
  if (asked_for && *asked_for > t.retry.max_delay)
    return std::nullopt;
  const double uniform =
      static_cast<double>(random_() - random_.min()) / (static_cast<double>(random_.max() - random_.min()) + 1.0);
  auto delay = backoff_delay(t.retry, call_attempts_ - 1, uniform);
  if (asked_for)
    delay = std::max(delay, *asked_for);
  if (now_ + delay >= deadline_)
    return std::nullopt;
  if (t.circuit && !t.circuit->still_admits(permit_.generation))
    return std::nullopt;
  if (!t.retries->try_take())
    return std::nullopt;
  return delay;
}

// The call of this route has failed for good: counts it, then goes on to the next route or ends the walk.
void request_flow::call_failed() {
  end_call(last_failure_);
  if (!target().falls_over.contains(last_failure_))
    return surface();
  if (left_behind(last_failure_))
    enter_route();
}

// Moves on to the next route; false when there is none and the walk has ended.
bool request_flow::left_behind(failure_class why) {
  if (position_ + 1 >= request_.chain.size()) {
    end_walk();
    return false;
  }
  const auto& from = target().route;
  ++position_;
  ++fallbacks_;
  emit(fallback_event{request_.request_id, from, target().route, why, wall_at(now_)});
  return true;
}

void request_flow::end_walk() {
  if (skipped_for_context_ == request_.chain.size())
    return fail_with(errc::context_length_exceeded, failure_class::context_length);
  if (request_.chain.size() == 1)
    return surface();
  fail_with(errc::fallback_exhausted, last_failure_, from_now(earliest_try_));
}

// The last failure is the request's result, as it is [B3].
void request_flow::surface() {
  if (last_status_ && *last_status_ >= 400)
    return finish_with({.what = flow_action::finish::kind::provider_error,
                        .code = errc::upstream_error,
                        .retry_after = from_now(last_try_after_)},
                       last_failure_);
  fail_with(code_of(last_failure_), last_failure_, from_now(last_try_after_));
}

void request_flow::on_deadline(const flow_input::attempt_progress& attempt) {
  switch (state_) {
  case state::reserving:
  case state::looking_up:
    return fail_with(errc::deadline_exceeded, failure_class::deadline);
  case state::sharing:
    actions_.push_back(flow_action::leave_cache{});
    return fail_with(errc::deadline_exceeded, failure_class::deadline);
  case state::budgeting: // what was reserved all the same goes back
    actions_.push_back(flow_action::settle_budget{});
    return fail_with(errc::deadline_exceeded, failure_class::deadline);
  case state::asking:
    slot_.release();
    return fail_with(errc::deadline_exceeded, failure_class::deadline);
  case state::joined:
    actions_.push_back(flow_action::leave_key{});
    return fail_with(errc::deadline_exceeded, failure_class::deadline);
  case state::attempting: {
    // A provider that has said nothing for so long is hanging, whatever the caller's patience [F2].
    const bool hanging = !attempt.responded && now_ - attempt_started_ >= target().unresponsive_after;
    stop_attempt(hanging ? failure_class::timeout : failure_class::deadline, attempt);
    return fail_with(errc::deadline_exceeded, failure_class::deadline);
  }
  case state::backing_off:
    target().retries->give_back(); // the retry is not made
    end_call(last_failure_);
    return surface();
  case state::settling:
    if (!result_class_ && !flowed()) {
      result_ = {.what = flow_action::finish::kind::own_error, .code = errc::deadline_exceeded, .retry_after = {}};
      result_class_ = failure_class::deadline;
    }
    return emit_finish();
  default:
    return;
  }
}

void request_flow::stop_attempt(failure_class f, const flow_input::attempt_progress& attempt) {
  actions_.push_back(flow_action::stop_attempt{});
  flow_input::attempt_done cut;
  cut.failure = f;
  cut.sent = attempt.sent;
  cut.tokens = attempt.tokens;
  if (state_ == state::streaming)
    cut.status = stream_status_;
  record_attempt(cut, f);
  last_failure_ = f;
  last_status_.reset();
  last_try_after_.reset();
  all_refused_or_limited_ = false;
  end_call(f);
}

// A stream that has begun ends the request, however it ends [S2].
void request_flow::stream_done(const flow_input::attempt_done& r) {
  auto ended = r;
  ended.status = stream_status_;
  record_attempt(ended, r.failure);
  end_call(r.failure);
  if (!r.failure) {
    last_status_ = stream_status_;
    return finish_with({.what = flow_action::finish::kind::answer, .code = {}, .retry_after = {}}, std::nullopt);
  }
  last_failure_ = *r.failure;
  all_refused_or_limited_ = false;
  fail_with(code_of_break(r), *r.failure);
}

// The caller leaves when the provider has done its part: that counts as what it was [S2, C4].
void request_flow::end_stream_early(const flow_input::attempt_progress& attempt) {
  actions_.push_back(flow_action::stop_attempt{});
  flow_input::attempt_done ended;
  ended.failure = attempt.failure;
  ended.status = stream_status_;
  ended.sent = true;
  ended.tokens = attempt.tokens;
  record_attempt(ended, ended.failure);
  end_call(ended.failure);
}

void request_flow::note_wait(std::optional<duration> wait) {
  if (wait && (!earliest_try_ || plus(now_, *wait) < *earliest_try_))
    earliest_try_ = plus(now_, *wait);
}

// A wait that was told some time ago has become shorter.
std::optional<duration> request_flow::from_now(std::optional<time_point> t) const {
  return t ? std::optional{std::max(*t - now_, duration::zero())} : std::nullopt;
}

} // namespace switchyard
