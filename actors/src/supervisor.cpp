#include "switchyard/actors/supervisor.hpp"

#include <caf/stateful_actor.hpp>
#include <caf/typed_event_based_actor.hpp>

#include <map>
#include <utility>

namespace switchyard {

namespace {

using std::chrono::seconds;

// One that dies as soon as it lives must not keep a thread busy with its births.
constexpr seconds shortest_life{1};

struct supervisor_state {
  static inline const char* name = "switchyard.supervisor";

  supervisor_actor::stateful_pointer<supervisor_state> self = nullptr;
  std::vector<supervised> all;
  std::shared_ptr<const services> shared;
  std::vector<time_point> started;
  std::map<caf::actor_addr, std::size_t> watched;

  time_point now() const { return self->clock().now(); }

  void start(std::size_t i) {
    started[i] = now();
    try {
      const auto child = all[i].start();
      watched[child.address()] = i;
      self->monitor(child);
    } catch (const std::exception& e) {
      not_started(i, e.what());
    } catch (...) {
      not_started(i, "unknown reason");
    }
  }

  void not_started(std::size_t i, const std::string& why) {
    shared->log(log_level::error, all[i].name + " cannot be started: " + why);
    restart_later(i);
  }

  void restart_later(std::size_t i) { self->delayed_send(self, shortest_life, restart_actor{i}); }

  void child_down(const caf::down_msg& down) {
    const auto node = watched.extract(down.source);
    if (node.empty() || down.reason == caf::exit_reason::user_shutdown)
      return;
    const auto i = node.mapped();
    if (down.reason) // else it has ended by itself, for a successor with other settings
      shared->log(log_level::error, all[i].name + " died (" + caf::to_string(down.reason) + ") and is started anew");
    if (now() - started[i] < shortest_life)
      restart_later(i);
    else
      start(i);
  }
};

supervisor_actor::behavior_type supervisor_behavior(supervisor_actor::stateful_pointer<supervisor_state> self,
                                                    std::vector<supervised> all,
                                                    std::shared_ptr<const services> shared) {
  auto& s = self->state;
  s.self = self;
  s.all = std::move(all);
  s.shared = std::move(shared);
  s.started.resize(s.all.size());
  self->set_down_handler([&s](const caf::down_msg& down) { s.child_down(down); });
  for (std::size_t i = 0; i < s.all.size(); ++i)
    s.start(i);
  return {
      [](const await_start&) { return done{}; },
      [&s](const restart_actor& r) { s.start(r.index); },
  };
}

} // namespace

supervisor_actor spawn_supervisor(caf::actor_system& system, std::vector<supervised> all,
                                  std::shared_ptr<const services> services, bool detached) {
  if (detached)
    return system.spawn<caf::detached>(supervisor_behavior, std::move(all), std::move(services));
  return system.spawn(supervisor_behavior, std::move(all), std::move(services));
}

} // namespace switchyard
