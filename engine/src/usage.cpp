#include "switchyard/engine/usage.hpp"

#include <chrono>

namespace switchyard {

usage_totals& usage_totals::operator+=(const usage_totals& other) noexcept {
  requests += other.requests;
  input_tokens += other.input_tokens;
  output_tokens += other.output_tokens;
  estimated += other.estimated;
  unpriced += other.unpriced;
  cost += other.cost;
  return *this;
}

void usage_sums::add(const request_row& row) {
  // A stream that broke off, or whose caller left, was served as far as it came [S4].
  const bool served = row.success || row.time_to_first_token;
  if (!served || row.replayed || row.cached)
    return;
  usage_totals t;
  t.requests = 1;
  t.input_tokens = row.tokens.input.value_or(0);
  t.output_tokens = row.tokens.output.value_or(0);
  t.estimated = row.tokens.estimated;
  t.unpriced = !row.cost;
  t.cost = row.cost.value_or(0);
  add({std::chrono::floor<std::chrono::hours>(row.time), row.tenant, row.route, row.provider, row.model}, t);
}

void usage_sums::add(const usage_key& key, const usage_totals& totals) {
  if (const auto found = sums_.find(key); found != sums_.end()) {
    found->second += totals;
  } else if (sums_.size() < most_keys) {
    sums_.emplace(key, totals);
  } else {
    auto other = key;
    other.tenant = "other";
    sums_[other] += totals;
  }
}

void usage_sums::add(const usage_sums& others) {
  for (const auto& [key, totals] : others)
    add(key, totals);
}

std::vector<usage_row> grouped(const usage_sums& sums, usage_group by) {
  std::map<std::string, usage_totals> groups;
  for (const auto& [key, totals] : sums)
    groups[by == usage_group::tenant ? key.tenant : by == usage_group::route ? key.route : key.model] += totals;
  std::vector<usage_row> rows;
  for (auto& [name, totals] : groups)
    rows.push_back({name, totals});
  return rows;
}

} // namespace switchyard
