#pragma once

#include <span>
#include <string_view>

namespace switchyard::admin {

/// A file of adapters/admin/dashboard, compiled in.
struct embedded_file {
  std::string_view name; ///< without a folder
  std::string_view text;
};

/// All of them, in the order in which CMakeLists.txt names them. Defined in a source that the build makes.
std::span<const embedded_file> embedded_files() noexcept;

} // namespace switchyard::admin
