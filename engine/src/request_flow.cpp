#include "switchyard/engine/request_flow.hpp"

#include <algorithm>
#include <cassert>
#include <utility>

namespace switchyard {

namespace {

// Nothing when the price or a count is unknown [U2].
std::optional<double> cost_of(const std::optional<price_settings>& price, const token_usage& tokens) {
  if (!price || !tokens.input || !tokens.output)
    return std::nullopt;
  return price->of(*tokens.input, *tokens.output);
}

} // namespace

request_flow::request_flow(flow_request request, time_point now, wall_time wall, event_sink* events)
    : request_(std::move(request)),
      started_(now),
      wall_started_(wall),
      events_(events),
      random_(static_cast<std::minstd_rand::result_type>(request_.seed)) {
  assert(!request_.chain.empty());
  auto limit = request_.deadline.value_or(request_.chain.front()->deadline);
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
  case state::looking_up: // as above
  case state::sharing:
  case state::budgeting:
  case state::asking:
  case state::settling:
    return deadline_;
  case state::attempting:
    return slow_at_ ? std::min(*slow_at_, deadline_) : deadline_;
  case state::backing_off: {
    auto at = std::min(*retry_at_, deadline_);
    return slow_at_ ? std::min(*slow_at_, at) : at;
  }
  default:
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
    look_up();
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
    return look_up();
  case kind::joined:
    state_ = state::joined;
    if (caller_left_)
      on(flow_input::cancel{forced_});
    return;
  case kind::answered:
    replay_ = v;
    return finish_with({.what = flow_action::finish::kind::joined_answer, .code = {}, .retry_after = {}},
                       v.success ? std::nullopt : std::optional{v.failure.value_or(failure_class::unknown)});
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

void request_flow::on(const flow_input::cache_verdict& v) {
  using kind = flow_input::cache_verdict::kind;
  if (state_ != state::looking_up && state_ != state::sharing)
    return;
  switch (v.what) {
  case kind::lead:
    fills_cache_ = true;
    if (v.stale)
      cached_ = v;
    return take_budget();
  case kind::joined:
    state_ = state::sharing;
    if (abandoned())
      on(flow_input::cancel{forced_});
    return;
  case kind::answered:
    cached_ = v;
    return finish_with({.what = flow_action::finish::kind::joined_answer, .code = {}, .retry_after = {}}, v.failure);
  case kind::unavailable:
    return take_budget();
  }
}

void request_flow::on(const flow_input::budget_verdict& v) {
  using kind = flow_input::budget_verdict::kind;
  if (state_ != state::budgeting)
    return;
  switch (v.what) {
  case kind::admitted:
    holds_budget_ = true;
    return enter_route();
  case kind::refused:
    return fail_with(errc::budget_exceeded, failure_class::budget, v.retry_after);
  case kind::unavailable: // a reservation that was made all the same, and only its answer lost, goes back
    actions_.push_back(flow_action::settle_budget{});
    if (abandoned())
      return enter_route(); // which ends it
    return fail_with(errc::overloaded, failure_class::overloaded);
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
    call_attempts_ = 0;
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

void request_flow::on(const flow_input::content_begun& c) {
  if (state_ != state::attempting)
    return;
  state_ = state::streaming;
  first_content_ = now_;
  slow_at_.reset(); // a stream's time runs to its first content chunk [C1]
  stream_status_ = c.status;
  report_flowing();
  actions_.push_back(flow_action::let_flow{});
}

void request_flow::on(const flow_input::attempt_done& r) {
  if (state_ == state::streaming)
    return stream_done(r);
  if (state_ != state::attempting)
    return;
  record_attempt(r, r.failure);
  last_status_ = r.status;
  last_try_after_ = r.retry_after ? std::optional{plus(now_, *r.retry_after)} : std::nullopt;
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
  if (!s.stored && !result_class_ && !flowed()) {
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
    return on_deadline(t.attempt);
  if (slow_at_ && now_ >= *slow_at_)
    report_hanging();
  if (state_ != state::backing_off || now_ < *retry_at_)
    return;
  retry_at_.reset();
  // The circuit may have opened while this call waited: then its real error counts [R3].
  if (target().circuit && !target().circuit->still_admits(permit_.generation)) {
    target().retries->give_back();
    return call_failed();
  }
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
  case state::sharing:
    if (!abandoned())
      return;
    actions_.push_back(flow_action::leave_cache{});
    return fail_with(code, failure_class::cancelled);
  case state::attempting:
  case state::streaming:
    if (!abandoned())
      return;
    if (state_ == state::streaming && c.attempt.ended)
      end_stream_early(c.attempt);
    else
      stop_attempt(failure_class::cancelled, c.attempt);
    return fail_with(code, failure_class::cancelled);
  case state::backing_off:
    if (!abandoned())
      return;
    target().retries->give_back(); // the retry is not made
    end_call(last_failure_);       // the real error counts [R3]
    return fail_with(code, failure_class::cancelled);
  default:
    return; // an answer is on its way; what follows asks abandoned()
  }
}

// ---- the end --------------------------------------------------------------------------------------------------

void request_flow::fail_with(errc code, failure_class why, std::optional<duration> retry_after) {
  finish_with({.what = flow_action::finish::kind::own_error, .code = code, .retry_after = retry_after}, why);
}

void request_flow::finish_with(flow_action::finish f, std::optional<failure_class> why) {
  using kind = flow_action::finish::kind;
  if (serves_stale(f, why)) {
    f = {.what = kind::stale_answer, .code = {}, .retry_after = {}};
    why.reset();
  }
  result_ = f;
  result_class_ = why;
  if (std::exchange(holds_budget_, false))
    actions_.push_back(flow_action::settle_budget{spent()});
  if (fills_cache_)
    actions_.push_back(
        flow_action::settle_cache{f.what == kind::answer && last_target_->route == request_.requested_route});
  if (!leads_)
    return emit_finish();
  state_ = state::settling;
  actions_.push_back(flow_action::settle_key{!why});
}

// RFC 5861, section 4: the providers have failed, or took longer than the caller waits. What is wrong with the request
// itself surfaces [U3].
bool request_flow::serves_stale(const flow_action::finish& f, std::optional<failure_class> why) const {
  using kind = flow_action::finish::kind;
  if (!fills_cache_ || !cached_ || !why || (f.what != kind::own_error && f.what != kind::provider_error))
    return false;
  return *why == failure_class::deadline || traits(*why).falls_over;
}

// What the request took of its budgets; nothing when it failed [U1]. A stream that broke off, or whose caller left, was
// served as far as it came [S4]. Where the provider does not tell, the estimate stands.
std::optional<budget_amount> request_flow::spent() const {
  if (result_.what != flow_action::finish::kind::answer && !flowed())
    return std::nullopt;
  auto tokens = rows_.back().tokens;
  tokens.input = tokens.input.value_or(request_.estimated_input_tokens);
  tokens.output = tokens.output.value_or(request_.estimated_tokens - request_.estimated_input_tokens);
  return budget_amount{1, *tokens.input + *tokens.output, cost_of(last_target_->price, tokens).value_or(0)};
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
  row.cached = result_.what == kind::stale_answer || (result_.what == kind::joined_answer && !replay_);
  row.interrupted = rerun_ || (replay_ && replay_->rerun);
  row.outcome_unknown =
      row.interrupted || std::any_of(rows_.begin(), rows_.end(), [](const auto& a) { return a.outcome_unknown; });
  if (result_.what == kind::own_error) {
    row.code = to_string(result_.code);
    row.status = flowed() ? stream_status_ : http_status(result_.code, all_refused_or_limited_);
  } else if (result_.what == kind::joined_answer || result_.what == kind::stale_answer) {
    row.status = replay_ ? replay_->status : cached_->status;
    if (const auto code = replay_ ? replay_->code : cached_->code)
      row.code = to_string(*code);
  } else {
    row.status = last_status_;
  }
  if (result_.what == kind::answer || result_.what == kind::static_answer || result_.what == kind::provider_error ||
      flowed()) {
    row.route = last_target_->route;
    row.provider = last_target_->provider;
    row.model = last_target_->model;
    row.region = last_target_->region;
  }
  if (flowed())
    row.time_to_first_token = *first_content_ - started_;
  // A stream that broke off, or whose caller left, was served as far as it came [S4, U2].
  if ((result_.what == kind::answer || flowed()) && !rows_.empty()) {
    row.tokens = rows_.back().tokens;
    row.cost = cost_of(last_target_->price, row.tokens);
  }
  record.attempts = std::move(rows_);
  return record;
}

} // namespace switchyard
