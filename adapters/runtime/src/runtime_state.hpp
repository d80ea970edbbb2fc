#pragma once

#include "gate.hpp"
#include "guarded_circuit.hpp"

#include "switchyard/runtime/core.hpp"

#include <cstddef>
#include <map>
#include <memory>
#include <mutex>
#include <string>

namespace switchyard::detail {

/// What a runtime, its guards and its running operations share. The core is stopped by the runtime; the others keep
/// only memory alive.
class runtime_state : public std::enable_shared_from_this<runtime_state> {
public:
  explicit runtime_state(std::shared_ptr<core> engine) : engine_(std::move(engine)) {}

  core& engine() noexcept { return *engine_; }
  /// To be entered by whatever starts something in the core; closed by stop.
  detail::gate& gate() noexcept { return gate_; }

  /// The circuit of that id, made when it is not there; null when there is no such profile, or after stop.
  guarded_circuit* circuit(const std::string& id, const std::string& profile);

  /// For permits that may be left when nobody else is: keeps this object until as many have let go.
  void keep() noexcept;
  void let_go() noexcept;

  /// See `runtime::stop`.
  void stop(duration grace);

private:
  std::shared_ptr<core> engine_;
  detail::gate gate_;
  std::mutex circuits_mutex_;
  std::map<std::string, std::unique_ptr<guarded_circuit>> circuits_; ///< only grows: permits point to them
  std::mutex kept_mutex_;
  std::size_t kept_ = 0;
  std::shared_ptr<runtime_state> self_; ///< while `kept_` is not 0
};

} // namespace switchyard::detail
