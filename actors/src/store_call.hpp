#pragma once

#include "switchyard/actors/stores.hpp"

#include <exception>

namespace switchyard {

/// What an operation of a store comes to, which is a `store_result`. A store of a program's own may throw anything, and
/// its actor lives on.
template <class Operation>
auto store_call(Operation operation) -> decltype(operation()) {
  try {
    return operation();
  } catch (const std::exception& e) {
    return store_error{store_error::kind::io, e.what()};
  } catch (...) {
    return store_error{store_error::kind::io, "the store threw something that is no std::exception"};
  }
}

} // namespace switchyard
