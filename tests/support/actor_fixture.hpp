#pragma once

#include "support/catch.hpp"
#include "support/event_recorder.hpp"

#include "switchyard/actors/circuit_handle.hpp"
#include "switchyard/actors/services.hpp"

#include <caf/actor_cast.hpp>
#include <caf/actor_system.hpp>
#include <caf/actor_system_config.hpp>
#include <caf/atom.hpp>
#include <caf/exit_reason.hpp>
#include <caf/scheduler/test_coordinator.hpp>
#include <caf/scoped_actor.hpp>
#include <caf/send.hpp>

#include <functional>
#include <memory>
#include <mutex>
#include <string>
#include <vector>

namespace switchyard::test {

class actor_config : public caf::actor_system_config {
public:
  explicit actor_config(bool testing) {
    if (testing)
      set("scheduler.policy", caf::atom("testing"));
  }
};

inline constexpr wall_time wall_start{std::chrono::hours{1'000'000}};

/// Actors on one thread, in simulated time: nothing happens but in `run` and `pass`.
class actor_fixture {
public:
  actor_fixture()
      : config_(true),
        system(config_),
        self(system, true),
        sched_(dynamic_cast<caf::scheduler::test_coordinator&>(system.scheduler())) {
    sched_.clock().current_time += std::chrono::hours{1};
    started_ = now();
    auto made = std::make_shared<services>();
    made->events = &events;
    made->log = [this](log_level level, std::string_view line) { log.emplace_back(level, line); };
    made->wall_clock = [this] { return wall_start + (now() - started_); };
    made->random = [this] { return ++random_; };
    shared = std::move(made);
  }

  ~actor_fixture() {
    for (auto it = at_end_.rbegin(); it != at_end_.rend(); ++it)
      (*it)();
    run();
  }

  time_point now() const { return sched_.clock().now(); }

  /// Messages are handled until there are none. No time passes.
  void run() {
    while (sched_.try_run_once()) {
    }
  }

  /// Time passes, then what came due happens. Timers see the time at the end.
  void pass(duration d) {
    sched_.advance_time(d);
    run();
  }

  bool timer_pending() const { return sched_.has_pending_timeout(); }

  /// Ends an actor when the test does.
  template <class Actor>
  Actor own(Actor actor) {
    at_end_.push_back([address = caf::actor_cast<caf::actor>(actor)] {
      caf::anon_send_exit(address, caf::exit_reason::user_shutdown);
    });
    return actor;
  }

  /// The same for whoever a circuit's breaker is then; it lets go of it, too.
  std::shared_ptr<circuit_handle> own(std::shared_ptr<circuit_handle> handle) {
    at_end_.push_back([handle] {
      if (const auto breaker = handle->breaker())
        caf::anon_send_exit(breaker, caf::exit_reason::user_shutdown);
      handle->set_breaker(breaker_actor{});
    });
    return handle;
  }

  template <class Actor>
  void kill(const Actor& actor) {
    caf::anon_send_exit(actor, caf::exit_reason::kill);
    run();
  }

  /// Asks and waits for the answer, which must come without time passing.
  template <class Answer, class Actor, class Message>
  Answer ask(const Actor& actor, Message message) {
    auto request = self->request(actor, caf::infinite, std::move(message));
    run();
    return receive<Answer>(request);
  }

  template <class Answer, class Request>
  Answer receive(Request& request) {
    Answer result{};
    request.receive([&](const Answer& a) { result = a; }, [&](const caf::error& e) { FAIL(system.render(e)); });
    return result;
  }

private:
  actor_config config_;

public:
  event_recorder events;
  std::vector<std::pair<log_level, std::string>> log;
  std::shared_ptr<const services> shared;
  caf::actor_system system;
  caf::scoped_actor self;

private:
  caf::scheduler::test_coordinator& sched_;
  time_point started_{};
  std::uint64_t random_ = 0;
  std::vector<std::function<void()>> at_end_;
};

/// Hands in an outcome as a request does: with a wake-up or a message where the cell asks for one.
inline report_receipt hand_in(const circuit_handle& handle, outcome_report r) {
  const auto receipt = handle.cell().report(r);
  r.ticket = receipt.ticket;
  if (!receipt.queued)
    caf::anon_send(handle.breaker(), overflow_report{r});
  else if (receipt.wake)
    caf::anon_send(handle.breaker(), drain_reports{});
  return receipt;
}

} // namespace switchyard::test
