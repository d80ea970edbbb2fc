#include "switchyard/engine/request_flow.hpp"

#include "switchyard/engine/backoff.hpp"

#include <algorithm>
#include <cassert>
#include <utility>

namespace switchyard {

namespace {

std::string describe(const flow_input::attempt_done& r, std::optional<failure_class> f) {
  if (r.error)
    return std::string{to_string(*r.error)};
  if (!r.status)
    return f ? std::string{to_string(*f)} : std::string{};
  std::string text = "HTTP " + std::to_string(*r.status);
  if (f == failure_class::empty_response)
    text += " without usable content";
  else if (f == failure_class::soft_failure)
    text += " with an error in it, or not what was promised";
  return text;
}

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

} // namespace

request_flow::request_flow(flow_request request, time_point now, wall_time wall, event_sink* events)
    : request_(std::move(request)),
      started_(now),
      wall_started_(wall),
      events_(events),
      random_(static_cast<std::minstd_rand::result_type>(request_.seed)) {
  assert(!request_.chain.empty());
  auto limit = request_.chain.front()->deadline;
  if (request_.timeout)
    limit = std::min(limit, *request_.timeout);
  deadline_ = now + limit;
}

request_flow::~request_flow() = default;

std::span<const flow_step> request_flow::step(const flow_event& input, time_point now) {
  actions_.clear();
  now_ = now;
  if (state_ != state::done)
    std::visit([this](const auto& i) { on(i); }, input);
  return actions_;
}

std::optional<time_point> request_flow::wake_at() const noexcept {
  switch (state_) {
  case state::reserving: // whoever reserves quits with its request; a lead granted too late is lost at once [I7]
  case state::joined:
    return deadline_;
  case state::attempting:
    return slow_at_ ? std::min(*slow_at_, deadline_) : deadline_;
  case state::backing_off: {
    auto at = std::min(*retry_at_, deadline_);
    return slow_at_ ? std::min(*slow_at_, at) : at;
  }
  default:
    // Whoever was asked answers within a bound of its own.
    return std::nullopt;
  }
}

// ---- inputs ---------------------------------------------------------------------------------------------------

void request_flow::on(const flow_input::begin&) {
  if (state_ != state::idle)
    return;
  if (request_.keyed) {
    state_ = state::reserving;
    actions_.push_back(flow_action::reserve_key{});
  } else {
    enter_route();
  }
}

void request_flow::on(const flow_input::key_verdict& v) {
  using kind = flow_input::key_verdict::kind;
  if (state_ != state::reserving && state_ != state::joined)
    return;
  switch (v.what) {
  case kind::lead:
    leads_ = true;
    rerun_ = v.rerun;
    return enter_route();
  case kind::joined:
    state_ = state::joined;
    if (caller_left_)
      on(flow_input::cancel{forced_});
    return;
  case kind::answered:
    replay_ = v;
    return finish_with({.what = flow_action::finish::kind::joined_answer, .code = {}, .retry_after = {}},
                       v.success ? std::nullopt : std::optional{failure_class::unknown});
  case kind::conflict:
    return fail_with(errc::idempotency_key_reused, failure_class::client_error);
  case kind::in_flight:
    return fail_with(errc::idempotency_in_flight, failure_class::client_error, std::chrono::seconds{1});
  case kind::interrupted:
    return fail_with(errc::idempotency_interrupted, failure_class::unknown);
  case kind::unavailable:
    return fail_with(errc::store_unavailable, failure_class::unknown);
  }
}

void request_flow::on(const flow_input::breaker_verdict& v) {
  if (state_ != state::asking)
    return;
  if (v.verdict && v.verdict->what != admission_verdict::kind::refused) {
    if (!abandoned() && now_ < deadline_)
      return admitted(v.verdict->generation, v.verdict->probe);
    // Granted too late: nobody waits any more, or no time is left [B8]. The permit goes back [C16].
    permit_ = {.held = true, .generation = v.verdict->generation, .probe = v.verdict->probe, .amends = 0};
    call_started_ = now_;
    end_call(failure_class::cancelled);
    return enter_route();
  }
  slot_.release();
  if (abandoned())
    return enter_route(); // which ends it
  circuit_refused(target(), v.verdict ? v.verdict->wait : std::nullopt);
  if (left_behind(failure_class::circuit_open))
    enter_route();
}

void request_flow::on(const flow_input::attempt_done& r) {
  if (state_ != state::attempting)
    return;
  record_attempt(r, r.failure);
  last_status_ = r.status;
  last_retry_after_ = r.retry_after;
  if (!r.failure) {
    end_call(std::nullopt);
    return finish_with({.what = flow_action::finish::kind::answer, .code = {}, .retry_after = {}}, std::nullopt);
  }
  last_failure_ = *r.failure;
  all_refused_or_limited_ = all_refused_or_limited_ && last_failure_ == failure_class::rate_limit;
  note_wait(r.retry_after);
  if (const auto delay = retry_delay()) {
    retry_at_ = now_ + *delay;
    state_ = state::backing_off;
    return;
  }
  call_failed();
}

void request_flow::on(const flow_input::key_settled& s) {
  if (state_ != state::settling)
    return;
  if (!s.stored && result_.what == flow_action::finish::kind::answer) {
    result_ = {.what = flow_action::finish::kind::own_error, .code = errc::store_unavailable, .retry_after = {}};
    result_class_ = failure_class::unknown;
  }
  emit_finish();
}

void request_flow::on(const flow_input::timer& t) {
  const auto due = wake_at();
  if (!due || now_ < *due)
    return;
  if (now_ >= deadline_)
    return on_deadline(t.responded);
  if (slow_at_ && now_ >= *slow_at_)
    report_hanging();
  if (state_ != state::backing_off || now_ < *retry_at_)
    return;
  retry_at_.reset();
  // The circuit may have opened while this call waited: then its real error counts [R3].
  if (target().circuit && !target().circuit->still_admits(permit_.generation))
    return call_failed();
  start_attempt();
}

void request_flow::on(const flow_input::cancel& c) {
  caller_left_ = true;
  forced_ = forced_ || c.force;
  const auto code = c.force ? errc::shutting_down : errc::cancelled;
  switch (state_) {
  case state::idle:
    return fail_with(code, failure_class::cancelled);
  case state::joined:
    actions_.push_back(flow_action::leave_key{});
    return fail_with(code, failure_class::cancelled);
  case state::attempting:
    if (!abandoned())
      return;
    stop_attempt(failure_class::cancelled);
    return fail_with(code, failure_class::cancelled);
  case state::backing_off:
    if (!abandoned())
      return;
    end_call(last_failure_); // the real error counts [R3]
    return fail_with(code, failure_class::cancelled);
  default:
    return; // an answer is on its way; what follows asks abandoned()
  }
}

// ---- the walk -------------------------------------------------------------------------------------------------

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

// Whether the flow now waits for an attempt or for the breaker; false when the route refused.
bool request_flow::try_enter(const route_target& t) {
  if (t.context_tokens && request_.estimated_tokens > *t.context_tokens) {
    ++skipped_for_context_;
    refused(t, failure_class::context_length, std::nullopt,
            "context window of " + std::to_string(*t.context_tokens) + " tokens is too small");
    return false;
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
  last_retry_after_ = wait;
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
  if (last_retry_after_ && *last_retry_after_ > t.retry.max_delay)
    return std::nullopt;
  const double uniform =
      static_cast<double>(random_() - random_.min()) / (static_cast<double>(random_.max() - random_.min()) + 1.0);
  auto delay = backoff_delay(t.retry, call_attempts_ - 1, uniform);
  if (last_retry_after_)
    delay = std::max(delay, *last_retry_after_);
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
  fail_with(errc::fallback_exhausted, last_failure_, smallest_wait_);
}

// The last failure is the request's result, as it is [B3].
void request_flow::surface() {
  if (last_status_ && *last_status_ >= 400)
    return finish_with({.what = flow_action::finish::kind::provider_error,
                        .code = errc::upstream_error,
                        .retry_after = last_retry_after_},
                       last_failure_);
  fail_with(code_of(last_failure_), last_failure_, last_retry_after_);
}

void request_flow::on_deadline(bool responded) {
  switch (state_) {
  case state::reserving:
    return fail_with(errc::deadline_exceeded, failure_class::deadline);
  case state::joined:
    actions_.push_back(flow_action::leave_key{});
    return fail_with(errc::deadline_exceeded, failure_class::deadline);
  case state::attempting: {
    // A provider that has said nothing for so long is hanging, whatever the caller's patience [F2].
    const bool hanging = !responded && now_ - attempt_started_ >= target().unresponsive_after;
    stop_attempt(hanging ? failure_class::timeout : failure_class::deadline);
    return fail_with(errc::deadline_exceeded, failure_class::deadline);
  }
  case state::backing_off:
    end_call(last_failure_);
    return surface();
  default:
    return;
  }
}

void request_flow::stop_attempt(failure_class f) {
  actions_.push_back(flow_action::stop_attempt{});
  flow_input::attempt_done cut;
  cut.failure = f;
  cut.sent = true;
  record_attempt(cut, f);
  last_failure_ = f;
  last_status_.reset();
  last_retry_after_.reset();
  all_refused_or_limited_ = false;
  end_call(f);
}

void request_flow::note_wait(std::optional<duration> wait) {
  if (wait && (!smallest_wait_ || *wait < *smallest_wait_))
    smallest_wait_ = wait;
}

// ---- outcomes -------------------------------------------------------------------------------------------------

// One call is one outcome, whatever its attempts [R1].
void request_flow::end_call(std::optional<failure_class> f) {
  const auto& t = target();
  if (!f) {
    const bool slow = t.slow && now_ - call_started_ > t.slow->for_tokens(request_.estimated_input_tokens);
    report(slow ? outcome::slow_success : outcome::success);
  } else if (*f == failure_class::cancelled) {
    report(outcome::cancelled);
  } else {
    report(t.trips.contains(*f) ? outcome::failure : outcome::neutral);
  }
  slot_.release();
  slow_at_.reset();
  retry_at_.reset();
}

void request_flow::report(outcome what) {
  const auto& t = target();
  const auto id = t.circuit ? t.circuit->parts() : circuit_id{};
  emit(call_event{t.circuit ? std::string_view{t.circuit->id()} : std::string_view{}, t.provider, id.model, id.region,
                  what, now_ - call_started_});
  if (!permit_.held)
    return;
  outcome_report r;
  r.generation = permit_.generation;
  r.what = what;
  r.probe = permit_.probe;
  r.amends = permit_.amends;
  r.at = now_;
  if (what == outcome::failure)
    r.retry_after = last_retry_after_;
  permit_ = {};
  hand_in(r);
}

void request_flow::report_hanging() {
  slow_at_.reset();
  if (!permit_.held)
    return;
  outcome_report r;
  r.generation = permit_.generation;
  r.what = outcome::hanging;
  r.at = now_;
  hand_in(r);
}

void request_flow::hand_in(outcome_report r) {
  const auto& t = target();
  const auto receipt = t.circuit->report(r);
  r.ticket = receipt.ticket;
  if (!receipt.queued)
    actions_.push_back(flow_action::send_report{&t, r});
  else if (receipt.wake)
    actions_.push_back(flow_action::wake_breaker{&t});
  if (r.what == outcome::hanging)
    permit_.amends = receipt.ticket + 1;
}

void request_flow::record_attempt(const flow_input::attempt_done& r, std::optional<failure_class> f) {
  const auto& t = target();
  attempt_row row;
  row.time = wall_at(attempt_started_);
  row.route = t.route;
  row.provider = t.provider;
  row.model = t.model;
  row.region = t.region;
  if (t.circuit)
    row.circuit = t.circuit->id();
  row.success = !f;
  row.failure = f;
  row.status = r.status;
  row.latency = now_ - attempt_started_;
  row.outcome_unknown = f && r.sent && !r.status;
  row.tokens = r.tokens;
  emit(attempt_event{request_.request_id, row, call_attempts_ > 1});
  if (f)
    trail_.push_back({t.route, t.provider, t.model, *f, r.status, row.latency, describe(r, f)});
  rows_.push_back(std::move(row));
}

// ---- the end --------------------------------------------------------------------------------------------------

void request_flow::fail_with(errc code, failure_class why, std::optional<duration> retry_after) {
  finish_with({.what = flow_action::finish::kind::own_error, .code = code, .retry_after = retry_after}, why);
}

void request_flow::finish_with(flow_action::finish f, std::optional<failure_class> why) {
  result_ = f;
  result_class_ = why;
  if (!leads_)
    return emit_finish();
  state_ = state::settling;
  actions_.push_back(flow_action::settle_key{f.what == flow_action::finish::kind::answer});
}

void request_flow::emit_finish() {
  assert(!permit_.held);
  state_ = state::done;
  finished_ = now_;
  slot_.release();
  actions_.push_back(result_);
}

telemetry_record request_flow::take_record() {
  using kind = flow_action::finish::kind;
  telemetry_record record;
  auto& row = record.request;
  row.request_id = request_.request_id;
  row.time = wall_started_;
  row.operation = request_.operation;
  row.tenant = request_.tenant;
  row.requested_route = request_.requested_route;
  row.failure = result_class_;
  row.success = !result_class_;
  row.latency = finished_ - started_;
  row.attempts = attempts_;
  row.fallbacks = fallbacks_;
  row.replayed = replay_.has_value();
  row.interrupted = rerun_;
  row.outcome_unknown =
      rerun_ || std::any_of(rows_.begin(), rows_.end(), [](const auto& a) { return a.outcome_unknown; });
  if (result_.what == kind::own_error) {
    row.code = to_string(result_.code);
    row.status = http_status(result_.code, all_refused_or_limited_);
  } else if (result_.what == kind::joined_answer) {
    row.status = replay_->status;
  } else {
    row.status = last_status_;
    row.route = last_target_->route;
    row.provider = last_target_->provider;
    row.model = last_target_->model;
    row.region = last_target_->region;
  }
  if (result_.what == kind::answer && !rows_.empty()) {
    row.tokens = rows_.back().tokens;
    if (const auto& price = last_target_->price; price && row.tokens.input && row.tokens.output)
      row.cost = (static_cast<double>(*row.tokens.input) * price->input_per_million +
                  static_cast<double>(*row.tokens.output) * price->output_per_million) /
                 1e6;
  }
  record.attempts = std::move(rows_);
  return record;
}

} // namespace switchyard
