#pragma once

#include "switchyard/actors/stores.hpp"

#include <rocksdb/status.h>

#include <string_view>

namespace switchyard::store {

/// What a failure of RocksDB means for a caller. `what` says what was being done, e.g. "cannot write".
store_error to_store_error(std::string_view what, const rocksdb::Status& s);

/// The same for a failure to open, where a missing file means that the store is not whole, and which may be due to
/// another process. `directory` is the one to name.
store_error to_open_error(std::string_view directory, const rocksdb::Status& s);

} // namespace switchyard::store
