#include "switchyard/engine/fallback_plan.hpp"

#include <algorithm>
#include <cmath>
#include <numeric>
#include <unordered_set>

namespace switchyard {

namespace {

constexpr double neutral_score = 0.5; // [B6]

double score_or_neutral(const std::optional<double>& score) noexcept {
  // A NaN has no place in an order, so it is unknown too.
  return score && !std::isnan(*score) ? *score : neutral_score;
}

} // namespace

std::string fold_route_id(std::string_view id) {
  constexpr std::string_view white = " \t\r\n\v\f";
  const auto first = id.find_first_not_of(white);
  if (first == id.npos)
    return {};
  std::string folded(id.substr(first, id.find_last_not_of(white) - first + 1));
  // Not std::tolower: a locale must not decide which routes are the same.
  for (char& c : folded) {
    if (c >= 'A' && c <= 'Z')
      c = static_cast<char>(c - 'A' + 'a');
  }
  return folded;
}

fallback_chain plan_fallbacks(const std::map<std::string, route_settings>& routes, std::string_view primary) {
  fallback_chain chain;
  chain.routes.push_back(fold_route_id(primary));
  const auto own = routes.find(chain.routes.front());
  if (own == routes.end())
    return chain;

  std::unordered_set<std::string> seen{own->first};
  for (const auto& written : own->second.fallback) {
    auto id = fold_route_id(written);
    if (!seen.insert(id).second)
      continue;
    const auto route = routes.find(id);
    if (route == routes.end())
      chain.skipped_missing.push_back(std::move(id));
    else if (!route->second.active)
      chain.skipped_inactive.push_back(std::move(id));
    else
      chain.routes.push_back(std::move(id));
  }
  return chain;
}

std::vector<std::size_t> reorder_by_health(std::span<const std::optional<double>> scores,
                                           health_settings::reorder_mode mode) {
  std::vector<std::size_t> order(scores.size());
  std::iota(order.begin(), order.end(), std::size_t{0});
  if (mode == health_settings::reorder_mode::off || order.empty())
    return order;
  const auto first = mode == health_settings::reorder_mode::fallbacks ? order.begin() + 1 : order.begin();
  std::stable_sort(first, order.end(), [scores](std::size_t a, std::size_t b) {
    return score_or_neutral(scores[a]) > score_or_neutral(scores[b]);
  });
  return order;
}

} // namespace switchyard
