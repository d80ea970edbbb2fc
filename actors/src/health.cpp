#include "switchyard/actors/health.hpp"

#include <caf/stateful_actor.hpp>
#include <caf/typed_event_based_actor.hpp>

#include <utility>

namespace switchyard {

void append_scored(const telemetry_record& record, std::vector<scored_attempt>& to) {
  for (const auto& attempt : record.attempts) {
    if (attempt.failure && !traits(*attempt.failure).counts_in_health)
      continue;
    health_sample sample;
    sample.at = attempt.time + attempt.latency;
    sample.success = attempt.success;
    // How long a stream goes on is its length, not the provider's slowness.
    sample.latency = attempt.time_to_first_token.value_or(attempt.latency);
    to.push_back({attempt.provider, attempt.circuit, sample});
  }
}

namespace {

using figures_list = std::vector<provider_health>;

constexpr std::chrono::seconds publish_interval{1};

struct health_state {
  static inline const char* name = "switchyard.health";

  health_settings settings;
  std::shared_ptr<const services> shared;
  std::shared_ptr<health_board> board; ///< null: nobody sorts by health
  bool ticking = false;                ///< a publish_health of its own is on its way
  std::map<std::string, health_window, std::less<>> providers;

  void add(const std::vector<scored_attempt>& attempts) {
    const auto now = shared->wall_clock();
    for (const auto& a : attempts) {
      auto found = providers.find(a.provider);
      if (found == providers.end())
        found = providers.emplace(a.provider, health_window{settings}).first;
      found->second.add(a.sample, now);
    }
    for (const auto& [provider, window] : providers)
      shared->emit(health_event{provider, window.figures(now).score});
    publish();
  }

  // Whether the same windows still serve.
  bool take(const configure_health& c) {
    board = c.board;
    publish();
    return c.settings.window == settings.window && c.settings.latency_reference == settings.latency_reference &&
           c.settings.minimum_samples == settings.minimum_samples;
  }

  void publish() const {
    if (!board)
      return;
    const auto now = shared->wall_clock();
    for (const auto& [provider, window] : providers)
      board->publish(provider, window.figures(now).score);
  }

  figures_list describe() const {
    figures_list all;
    const auto now = shared->wall_clock();
    for (const auto& [provider, window] : providers)
      all.push_back({provider, window.figures(now)});
    return all;
  }
};

health_actor::behavior_type health_behavior(health_actor::stateful_pointer<health_state> self, health_settings settings,
                                            std::shared_ptr<const std::vector<scored_attempt>> history,
                                            std::shared_ptr<const services> shared,
                                            std::shared_ptr<health_board> board) {
  auto& s = self->state;
  s.settings = settings;
  s.shared = std::move(shared);
  s.board = std::move(board);
  s.add(*history);
  const auto tick = [self, &s] {
    if (s.board && !std::exchange(s.ticking, true))
      self->delayed_send(self, publish_interval, publish_health{});
  };
  tick();
  return {
      [&s](const health_batch& batch) { s.add(*batch.attempts); },
      [&s](const describe_health&) { return s.describe(); },
      [self, &s, tick](const configure_health& c) {
        if (!s.take(c))
          self->quit();
        tick();
      },
      [&s, tick](const publish_health&) {
        s.ticking = false;
        s.publish();
        tick();
      },
  };
}

} // namespace

health_actor spawn_health(caf::actor_system& system, const health_settings& settings,
                          std::vector<scored_attempt> history, std::shared_ptr<const services> shared,
                          std::shared_ptr<health_board> board) {
  return system.spawn(health_behavior, settings,
                      std::make_shared<const std::vector<scored_attempt>>(std::move(history)), std::move(shared),
                      std::move(board));
}

} // namespace switchyard
