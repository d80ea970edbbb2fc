#pragma once

#include "switchyard/engine/events.hpp"
#include "switchyard/engine/time.hpp"

#include <cstdint>
#include <functional>
#include <memory>
#include <string_view>

namespace switchyard {

enum class log_level : std::uint8_t { debug, info, warning, error };

/// Receives the library's log lines, on whatever thread they happen; must return quickly and not throw. Lines hold
/// no secrets.
using log_callback = std::function<void(log_level, std::string_view)>;

/// What actors and requests are given from outside: nobody below reads a wall clock, writes a log or draws a random
/// number by himself. All members are thread-safe to call.
struct services {
  event_sink* events = nullptr; ///< may be null; outlives all users
  log_callback log = [](log_level, std::string_view) {};
  std::function<wall_time()> wall_clock; ///< never empty
  std::function<std::uint64_t()> random; ///< never empty; seeds jitter

  template <class E>
  void emit(const E& e) const {
    if (events)
      events->on_event(event{e});
  }
};

} // namespace switchyard
