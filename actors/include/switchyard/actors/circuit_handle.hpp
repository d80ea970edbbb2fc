#pragma once

#include "switchyard/actors/actor_slot.hpp"
#include "switchyard/actors/interfaces.hpp"
#include "switchyard/engine/circuit_cell.hpp"
#include "switchyard/engine/settings.hpp"

#include <memory>
#include <utility>

namespace switchyard {

/// A circuit as callers hold it: its cell, and the address of its breaker of the moment, which the directory
/// replaces when a breaker dies [C14]. Thread-safe.
class circuit_handle {
public:
  circuit_handle(circuit_id id, const circuit_settings& s)
      : settings_(s), cell_(std::make_shared<circuit_cell>(std::move(id), s.window.has_value())) {}

  const circuit_settings& settings() const noexcept { return settings_; }
  circuit_cell& cell() const noexcept { return *cell_; }
  const std::shared_ptr<circuit_cell>& shared_cell() const noexcept { return cell_; }

  /// The breaker of the moment; null before the directory has started it and after shutdown.
  breaker_actor breaker() const { return breaker_.get(); }
  void set_breaker(breaker_actor b) { breaker_.set(std::move(b)); }

private:
  circuit_settings settings_;
  std::shared_ptr<circuit_cell> cell_;
  actor_slot<breaker_actor> breaker_;
};

} // namespace switchyard
