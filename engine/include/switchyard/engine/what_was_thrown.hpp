#pragma once

#include <exception>
#include <string>

namespace switchyard {

/// The text of the exception being handled, for a log. A program's own code may throw anything. Only in a handler.
inline std::string what_was_thrown() {
  try {
    throw;
  } catch (const std::exception& e) {
    return e.what();
  } catch (...) {
    return "it threw something that is no std::exception";
  }
}

} // namespace switchyard
