#pragma once

#include "switchyard/actors/stores.hpp"

#include <cstddef>
#include <vector>

namespace switchyard::store {

/// The time of a row.
wall_time time_of(const telemetry_row& r) noexcept;

/// Keeps the newest rows of those that match a query.
class row_collector {
public:
  /// Rows before `oldest` or after `newest` are expired or from the future of a clock that was set back.
  row_collector(const telemetry_query& q, wall_time oldest, wall_time newest);

  void add(telemetry_row row);

  /// Whether no row before `time` can be among the result any more.
  bool settled(wall_time time) const noexcept;

  /// The rows, newest first; of equal times the first added first.
  std::vector<telemetry_row> take();

private:
  struct entry {
    wall_time time;
    std::size_t order;
    telemetry_row row;
  };
  static bool newer(const entry& a, const entry& b) noexcept;
  bool matches(const telemetry_row& r) const noexcept;

  const telemetry_query& query_;
  wall_time oldest_, newest_;
  std::size_t limit_, added_ = 0;
  std::vector<entry> heap_; ///< its front is the oldest
};

} // namespace switchyard::store
