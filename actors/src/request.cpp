#include "switchyard/actors/request.hpp"

#include <caf/actor_cast.hpp>
#include <caf/send.hpp>
#include <caf/stateful_actor.hpp>
#include <caf/typed_event_based_actor.hpp>

#include <atomic>
#include <type_traits>
#include <utility>

namespace switchyard {

namespace {

using std::chrono::seconds;

// Who does not answer for so long is taken for gone: no request waits without a bound. Those who write to a disk have
// more time.
constexpr seconds breaker_limit{2};
constexpr seconds cache_limit{2};
constexpr seconds shard_limit{10};
constexpr seconds budget_limit{10};

// Names a reservation of a key or of budgets, or a look-up.
std::uint64_t next_number() {
  static std::atomic<std::uint64_t> next{1};
  return next.fetch_add(1, std::memory_order_relaxed);
}

class message_listener : public attempt_listener {
public:
  message_listener(request_actor target, std::uint64_t attempt) : target_(std::move(target)), attempt_(attempt) {}

  void on_content(provider_result&& head) noexcept override {
    caf::anon_send(target_, stream_begun{attempt_, std::make_shared<provider_result>(std::move(head))});
  }

  void on_attempt_done(provider_result&& result) noexcept override {
    caf::anon_send(target_, attempt_ended{attempt_, std::make_shared<provider_result>(std::move(result))});
  }

private:
  request_actor target_;
  std::uint64_t attempt_;
};

struct request_state {
  static inline const char* name = "switchyard.request";

  request_actor::stateful_pointer<request_state> self = nullptr;
  std::unique_ptr<request_runner> runner;
  std::uint64_t attempt = 0;
  std::uint64_t tick = 0;
  std::optional<time_point> armed;

  time_point now() const { return self->clock().now(); }

  listener_factory listener() {
    return [this]() -> std::shared_ptr<attempt_listener> {
      return std::make_shared<message_listener>(caf::actor_cast<request_actor>(self), ++attempt);
    };
  }

  // What every handler ends with: asks what the runner wants asked, sets the timer, ends with the request.
  void go_on(const runner_request& wish) {
    std::visit([this](const auto& w) { ask(w); }, wish);
    if (runner->done())
      return self->quit();
    const auto wake = runner->wake_at();
    if (!wake || (armed && *armed <= *wake && *armed > now()))
      return; // the timer that is set comes early enough, and looks again
    armed = wake;
    self->delayed_send(self, std::max(*wake - now(), duration::zero()), request_tick{++tick});
  }

  void ask(const std::monostate&) {}

  void ask(const runner_wish::breaker& w) {
    const auto breaker = w.circuit->breaker();
    if (!breaker)
      return go_on(runner->feed(flow_input::breaker_verdict{}, now(), listener()));
    self->request(breaker, breaker_limit,
                  probe_request{.until = now() + breaker_limit - probe_request::delivery, .held_by_asker = true})
        .then(
            [this](const admission_verdict& v) {
              go_on(runner->feed(flow_input::breaker_verdict{v}, now(), listener()));
            },
            [this](const caf::error&) { go_on(runner->feed(flow_input::breaker_verdict{}, now(), listener())); });
  }

  void key_unavailable() {
    key_answer answer;
    answer.verdict.what = flow_input::key_verdict::kind::unavailable;
    go_on(runner->key_answered(answer, now(), listener()));
  }

  void ask(const runner_wish::reserve&) {
    const auto unavailable = [this] { key_unavailable(); };
    const auto shard = runner->shard();
    auto reservation = runner->reservation(next_number());
    if (!shard || !reservation.place)
      return unavailable();
    self->request(shard, shard_limit, std::move(reservation))
        .then(
            [this, shard](const key_answer& answer) {
              if (answer.verdict.what == flow_input::key_verdict::kind::joined)
                self->monitor(shard); // whose death is the last that a joiner hears of its leader
              go_on(runner->key_answered(answer, now(), listener()));
            },
            [unavailable](const caf::error&) { unavailable(); });
  }

  void cache_unavailable() { go_on(runner->cache_answered({}, now(), listener())); }

  void ask(const runner_wish::look_up&) {
    const auto cache = runner->cache();
    if (!cache)
      return cache_unavailable();
    self->request(cache, cache_limit, runner->look_up(next_number()))
        .then(
            [this, cache](const cache_answer& answer) {
              if (answer.verdict.what == flow_input::cache_verdict::kind::joined)
                self->monitor(cache); // as with a shard
              go_on(runner->cache_answered(answer, now(), listener()));
            },
            [this](const caf::error&) { cache_unavailable(); });
  }

  void budgets_unavailable() { go_on(runner->budget_answered({}, now(), listener())); }

  void ask(const runner_wish::take_budget&) {
    const auto budgets = runner->budgets();
    auto reservation = runner->budget_reservation(next_number());
    if (!budgets || !reservation.place)
      return budgets_unavailable();
    self->request(budgets, budget_limit, std::move(reservation))
        .then([this](const budget_answer& answer) { go_on(runner->budget_answered(answer, now(), listener())); },
              [this](const caf::error&) { budgets_unavailable(); });
  }

  // Whom it joined has died. What does not fit the request's state says nothing.
  void joined_one_down() {
    key_unavailable();
    cache_unavailable();
  }

  void ask(const runner_wish::settle& w) {
    const auto shard = runner->shard();
    if (!shard)
      return go_on(runner->feed(flow_input::key_settled{false}, now(), listener()));
    self->request(shard, shard_limit, runner->settlement(w.success))
        .then(
            [this](const key_settled& s) { go_on(runner->feed(flow_input::key_settled{s.stored}, now(), listener())); },
            [this](const caf::error&) { go_on(runner->feed(flow_input::key_settled{false}, now(), listener())); });
  }
};

request_actor::behavior_type request_behavior(request_actor::stateful_pointer<request_state> self,
                                              std::shared_ptr<std::unique_ptr<request_runner>> runner,
                                              std::shared_ptr<runner_request> pending) {
  auto& state = self->state;
  state.self = self;
  state.runner = std::move(*runner);
  self->set_down_handler([&state](const caf::down_msg&) { state.joined_one_down(); });
  if (!std::holds_alternative<std::monostate>(*pending))
    state.go_on(*pending);
  return {
      [&state](const begin_request&) {
        state.go_on(state.runner->feed(flow_input::begin{}, state.now(), state.listener()));
      },
      [&state](const stream_begun& b) {
        if (b.attempt == state.attempt)
          state.go_on(state.runner->content_begun(std::move(*b.head), state.now(), state.listener()));
      },
      [&state](const attempt_ended& e) {
        if (e.attempt == state.attempt) // a late word of an attempt that was cut says nothing
          state.go_on(state.runner->attempt_done(std::move(*e.result), state.now(), state.listener()));
      },
      [&state](const key_answer& answer) {
        state.go_on(state.runner->key_answered(answer, state.now(), state.listener()));
      },
      [&state](const cache_answer& answer) {
        state.go_on(state.runner->cache_answered(answer, state.now(), state.listener()));
      },
      [&state](const request_tick& t) {
        if (t.number != state.tick)
          return;
        state.armed.reset();
        state.go_on(state.runner->timer(state.now(), state.listener()));
      },
      [&state](const cancel_request& c) { state.go_on(state.runner->cancel(c.force, state.now(), state.listener())); },
  };
}

} // namespace

request_actor spawn_request(caf::actor_system& system, std::unique_ptr<request_runner> runner, runner_request pending) {
  // CAF copies what it hands to a behaviour; the boxes make the runner's move explicit.
  auto box = std::make_shared<std::unique_ptr<request_runner>>(std::move(runner));
  return system.spawn(request_behavior, std::move(box), std::make_shared<runner_request>(std::move(pending)));
}

} // namespace switchyard
