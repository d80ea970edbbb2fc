#pragma once

#include "switchyard/engine/events.hpp"

#include <atomic>
#include <memory>
#include <mutex>
#include <vector>

namespace switchyard {

/// Passes events on to its observers. Costs one atomic read while there is none. Thread-safe.
class event_hub : public event_sink {
public:
  void on_event(const event& e) noexcept override;

  /// Adds an observer until the token is gone.
  static std::shared_ptr<void> observe(const std::shared_ptr<event_hub>& hub, std::shared_ptr<event_sink> observer);

private:
  using list = std::vector<std::shared_ptr<event_sink>>;
  void change(const std::shared_ptr<event_sink>& observer, bool add);

  std::atomic<int> count_{0};
  std::atomic<std::shared_ptr<const list>> observers_{std::make_shared<const list>()};
  std::mutex changes_; ///< between those who add and remove
};

} // namespace switchyard
