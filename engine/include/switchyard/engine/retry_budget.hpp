#pragma once

#include <atomic>
#include <cstdint>

namespace switchyard {

/// A token bucket per circuit that bounds how much load retries may add [R3]: it starts with 10 tokens, each first
/// attempt adds its route's `budget`, each retry takes 1; at most 100. Thread-safe, lock-free.
class retry_budget {
public:
  static constexpr double initial = 10, maximum = 100;

  /// A first attempt was made by a route with this `budget`, in (0, 1].
  void earn(double budget) noexcept;

  /// Takes a token for one retry; false when there is none.
  bool try_take() noexcept;

  /// Gives back the token of a retry that is not made.
  void give_back() noexcept;

  double tokens() const noexcept;

private:
  void add(std::int64_t earned) noexcept;

  static constexpr std::int64_t unit = 1'000'000; ///< millionths of a token
  std::atomic<std::int64_t> millionths_{static_cast<std::int64_t>(initial) * unit};
};

} // namespace switchyard
