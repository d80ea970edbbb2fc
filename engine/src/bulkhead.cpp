#include "switchyard/engine/bulkhead.hpp"

namespace switchyard {

bulkhead::slot bulkhead::try_acquire() noexcept {
  // Not fetch_add and back out: with it a refused caller would for a moment take the place of an admitted one.
  auto used = used_.load(std::memory_order_relaxed);
  while (used < limit()) {
    if (used_.compare_exchange_weak(used, used + 1, std::memory_order_acquire, std::memory_order_relaxed))
      return slot(this);
  }
  return slot();
}

} // namespace switchyard
