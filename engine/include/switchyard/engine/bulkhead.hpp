#pragma once

#include <atomic>
#include <cstdint>
#include <utility>

namespace switchyard {

/// A bound on calls at once [U4]. Refuses at once when full; there is no queue. Thread-safe, lock-free. Must
/// outlive its slots.
class bulkhead {
public:
  explicit bulkhead(std::uint32_t limit) noexcept : limit_(limit) {}
  bulkhead(const bulkhead&) = delete;
  bulkhead& operator=(const bulkhead&) = delete;

  /// One place in the bulkhead; given back when destroyed.
  class slot {
  public:
    slot() = default;
    slot(slot&& other) noexcept : owner_(std::exchange(other.owner_, nullptr)) {}
    slot& operator=(slot&& other) noexcept {
      std::swap(owner_, other.owner_);
      return *this;
    }
    ~slot() { release(); }
    void release() noexcept {
      if (auto* owner = std::exchange(owner_, nullptr))
        owner->used_.fetch_sub(1, std::memory_order_release);
    }
    explicit operator bool() const noexcept { return owner_ != nullptr; }

  private:
    friend class bulkhead;
    explicit slot(bulkhead* owner) noexcept : owner_(owner) {}
    bulkhead* owner_ = nullptr;
  };

  /// A slot, or an empty one when full.
  slot try_acquire() noexcept;

  std::uint32_t used() const noexcept { return used_.load(std::memory_order_relaxed); }
  std::uint32_t limit() const noexcept { return limit_.load(std::memory_order_relaxed); }
  /// With a smaller one those who have a slot keep it; nobody gets one before so many have come back.
  void set_limit(std::uint32_t limit) noexcept { limit_.store(limit, std::memory_order_relaxed); }

private:
  std::atomic<std::uint32_t> limit_;
  std::atomic<std::uint32_t> used_{0};
};

} // namespace switchyard
