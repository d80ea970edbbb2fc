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
  struct scored_provider {
    health_window window;
    std::optional<double> told; ///< the score that observers heard last
    bool heard = false;
  };

  health_actor::stateful_pointer<health_state> self = nullptr;
  std::map<std::string, scored_provider, std::less<>> providers;
  bool timer_set = false; ///< a publish_health of its own is on its way

  void add(const std::vector<scored_attempt>& attempts) {
    const auto now = shared->wall_clock();
    for (const auto& a : attempts) {
      auto found = providers.find(a.provider);
      if (found == providers.end())
        found = providers.emplace(a.provider, scored_provider{health_window{settings}, {}}).first;
      found->second.window.add(a.sample, now);
    }
    publish();
  }

  // Whether the same windows still serve.
  bool take(const configure_health& c) {
    board = c.board;
    for (auto& [provider, p] : providers)
      p.heard = false; // observers may know now whom they did not
    publish();
    return c.settings.window == settings.window && c.settings.latency_reference == settings.latency_reference &&
           c.settings.minimum_samples == settings.minimum_samples;
  }

  // To the board, and what is new to observers. Then again soon: a score changes with time, too, and ends with its
  // window [H8].
  void publish() {
    const auto now = shared->wall_clock();
    for (auto& [provider, p] : providers) {
      const auto score = p.window.figures(now).score;
      if (board)
        board->publish(provider, score);
      if (!std::exchange(p.heard, true) || score != p.told)
        shared->emit(health_event{provider, score});
      p.told = score;
    }
    if (!providers.empty() && !std::exchange(timer_set, true))
      self->delayed_send(self, publish_interval, publish_health{});
  }

  figures_list describe() const {
    figures_list all;
    const auto now = shared->wall_clock();
    for (const auto& [provider, p] : providers)
      all.push_back({provider, p.window.figures(now)});
    return all;
  }
};

health_actor::behavior_type health_behavior(health_actor::stateful_pointer<health_state> self, health_settings settings,
                                            std::shared_ptr<const std::vector<scored_attempt>> history,
                                            std::shared_ptr<const services> shared,
                                            std::shared_ptr<health_board> board) {
  auto& s = self->state;
  s.self = self;
  s.settings = settings;
  s.shared = std::move(shared);
  s.board = std::move(board);
  s.add(*history);
  return {
      [&s](const health_batch& batch) { s.add(*batch.attempts); },
      [&s](const describe_health&) { return s.describe(); },
      [self, &s](const configure_health& c) {
        if (!s.take(c))
          self->quit();
      },
      [&s](const publish_health&) {
        s.timer_set = false;
        s.publish();
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
