#pragma once

#include <cstddef>

namespace switchyard::test {

/// What has passed through operator new, of the whole program. For programs that have counted_allocations.cpp among
/// their sources: it replaces the operators.
std::size_t allocations() noexcept; ///< how often, ever
std::size_t live_bytes() noexcept;  ///< allocated now

} // namespace switchyard::test
