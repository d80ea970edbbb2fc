#include "nearest_name.hpp"

#include <algorithm>
#include <numeric>

namespace switchyard::detail {
namespace {

/// The optimal string alignment distance: insertions, deletions and replacements of one byte, and swaps of two
/// neighbours, the commonest slip of a keyboard.
std::size_t edit_distance(std::string_view a, std::string_view b) {
  std::vector<std::size_t> before_last, last, row(b.size() + 1);
  std::iota(row.begin(), row.end(), std::size_t{0});
  for (std::size_t i = 0; i < a.size(); ++i) {
    before_last = std::move(last);
    last = row;
    row[0] = i + 1;
    for (std::size_t j = 0; j < b.size(); ++j) {
      row[j + 1] = std::min({last[j] + (a[i] != b[j]), last[j + 1] + 1, row[j] + 1});
      if (i > 0 && j > 0 && a[i] == b[j - 1] && a[i - 1] == b[j])
        row[j + 1] = std::min(row[j + 1], before_last[j - 1] + 1);
    }
  }
  return row.back();
}

} // namespace

std::string_view nearest_name(std::string_view name, const std::vector<std::string_view>& known) {
  std::string_view nearest;
  std::size_t least = std::max<std::size_t>(1, name.size() / 3) + 1;
  for (const auto candidate : known) {
    // The distance is at least the difference in length, which also spares comparing against endless keys.
    const auto longer = std::max(name.size(), candidate.size()), shorter = std::min(name.size(), candidate.size());
    if (longer - shorter >= least)
      continue;
    if (const auto distance = edit_distance(name, candidate); distance < least) {
      least = distance;
      nearest = candidate;
    }
  }
  if (nearest.empty()) {
    // A name cut short or made longer, such as "api_key" for "api_key_env".
    constexpr std::size_t shortest = 3;
    const auto related = std::ranges::find_if(known, [&](std::string_view candidate) {
      return std::min(name.size(), candidate.size()) >= shortest &&
             (candidate.starts_with(name) || name.starts_with(candidate));
    });
    return related == known.end() ? std::string_view{} : *related;
  }
  return nearest;
}

} // namespace switchyard::detail
