#include "switchyard/actors/request_runner.hpp"

#include "switchyard/engine/backoff.hpp"
#include "switchyard/engine/what_was_thrown.hpp"

#include <caf/send.hpp>

#include <atomic>
#include <cassert>
#include <type_traits>
#include <utility>

namespace switchyard {

namespace {

template <class>
constexpr bool always_false = false;

} // namespace

request_runner::request_runner(request_spec spec, std::shared_ptr<const request_environment> environment,
                               request_callback on_done, time_point now)
    : spec_(std::move(spec)),
      environment_(std::move(environment)),
      on_done_(std::move(on_done)),
      flow_(std::move(spec_.flow), now, environment_->shared->wall_clock(), environment_->shared->events) {}

// A runner that goes before its request is done, because its actor was killed, gives back what it holds [C16], writes
// its row [H4] and still answers. After the cancel it waits at most for others, so their answers are made up; those
// that do not fit are ignored. A lead that it is given this way it never had, and one that it had goes with its actor
// [I7].
request_runner::~request_runner() {
  if (flow_.done())
    return;
  const flow_event last_words[] = {flow_input::cancel{true, progress()}, flow_input::key_verdict{},
                                   flow_input::cache_verdict{},          flow_input::budget_verdict{},
                                   flow_input::breaker_verdict{},        flow_input::key_settled{false}};
  for (const auto& input : last_words)
    feed(input, flow_.last_step_at(), nullptr);
  assert(flow_.done());
}

runner_request request_runner::feed(const flow_event& input, time_point now, const listener_factory& listener) {
  runner_request wish;
  for (const auto& action : flow_.step(input, now)) {
    std::visit(
        [&](const auto& a) {
          using action_type = std::decay_t<decltype(a)>;
          if constexpr (std::is_same_v<action_type, flow_action::reserve_key>) {
            wish = runner_wish::reserve{};
          } else if constexpr (std::is_same_v<action_type, flow_action::settle_key>) {
            wish = runner_wish::settle{a.success};
          } else if constexpr (std::is_same_v<action_type, flow_action::ask_breaker>) {
            wish = runner_wish::breaker{spec_.where->circuits[a.target->index]};
          } else if constexpr (std::is_same_v<action_type, flow_action::leave_key>) {
            if (auto owner = shard())
              caf::anon_send(owner, leave_key{spec_.key->scope, waiter_});
          } else if constexpr (std::is_same_v<action_type, flow_action::look_up_cache>) {
            wish = runner_wish::look_up{};
          } else if constexpr (std::is_same_v<action_type, flow_action::leave_cache>) {
            if (auto owner = cache())
              caf::anon_send(owner, leave_cache{spec_.cache->place, cache_waiter_});
          } else if constexpr (std::is_same_v<action_type, flow_action::settle_cache>) {
            settle_cache(a.keep);
          } else if constexpr (std::is_same_v<action_type, flow_action::reserve_budget>) {
            wish = runner_wish::take_budget{};
          } else if constexpr (std::is_same_v<action_type, flow_action::settle_budget>) {
            if (auto owner = budgets(); owner && budget_id_ != 0)
              caf::anon_send(owner, settle_budget{budget_id_, a.actual});
          } else if constexpr (std::is_same_v<action_type, flow_action::wake_breaker>) {
            if (auto breaker = spec_.where->circuits[a.target->index]->breaker())
              caf::anon_send(breaker, drain_reports{});
          } else if constexpr (std::is_same_v<action_type, flow_action::send_report>) {
            if (auto breaker = spec_.where->circuits[a.target->index]->breaker())
              caf::anon_send(breaker, overflow_report{a.report});
          } else if constexpr (std::is_same_v<action_type, flow_action::start_attempt>) {
            start_attempt(*a.target, listener);
          } else if constexpr (std::is_same_v<action_type, flow_action::let_flow>) {
            let_flow();
          } else if constexpr (std::is_same_v<action_type, flow_action::stop_attempt>) {
            attempting_ = false;
            if (auto attempt = std::exchange(attempt_, nullptr))
              attempt->cancel();
          } else if constexpr (std::is_same_v<action_type, flow_action::finish>) {
            finish(a);
          } else {
            static_assert(always_false<action_type>);
          }
        },
        action);
  }
  if (std::exchange(receiver_failed_, false))
    return cancel(false, now, listener);
  if (!std::exchange(start_failed_, false))
    return wish;
  provider_result nothing; // a provider of the program's own that throws has failed, and may be tried again
  nothing.error = transport_error::other;
  return attempt_done(std::move(nothing), now, listener);
}

runner_request request_runner::attempt_done(provider_result&& result, time_point now,
                                            const listener_factory& listener) {
  if (!std::exchange(attempting_, false))
    return {}; // a late word of an attempt that was cut says nothing
  attempt_ = nullptr;
  flow_input::attempt_done in;
  in.error = result.error;
  in.sent = result.sent;
  in.tokens = result.tokens;
  in.failure = result.error ? std::optional{classify(*result.error)} : result.failure;
  if (!result.error) {
    in.status = result.status;
    if (in.failure) {
      const auto value = [&](std::string_view name) { return result.headers.find(name).value_or(std::string_view{}); };
      in.retry_after =
          parse_retry_after(value("Retry-After"), value("retry-after-ms"), environment_->shared->wall_clock());
    }
    if (!flow_.flowed()) // else it went to the receiver, and its head is known
      content_ = std::make_shared<request_result::payload>(
          request_result::payload{result.status, std::move(result.headers), std::move(result.body)});
  }
  return feed(in, now, listener);
}

runner_request request_runner::content_begun(provider_result&& head, time_point now, const listener_factory& listener) {
  if (!attempting_ || !spec_.receiver)
    return {};
  content_ = std::make_shared<request_result::payload>(
      request_result::payload{head.status, std::move(head.headers), std::string{}});
  return feed(flow_input::content_begun{head.status}, now, listener);
}

void request_runner::let_flow() {
  auto head = make_result({.what = flow_action::finish::kind::answer, .code = {}, .retry_after = {}});
  try {
    spec_.receiver->on_begin(std::move(head));
    attempt_->stream_to(spec_.receiver);
  } catch (...) { // a program's own receiver: as if its caller had left
    report("receiver", "the receiver of a stream failed: " + what_was_thrown());
    receiver_failed_ = true;
  }
}

runner_request request_runner::key_answered(const key_answer& answer, time_point now,
                                            const listener_factory& listener) {
  using kind = flow_input::key_verdict::kind;
  if (answer.verdict.what == kind::lead) {
    token_ = answer.token;
    rerun_ = answer.verdict.rerun;
  } else if (answer.verdict.what == kind::answered) {
    joined_ = answer.result;
  }
  return feed(answer.verdict, now, listener);
}

runner_request request_runner::cache_answered(const cache_answer& answer, time_point now,
                                              const listener_factory& listener) {
  using kind = flow_input::cache_verdict::kind;
  if (answer.verdict.what == kind::lead) {
    cache_token_ = answer.token;
    stale_ = answer.result;
  } else if (answer.verdict.what == kind::answered) {
    joined_ = answer.result;
  }
  return feed(answer.verdict, now, listener);
}

runner_request request_runner::budget_answered(const budget_answer& answer, time_point now,
                                               const listener_factory& listener) {
  budget_message_ = answer.message;
  return feed(answer.verdict, now, listener);
}

runner_request request_runner::timer(time_point now, const listener_factory& listener) {
  return feed(flow_input::timer{progress()}, now, listener);
}

runner_request request_runner::cancel(bool force, time_point now, const listener_factory& listener) {
  return feed(flow_input::cancel{force, progress()}, now, listener);
}

flow_input::attempt_progress request_runner::progress() const {
  if (!attempt_)
    return {};
  const auto stream = attempt_->progress();
  return {.sent = attempt_->sent(),
          .responded = attempt_->responded(),
          .tokens = stream.tokens,
          .ended = stream.ended,
          .failure = stream.failure};
}

idempotency_actor request_runner::shard() const {
  return shard_of(environment_->shards, spec_.key->scope);
}

reserve_key request_runner::reservation(waiter_id waiter) {
  waiter_ = waiter;
  auto request = std::make_shared<reserve_request>();
  request->scope = spec_.key->scope;
  request->fingerprint = spec_.key->fingerprint;
  request->waiter = waiter;
  request->stream = spec_.stream;
  request->concurrent = spec_.key->concurrent;
  request->on_interrupted = spec_.key->on_interrupted;
  request->ttl = spec_.key->ttl;
  return {std::move(request), environment_->key_credit.take()};
}

settle_key request_runner::settlement(bool success) const {
  settle_key message{spec_.key->scope, token_, nullptr, nullptr};
  auto result = result_of(flow_.result());
  // A degraded answer helps this time; the next submit is to get a fresh one.
  if (!success || spec_.stream || !result->content || result->degraded != degradation::none) {
    message.result = std::move(result);
    return message;
  }
  const auto& content = *result->content;
  auto answer = std::make_shared<stored_answer>();
  answer->fingerprint = spec_.key->fingerprint;
  answer->outcome_unknown = rerun_;
  answer->status = content.status;
  answer->content_type = content.headers.find("Content-Type").value_or("application/json");
  answer->body = content.body;
  answer->stored_at = environment_->shared->wall_clock();
  answer->ttl = spec_.key->ttl;
  message.answer = std::move(answer);
  return message;
}

cache_actor request_runner::cache() const {
  return environment_->cache ? environment_->cache->get() : cache_actor{};
}

look_up_cache request_runner::look_up(waiter_id waiter) {
  cache_waiter_ = waiter;
  return {spec_.cache->place, waiter, spec_.cache->wish};
}

void request_runner::settle_cache(bool keep) const {
  const auto owner = cache();
  if (!owner)
    return;
  switchyard::settle_cache message{spec_.cache->place, cache_token_, nullptr, result_of(flow_.result())};
  if (keep && content_) {
    auto answer = std::make_shared<answer_payload>();
    answer->status = content_->status;
    answer->headers.add("Content-Type", content_->headers.find("Content-Type").value_or("application/json"));
    answer->body = content_->body;
    message.answer = std::move(answer);
  }
  caf::anon_send(owner, std::move(message));
}

budget_actor request_runner::budgets() const {
  return environment_->budgets ? environment_->budgets->get() : budget_actor{};
}

reserve_budget request_runner::budget_reservation(switchyard::budget_reservation id) {
  auto place = environment_->budget_credit.take();
  budget_id_ = place ? id : 0;
  return {id, flow_.request().tenant, flow_.request().requested_route, *spec_.budget, std::move(place)};
}

void request_runner::start_attempt(const route_target& target, const listener_factory& listener) {
  attempting_ = true;
  try {
    provider_request request;
    request.path = spec_.path;
    request.model = target.model;
    request.body = spec_.body_for(target.model);
    request.headers = spec_.headers;
    request.stream = spec_.stream && spec_.receiver;
    attempt_ = spec_.where->providers[target.index]->start(std::move(request), listener());
  } catch (...) {
    report("provider " + target.provider,
           "provider " + target.provider + " cannot start an attempt: " + what_was_thrown());
    start_failed_ = true;
  }
}

void request_runner::report(std::string_view about, const std::string& problem) const {
  environment_->problems->report(*environment_->shared, flow_.last_step_at(), about,
                                 problem + ", request " + flow_.request().request_id);
}

void request_runner::finish(const flow_action::finish& f) {
  auto result = result_of(f);
  write_telemetry();
  if (auto on_done = std::exchange(on_done_, nullptr))
    on_done(std::move(result));
}

std::shared_ptr<const request_result> request_runner::result_of(const flow_action::finish& f) const {
  if (f.what == flow_action::finish::kind::joined_answer && joined_)
    return joined_;
  if (f.what == flow_action::finish::kind::stale_answer && stale_)
    return stale_result();
  return make_result(f);
}

// The expired answer, with what was tried before it came to that.
std::shared_ptr<const request_result> request_runner::stale_result() const {
  auto result = std::make_shared<request_result>(*stale_);
  result->trail = flow_.trail();
  result->attempts = flow_.attempts();
  result->fallbacks = flow_.fallbacks();
  return result;
}

std::shared_ptr<request_result> request_runner::make_result(const flow_action::finish& f) const {
  using kind = flow_action::finish::kind;
  auto result = std::make_shared<request_result>();
  result->failure = flow_.result_class();
  result->retry_after = f.retry_after;
  result->trail = flow_.trail();
  result->attempts = flow_.attempts();
  result->fallbacks = flow_.fallbacks();
  result->all_refused = flow_.all_refused_or_limited();
  result->streamed = flow_.flowed();
  const auto* target = flow_.last_target();
  const bool is_static = f.what == kind::static_answer;
  const auto content = is_static ? spec_.where->static_answers[target->index](spec_.path, spec_.stream) : content_;
  if (f.what == kind::own_error || !content) {
    result->what = request_result::kind::own_error;
    result->code = f.code;
    result->message = message_for(f.code);
    return result;
  }
  const bool succeeded = is_static || f.what == kind::answer;
  result->what = succeeded ? request_result::kind::answer : request_result::kind::provider_error;
  result->code = f.code;
  result->content = content;
  if (is_static)
    result->degraded = degradation::static_answer;
  if (target)
    result->served = {target->route, target->provider, target->model, target->region};
  return result;
}

std::string request_runner::message_for(errc code) const {
  const auto& route = flow_.request().requested_route;
  const auto last = flow_.trail().empty() ? std::string{} : ": " + flow_.trail().back().message;
  switch (code) {
  case errc::circuit_open:
    return "route " + route + " is not called" + last;
  case errc::budget_exceeded:
    return budget_message_;
  case errc::overloaded:
    return flow_.trail().empty() ? "the budgets cannot be asked" : "route " + route + " is busy" + last;
  case errc::upstream_connection:
    return "the provider of route " + route + " could not be reached" + last;
  case errc::upstream_timeout:
    return "the provider of route " + route + " did not answer in time" + last;
  case errc::upstream_invalid:
    return "the provider of route " + route + " gave no usable answer" + last;
  case errc::upstream_cut:
    return "the stream of route " + route + " broke off" + last;
  case errc::upstream_stalled:
    return "the stream of route " + route + " fell silent" + last;
  case errc::misconfigured:
    return "route " + route + " is misconfigured" + last;
  case errc::deadline_exceeded:
    return "the deadline of the request ran out";
  case errc::fallback_exhausted:
    return "none of the " + std::to_string(flow_.request().chain.size()) + " routes of " + route +
           " gave an answer; see attempts";
  case errc::context_length_exceeded:
    return "the request is estimated at " + std::to_string(flow_.request().estimated_tokens) +
           " tokens, more than any route of " + route + " takes";
  case errc::idempotency_key_reused:
    return "this Idempotency-Key was used with another payload";
  case errc::idempotency_in_flight:
    return "a request with this Idempotency-Key is still running";
  case errc::idempotency_interrupted:
    return "a request with this Idempotency-Key was interrupted, its outcome is unknown";
  case errc::store_unavailable:
    return "the store of idempotency keys is not available";
  case errc::shutting_down:
    return "shutting down";
  default:
    return std::string{to_string(code)} + last;
  }
}

void request_runner::write_telemetry() {
  auto record = std::make_unique<telemetry_record>(flow_.take_record());
  environment_->shared->emit(request_event{*record});
  if (!environment_->telemetry || !environment_->telemetry->push(std::move(record)) || !environment_->writer)
    return;
  if (auto writer = environment_->writer->get())
    caf::anon_send(writer, drain_telemetry{});
}

} // namespace switchyard
