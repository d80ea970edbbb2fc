#pragma once

#include <atomic>
#include <condition_variable>
#include <cstdint>
#include <mutex>

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

} // namespace switchyard::detail
