// What the calls and attempts of the walk came to: told to the circuit, the rows, the trail and the observers.

#include "switchyard/engine/request_flow.hpp"

#include <string>
#include <utility>

namespace switchyard {

namespace {

std::string describe(const flow_input::attempt_done& r, std::optional<failure_class> f) {
  if (r.error)
    return std::string{to_string(*r.error)};
  if (!r.status)
    return f ? std::string{to_string(*f)} : std::string{};
  if (f == failure_class::connection) // of a stream: a whole answer has an error of the connection
    return "ended without its own end";
  std::string text = "HTTP " + std::to_string(*r.status);
  if (f == failure_class::empty_response)
    text += " without usable content";
  else if (f == failure_class::soft_failure)
    text += " with an error in it, or not what was promised";
  return text;
}

} // namespace

// One call is one outcome, whatever its attempts [R1].
void request_flow::end_call(std::optional<failure_class> f) {
  const auto& t = target();
  if (!f) {
    const auto took = (state_ == state::streaming ? *first_content_ : now_) - call_started_; // [C1]
    const bool slow = t.slow && took > t.slow->for_tokens(request_.estimated_input_tokens);
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
  if (call_attempts_ > 0) // else the permit goes back unused
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
    r.retry_after = from_now(last_try_after_);
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

// A provider that answers has answered its probe in time, however long its stream goes on: the lease, as the deadline,
// runs to the first content [B8, C8].
void request_flow::report_flowing() {
  if (!permit_.held || permit_.probe == 0)
    return;
  outcome_report r;
  r.generation = permit_.generation;
  r.probe = permit_.probe;
  r.what = outcome::flowing;
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
  if (state_ == state::streaming)
    row.time_to_first_token = *first_content_ - attempt_started_;
  emit(attempt_event{request_.request_id, row, call_attempts_ > 1});
  if (f)
    trail_.push_back({t.route, t.provider, t.model, *f, r.status, row.latency, describe(r, f)});
  rows_.push_back(std::move(row));
}

} // namespace switchyard
