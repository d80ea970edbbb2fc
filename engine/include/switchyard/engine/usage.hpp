#pragma once

// What was used, summed up by hour, tenant, route and model [U2]: a question costs the same however many requests there
// were.

#include "switchyard/engine/telemetry.hpp"
#include "switchyard/engine/time.hpp"

#include <compare>
#include <cstddef>
#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace switchyard {

/// What a sum is about.
struct usage_key {
  wall_time hour{}; ///< its begin
  std::string tenant, route, provider, model;

  friend auto operator<=>(const usage_key&, const usage_key&) = default;
};

struct usage_totals {
  std::uint64_t requests = 0;
  std::uint64_t input_tokens = 0, output_tokens = 0; ///< as far as known
  std::uint64_t estimated = 0;                       ///< requests whose tokens are not the provider's figures [S6]
  std::uint64_t unpriced = 0;                        ///< requests without a known price or without known tokens
  double cost = 0;                                   ///< of the others

  usage_totals& operator+=(const usage_totals& other) noexcept;
  friend bool operator==(const usage_totals&, const usage_totals&) = default;
};

/// Sums by key. Not thread-safe.
class usage_sums {
public:
  /// So many keys at most; what is new beyond counts for the tenant "other", so that nothing is lost [U5].
  static constexpr std::size_t most_keys = 100'000;

  /// Counts a request if it is usage: served, also in part, and neither replayed nor from the cache [U2, I8].
  void add(const request_row& row);
  void add(const usage_key& key, const usage_totals& totals);
  void add(const usage_sums& others);

  bool empty() const noexcept { return sums_.empty(); }
  void clear() noexcept { sums_.clear(); }
  auto begin() const noexcept { return sums_.begin(); }
  auto end() const noexcept { return sums_.end(); }

private:
  std::map<usage_key, usage_totals> sums_;
};

enum class usage_group : std::uint8_t { tenant, route, model };

struct usage_row {
  std::string name; ///< of the tenant, route or model
  usage_totals totals;
  /// Nothing where no request has a known price [U2].
  std::optional<double> cost() const noexcept {
    return totals.requests > totals.unpriced ? std::optional{totals.cost} : std::nullopt;
  }
};

/// The sums of each tenant, route or model, by name.
std::vector<usage_row> grouped(const usage_sums& sums, usage_group by);

} // namespace switchyard
