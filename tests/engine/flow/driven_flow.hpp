#pragma once

#include "support/event_recorder.hpp"
#include "support/test_route.hpp"

#include "switchyard/engine/request_flow.hpp"

#include <deque>
#include <memory>
#include <stdexcept>
#include <string>
#include <vector>

namespace switchyard::test {

inline constexpr time_point start{1h};
inline constexpr wall_time wall_start{std::chrono::hours{1'000'000}};

/// One action as a word or two, e.g. "start a", "settle success", "finish fallback_exhausted 503".
inline std::string text(const flow_step& step, const request_flow& flow) {
  struct visitor {
    const request_flow& of;
    std::string operator()(const flow_action::reserve_key&) const { return "reserve"; }
    std::string operator()(const flow_action::leave_key&) const { return "leave"; }
    std::string operator()(const flow_action::settle_key& a) const {
      return a.success ? "settle success" : "settle failure";
    }
    std::string operator()(const flow_action::look_up_cache&) const { return "look up"; }
    std::string operator()(const flow_action::leave_cache&) const { return "leave cache"; }
    std::string operator()(const flow_action::settle_cache& a) const { return a.keep ? "cache keep" : "cache pass"; }
    std::string operator()(const flow_action::reserve_budget&) const { return "budget"; }
    std::string operator()(const flow_action::settle_budget& a) const {
      return a.actual ? "charge " + std::to_string(a.actual->requests) + " " + std::to_string(a.actual->tokens)
                      : "refund";
    }
    std::string operator()(const flow_action::ask_breaker& a) const { return "ask " + a.target->route; }
    std::string operator()(const flow_action::wake_breaker& a) const { return "wake " + a.target->route; }
    std::string operator()(const flow_action::send_report& a) const { return "send " + a.target->route; }
    std::string operator()(const flow_action::start_attempt& a) const { return "start " + a.target->route; }
    std::string operator()(const flow_action::let_flow&) const { return "flow"; }
    std::string operator()(const flow_action::stop_attempt&) const { return "stop"; }
    std::string operator()(const flow_action::finish& a) const {
      using kind = flow_action::finish::kind;
      switch (a.what) {
      case kind::answer:
        return "finish answer";
      case kind::provider_error:
        return "finish provider_error";
      case kind::joined_answer:
        return "finish joined";
      case kind::static_answer:
        return "finish static";
      case kind::stale_answer:
        return "finish stale";
      case kind::own_error:
        break;
      }
      return "finish " + std::string{to_string(a.code)} + " " +
             std::to_string(http_status(a.code, of.all_refused_or_limited()));
    }
  };
  return std::visit(visitor{flow}, step);
}

/// What a test says of a request.
struct flow_options {
  std::optional<duration> timeout{};
  bool keyed = false;
  bool stream = false;
  bool cacheable = false;
  bool budgeted = false;
  std::uint64_t estimated_tokens = 100;
  std::uint64_t estimated_input_tokens = 0;
};

/// Routes with their circuits, and the time, which only the test moves. The test is the breaker of every circuit.
class flow_world {
public:
  route_target& route(const std::string& name, const route_options& o = {}) {
    targets_.push_back(make_route(name, o));
    auto& t = targets_.back();
    t.index = targets_.size() - 1;
    breakers_.emplace_back();
    if (t.circuit) {
      breakers_.back() = std::make_unique<circuit>(o.profile, 0, 2);
      t.circuit->publish(*breakers_.back(), now);
    }
    return t;
  }

  circuit& breaker(const route_target& t) { return *breakers_.at(t.index); }

  /// Counts what waits, and publishes.
  circuit& drain(const route_target& t) {
    auto& it = breaker(t);
    t.circuit->begin_drain();
    while (const auto r = t.circuit->pop(now))
      reports.push_back(*r), it.report(*r, now);
    it.advance(now);
    t.circuit->publish(it, now);
    return it;
  }

  /// Somebody asks the breaker.
  admission_verdict ask(const route_target& t) {
    drain(t);
    const auto verdict = breaker(t).ask(now);
    t.circuit->publish(breaker(t), now);
    return verdict;
  }

  /// Opens the circuit by as many failures as it takes.
  void trip(const route_target& t) {
    auto& it = breaker(t);
    for (std::uint32_t i = 0; i < it.settings().consecutive_failures; ++i) {
      outcome_report r;
      r.generation = it.generation();
      r.what = outcome::failure;
      r.at = now;
      it.report(r, now);
    }
    t.circuit->publish(it, now);
  }

  /// From open to half-open.
  void cool_down(const route_target& t) {
    now = breaker(t).next_probe_at().value();
    drain(t);
  }

  std::vector<const route_target*> chain() const {
    std::vector<const route_target*> all;
    for (const auto& t : targets_)
      all.push_back(&t);
    return all;
  }

  time_point now = start;
  event_recorder events;
  std::vector<outcome_report> reports; ///< all that were drained

private:
  std::deque<route_target> targets_;
  std::vector<std::unique_ptr<circuit>> breakers_;
};

using texts = std::vector<std::string>;

/// A flow over all routes of a world.
class driven_flow {
public:
  explicit driven_flow(flow_world& world, const flow_options& o = {})
      : world_(world), it(request_of(world, o), world.now, wall_start + (world.now - start), &world.events) {}

  texts feed(const flow_event& input) {
    texts out;
    for (const auto& action : it.step(input, world_.now)) {
      out.push_back(text(action, it));
      if (const auto* sent = std::get_if<flow_action::send_report>(&action))
        sent_reports.push_back(sent->report);
      if (std::holds_alternative<flow_action::start_attempt>(action))
        ++starts;
      if (const auto* end = std::get_if<flow_action::finish>(&action))
        finished.push_back(*end);
      if (const auto* settled = std::get_if<flow_action::settle_budget>(&action))
        budget_settled.push_back(settled->actual);
      cache_settled += std::holds_alternative<flow_action::settle_cache>(action);
    }
    return out;
  }

  texts begin() { return feed(flow_input::begin{}); }

  texts succeed(token_usage tokens = {}) {
    flow_input::attempt_done done;
    done.status = 200;
    done.sent = true;
    done.tokens = tokens;
    return feed(done);
  }

  /// With the HTTP status of the class, if it has one.
  texts fail(failure_class f, std::optional<duration> retry_after = {}) {
    flow_input::attempt_done done;
    done.failure = f;
    done.sent = true;
    done.retry_after = retry_after;
    done.status = status_of(f);
    if (!done.status)
      done.error = f == failure_class::timeout ? transport_error::attempt_timeout : transport_error::reset;
    return feed(done);
  }

  texts timer(bool responded = false, bool sent = true) {
    return feed(flow_input::timer{{.sent = sent, .responded = responded}});
  }
  texts cancel(bool force = false) { return feed(flow_input::cancel{force}); }

  /// Lets time pass to the flow's own timer, and feeds it.
  texts wait() {
    world_.now = it.wake_at().value();
    return timer();
  }

  texts verdict(flow_input::key_verdict::kind kind) {
    flow_input::key_verdict v;
    v.what = kind;
    return feed(v);
  }

  texts cache(flow_input::cache_verdict::kind kind, bool stale = false) {
    flow_input::cache_verdict v;
    v.what = kind;
    v.stale = stale;
    v.status = 200;
    return feed(v);
  }

  texts budget(flow_input::budget_verdict::kind kind, std::optional<duration> retry_after = {}) {
    return feed(flow_input::budget_verdict{kind, retry_after});
  }

  static std::optional<int> status_of(failure_class f) {
    switch (f) {
    case failure_class::rate_limit:
      return 429;
    case failure_class::server_error:
      return 500;
    case failure_class::empty_response:
    case failure_class::soft_failure:
      return 200;
    case failure_class::auth:
      return 401;
    case failure_class::context_length:
    case failure_class::content_policy:
    case failure_class::client_error:
      return 400;
    default:
      return std::nullopt;
    }
  }

private:
  static flow_request request_of(const flow_world& world, const flow_options& o) {
    flow_request r;
    r.request_id = "r1";
    r.operation = "/v1/chat/completions";
    r.tenant = "acme";
    r.chain = world.chain();
    r.requested_route = r.chain.front()->route;
    r.timeout = o.timeout;
    r.keyed = o.keyed;
    r.stream = o.stream;
    r.cacheable = o.cacheable;
    r.budgeted = o.budgeted;
    r.estimated_tokens = o.estimated_tokens;
    r.estimated_input_tokens = o.estimated_input_tokens;
    r.seed = 7;
    return r;
  }

  flow_world& world_;

public:
  request_flow it;
  std::uint32_t starts = 0; ///< start_attempt actions
  std::vector<flow_action::finish> finished;
  std::vector<std::optional<budget_amount>> budget_settled; ///< settle_budget actions
  int cache_settled = 0;                                    ///< settle_cache actions
  std::vector<outcome_report> sent_reports;                 ///< those that did not fit into the queue
};

} // namespace switchyard::test
