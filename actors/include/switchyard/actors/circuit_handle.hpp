#pragma once

#include "switchyard/actors/actor_slot.hpp"
#include "switchyard/actors/canary.hpp"
#include "switchyard/actors/interfaces.hpp"
#include "switchyard/engine/circuit_cell.hpp"
#include "switchyard/engine/settings.hpp"

#include <atomic>
#include <memory>
#include <mutex>

namespace switchyard {

/// A circuit as callers hold it: its cell, its settings, and the address of its breaker of the moment, which the
/// directory replaces when a breaker dies [C14]. The breaker ends with the last who holds the circuit. Thread-safe.
class circuit_handle {
public:
  circuit_handle(circuit_id id, const circuit_settings& s);
  ~circuit_handle();
  circuit_handle(const circuit_handle&) = delete;
  circuit_handle& operator=(const circuit_handle&) = delete;

  circuit_cell& cell() const noexcept { return *cell_; }
  const std::shared_ptr<circuit_cell>& shared_cell() const noexcept { return cell_; }

  circuit_settings settings() const;
  /// A success of a guard that takes longer, in nanoseconds, is slow [C1]; negative without a slow-call rule.
  const std::atomic<duration::rep>& slow_after() const noexcept { return slow_after_; }

  /// Whom the breaker asks before it opens half_open [C13]; null: nobody.
  std::shared_ptr<const canary_plan> canary() const { return canary_.load(); }
  void set_canary(std::shared_ptr<const canary_plan> plan) { canary_.store(std::move(plan)); }

  /// No route and no guard has it any more. Requests under way end with it as it is, but it asks no canary, and
  /// observers hear nothing of it: another circuit may have its id by now.
  void retire() noexcept {
    retired_.store(true, std::memory_order_relaxed);
    set_canary(nullptr);
  }
  bool retired() const noexcept { return retired_.load(std::memory_order_relaxed); }

  /// Other settings, which hold as soon as the breaker hears `configure_circuit`. False when they are the same.
  bool configure(const circuit_settings& s);

  /// The breaker of the moment; null before the directory has started it and after shutdown.
  breaker_actor breaker() const { return breaker_.get(); }
  void set_breaker(breaker_actor b) { breaker_.set(std::move(b)); }

private:
  mutable std::mutex mutex_;
  circuit_settings settings_; ///< under the lock
  std::atomic<duration::rep> slow_after_;
  std::shared_ptr<circuit_cell> cell_;
  std::atomic<std::shared_ptr<const canary_plan>> canary_;
  actor_slot<breaker_actor> breaker_;
  std::atomic<bool> retired_{false};
};

} // namespace switchyard
