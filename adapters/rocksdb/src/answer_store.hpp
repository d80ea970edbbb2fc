#pragma once

#include "core.hpp"

#include "switchyard/actors/stores.hpp"

namespace switchyard::store {

/// The answers of idempotency keys in RocksDB.
std::shared_ptr<answer_store> make_answer_store(std::shared_ptr<core> c);

} // namespace switchyard::store
