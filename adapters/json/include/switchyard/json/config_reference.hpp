#pragma once

// What a configuration file can say, as data: for documentation, editors and tests. All of it comes from the table of
// settings (settings_fields.hpp). Pure functions, safe from any thread.

#include <boost/json/object.hpp>

#include <string>
#include <vector>

namespace switchyard {

/// One key of the configuration file.
struct config_key {
  std::string pointer;       ///< JSON pointer with `*` for names and `-` for entries of arrays, e.g. /routes/*/deadline
  std::string accepted;      ///< type, range and unit in words
  std::string default_value; ///< JSON text; empty when there is none
  bool required = false;
  std::string doc; ///< one sentence
};

/// Every key, in the order of the documentation.
std::vector<config_key> config_reference();

/// The JSON Schema (draft 2020-12) of the configuration file; docs/switchyard.schema.json is this. It accepts every
/// file that loads; what it cannot express, such as references between settings, only loading finds.
boost::json::object config_schema();

} // namespace switchyard
