#pragma once

#include <atomic>
#include <memory>
#include <utility>

namespace switchyard {

/// Where an actor's address stands for those who send to it: its supervisor puts a successor there when it dies.
/// Thread-safe.
template <class Actor>
class actor_slot {
public:
  actor_slot() = default;
  explicit actor_slot(Actor a) { set(std::move(a)); }

  /// The actor of the moment; null before it has been started and after shutdown.
  Actor get() const {
    const auto current = actor_.load(std::memory_order_acquire);
    return current ? *current : Actor{};
  }
  void set(Actor a) {
    actor_.store(a ? std::make_shared<const Actor>(std::move(a)) : nullptr, std::memory_order_release);
  }

private:
  std::atomic<std::shared_ptr<const Actor>> actor_;
};

} // namespace switchyard
