#pragma once

#include "switchyard/actors/stores.hpp"

#include <filesystem>

namespace switchyard::store {

/// Makes sure that `data_dir`/store is a directory in which a store is, or may be made: creates what is missing and
/// returns its path. Fails with `corrupt` when a store was there of which the file that begins it is gone: RocksDB
/// would take that for an empty directory and make a new store over it.
store_result<std::filesystem::path> prepare_store_directory(const std::filesystem::path& data_dir);

} // namespace switchyard::store
