#pragma once

// The telemetry log in RocksDB.
//
// One entry holds a whole record under the time at which its request began. Rows are wanted by their own time, newest
// first, and an attempt may begin minutes after its request; so an attempt that begins `slack` or more after it has an
// entry of its own in addition. The rows of an entry thus lie within `slack` of its key, and a query needs to read
// no more than that beyond the rows that it returns.

#include "core.hpp"

#include "switchyard/actors/stores.hpp"

namespace switchyard::store {

std::shared_ptr<telemetry_log> make_telemetry_store(std::shared_ptr<core> c);

} // namespace switchyard::store
