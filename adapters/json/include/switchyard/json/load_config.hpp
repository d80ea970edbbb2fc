#pragma once

// Loading a configuration: JSON with comments and trailing commas, as docs/configuration.md describes it.

#include "switchyard/engine/settings.hpp"

#include <boost/assert/source_location.hpp>
#include <boost/system/result.hpp>

#include <cstddef>
#include <functional>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace switchyard {

/// One mistake in a configuration.
struct config_problem {
  std::string pointer;    ///< JSON pointer (RFC 6901); empty for the file as a whole
  std::size_t line = 0;   ///< from 1; 0: unknown
  std::size_t column = 0; ///< from 1, in bytes; 0 but for syntax errors
  std::string value;   ///< the value as it stands in the file, shortened; empty when there is none, `***` when hidden
  std::string message; ///< what is wrong and what is accepted
};

/// Why a configuration was refused: every mistake in it, in the order of the file. Holds no secret.
struct config_error {
  std::string file; ///< as it was given
  std::vector<config_problem> problems;

  /// One line for each problem: `file:line: pointer: value: what is accepted`.
  std::string text() const;
};

/// Found by boost::system::result::value(): throws std::runtime_error with the error's text.
[[noreturn]] void throw_exception_from_error(const config_error& error, const boost::source_location& location);

/// Looks up an environment variable; nothing when it is not set.
using environment = std::function<std::optional<std::string>(std::string_view name)>;

/// The process's own environment. Not to be used while another thread changes it.
environment process_environment();

/// The longest text that is read as a configuration, in bytes.
inline constexpr std::size_t longest_config_text = 16u << 20;

/// Loads a configuration file, fills in every default, resolves secrets and validates. Reads the file, the certificates
/// that it names, and the environment; blocks while it does. All mistakes are reported at once; no exception but
/// for lack of memory.
boost::system::result<config, config_error> load_config(const std::string& path,
                                                        const environment& env = process_environment());

/// The same for a text; `name` stands in errors where the file would.
boost::system::result<config, config_error> load_config_text(std::string_view text, const std::string& name,
                                                             const environment& env = process_environment());

} // namespace switchyard
