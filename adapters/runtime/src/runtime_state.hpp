#pragma once

#include "guarded_circuit.hpp"

#include "switchyard/runtime/core.hpp"

#include <atomic>
#include <condition_variable>
#include <cstddef>
#include <cstdint>
#include <map>
#include <memory>
#include <mutex>
#include <string>
#include <string_view>

namespace switchyard::detail {

/// Lets in until it is closed; who closes it waits for those inside. Nobody stays inside for longer than it takes to
/// start something.
class gate {
public:
  bool enter() noexcept {
    if ((word_.fetch_add(1, std::memory_order_seq_cst) & closed_bit) == 0)
      return true;
    leave();
    return false;
  }
  void leave() noexcept {
    if (word_.fetch_sub(1, std::memory_order_seq_cst) != closed_bit + 1)
      return;
    std::lock_guard lock{mutex_};
    empty_.notify_all();
  }
  void close() noexcept {
    word_.fetch_or(closed_bit, std::memory_order_seq_cst);
    std::unique_lock lock{mutex_};
    empty_.wait(lock, [this] { return word_.load(std::memory_order_seq_cst) == closed_bit; });
  }
  bool closed() const noexcept { return (word_.load(std::memory_order_seq_cst) & closed_bit) != 0; }

  /// Being inside, for a scope.
  class pass {
  public:
    explicit pass(gate& g) noexcept : gate_(g.enter() ? &g : nullptr) {}
    ~pass() {
      if (gate_)
        gate_->leave();
    }
    pass(const pass&) = delete;
    pass& operator=(const pass&) = delete;
    explicit operator bool() const noexcept { return gate_ != nullptr; }

  private:
    gate* gate_;
  };

private:
  static constexpr std::uint32_t closed_bit = 1u << 31;
  std::atomic<std::uint32_t> word_{0}; ///< how many are inside, and whether it is closed
  std::mutex mutex_;                   ///< for who closes and waits
  std::condition_variable empty_;
};

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

  void stop(duration grace);

private:
  std::shared_ptr<core> engine_;
  detail::gate gate_;
  std::mutex circuits_mutex_;
  std::map<std::string, std::unique_ptr<guarded_circuit>> circuits_; ///< only grows: permits point to them
  std::mutex kept_mutex_;
  std::size_t kept_ = 0;
  std::shared_ptr<runtime_state> self_; ///< while `kept_` is not 0
  std::mutex stop_mutex_;
};

} // namespace switchyard::detail
