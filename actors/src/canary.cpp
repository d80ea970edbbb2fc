#include "switchyard/actors/canary.hpp"

#include "switchyard/engine/what_was_thrown.hpp"

#include <caf/actor_cast.hpp>
#include <caf/send.hpp>
#include <caf/stateful_actor.hpp>
#include <caf/typed_event_based_actor.hpp>

#include <utility>

namespace switchyard {

namespace {

class canary_listener : public attempt_listener {
public:
  explicit canary_listener(canary_actor target) : target_(std::move(target)) {}

  void on_attempt_done(provider_result&& result) noexcept override {
    caf::anon_send(target_, attempt_ended{0, std::make_shared<provider_result>(std::move(result))});
  }

private:
  canary_actor target_;
};

struct canary_state {
  static inline const char* name = "switchyard.canary";

  canary_actor::stateful_pointer<canary_state> self = nullptr;
  std::shared_ptr<const canary_plan> plan;
  breaker_actor breaker;
  std::uint64_t number = 0;
  std::shared_ptr<attempt_handle> attempt; ///< null when it has ended

  ~canary_state() {
    if (attempt)
      attempt->cancel();
  }

  void send() {
    try {
      auto request = plan->request;
      attempt = plan->target->start(std::move(request),
                                    std::make_shared<canary_listener>(caf::actor_cast<canary_actor>(self)));
    } catch (...) {
      return tell("cannot be sent: " + what_was_thrown());
    }
    self->delayed_send(self, plan->timeout, canary_timeout{});
  }

  void answered(const provider_result& result) {
    attempt.reset();
    tell(plan->problem(result));
  }

  void tell(std::optional<std::string> problem) {
    self->send(breaker, canary_result{number, std::move(problem)});
    self->quit();
  }
};

canary_actor::behavior_type canary_behavior(canary_actor::stateful_pointer<canary_state> self,
                                            std::shared_ptr<const canary_plan> plan, breaker_actor breaker,
                                            std::uint64_t number) {
  auto& s = self->state;
  s.self = self;
  s.plan = std::move(plan);
  s.breaker = std::move(breaker);
  s.number = number;
  self->monitor(s.breaker);
  self->set_down_handler([self](const caf::down_msg&) { self->quit(); });
  s.send();
  return {
      [&s](const attempt_ended& e) { s.answered(*e.result); },
      [&s](const canary_timeout&) { s.tell("no answer in time"); },
  };
}

} // namespace

canary_actor spawn_canary(caf::actor_system& system, std::shared_ptr<const canary_plan> plan, breaker_actor breaker,
                          std::uint64_t number) {
  return system.spawn(canary_behavior, std::move(plan), std::move(breaker), number);
}

} // namespace switchyard
