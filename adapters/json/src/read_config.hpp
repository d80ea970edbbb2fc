#pragma once

// From a parsed text to settings: types and names are checked here, ranges and references by `validate`.

#include "source_text.hpp"

#include <map>
#include <string>
#include <vector>

namespace switchyard::detail {

/// What reading yields: settings with what could be read, defaults for the rest.
struct reading {
  config settings;
  std::map<std::string, std::string> bases; ///< profile to the profile it inherits from
  std::vector<config_problem> problems;     ///< without lines
};

/// Reads a whole document, which must have been parsed.
reading read_config(const source_document& document);

/// What a problem shows instead of a value that may be a secret.
inline constexpr std::string_view hidden_value = "***";

/// The value at a pointer as it stands in the file, shortened, an object or array with something in it hidden; empty
/// when there is none.
std::string shown_value(const source_document& document, std::string_view pointer);

} // namespace switchyard::detail
