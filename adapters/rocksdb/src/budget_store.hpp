#pragma once

#include "core.hpp"

namespace switchyard::store {

std::shared_ptr<budget_store> make_budget_store(std::shared_ptr<core> c);

} // namespace switchyard::store
