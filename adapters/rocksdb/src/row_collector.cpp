#include "row_collector.hpp"

#include <algorithm>

namespace switchyard::store {

wall_time time_of(const telemetry_row& r) noexcept {
  return std::visit([](const auto& row) { return row.time; }, r.row);
}

row_collector::row_collector(const telemetry_query& q, wall_time oldest, wall_time newest)
    : query_(q), oldest_(oldest), newest_(newest), limit_(std::clamp<std::size_t>(q.limit, 1, 10'000)) {}

bool row_collector::newer(const entry& a, const entry& b) noexcept {
  return a.time != b.time ? a.time > b.time : a.order < b.order;
}

bool row_collector::matches(const telemetry_row& r) const noexcept {
  auto time = time_of(r);
  if (time < oldest_ || time > newest_ || (query_.since && time < *query_.since) ||
      (query_.until && time >= *query_.until))
    return false;
  if (!query_.request_id.empty() && r.request_id != query_.request_id)
    return false;
  const auto& provider = std::visit([](const auto& row) -> const std::string& { return row.provider; }, r.row);
  return query_.provider.empty() || provider == query_.provider;
}

void row_collector::add(telemetry_row row) {
  if (!matches(row))
    return;
  auto time = time_of(row);
  if (heap_.size() == limit_) {
    if (time <= heap_.front().time)
      return;
    std::ranges::pop_heap(heap_, newer);
    heap_.pop_back();
  }
  heap_.push_back({time, added_++, std::move(row)});
  std::ranges::push_heap(heap_, newer);
}

bool row_collector::settled(wall_time time) const noexcept {
  return heap_.size() == limit_ && heap_.front().time >= time;
}

std::vector<telemetry_row> row_collector::take() {
  std::ranges::sort_heap(heap_, newer);
  std::vector<telemetry_row> rows;
  rows.reserve(heap_.size());
  for (auto& e : heap_)
    rows.push_back(std::move(e.row));
  heap_.clear();
  return rows;
}

} // namespace switchyard::store
