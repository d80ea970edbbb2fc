#pragma once

#include <atomic>
#include <cmath>
#include <limits>
#include <map>
#include <optional>
#include <string>
#include <string_view>

namespace switchyard {

/// The providers' scores as the health actor published them last: a request that sorts its routes reads them here and
/// asks nobody [B6]. Thread-safe: one writes, any read.
class health_board {
public:
  /// For these providers; of others nothing is known.
  template <class Names>
  explicit health_board(const Names& providers) {
    for (const auto& name : providers)
      scores_[std::string{name}].store(unknown, std::memory_order_relaxed);
  }

  void publish(std::string_view provider, std::optional<double> score) noexcept {
    if (const auto found = scores_.find(provider); found != scores_.end())
      found->second.store(score.value_or(unknown), std::memory_order_relaxed);
  }

  std::optional<double> score(std::string_view provider) const noexcept {
    const auto found = scores_.find(provider);
    const auto score = found == scores_.end() ? unknown : found->second.load(std::memory_order_relaxed);
    return std::isnan(score) ? std::nullopt : std::optional{score};
  }

private:
  static constexpr double unknown = std::numeric_limits<double>::quiet_NaN();

  std::map<std::string, std::atomic<double>, std::less<>> scores_;
};

} // namespace switchyard
