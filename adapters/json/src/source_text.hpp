#pragma once

// The text of a configuration: parsed by Boost.JSON, and skimmed once more for what its document does not keep, the
// line of every value and keys that are given twice.

#include "switchyard/json/load_config.hpp"

#include <boost/json/value.hpp>

#include <map>

namespace switchyard::detail {

/// Where a value stands in the text.
struct source_node {
  std::size_t line = 0;
  std::string_view text; ///< of a number, string, true, false or null, as written; `{...}` or `[...]` for others
  std::map<std::string, source_node, std::less<>> members;
  std::vector<source_node> items;
};

/// A parsed text. `root` and `tree` are empty when `problems` has a syntax error.
struct source_document {
  std::string text; ///< comments blanked; `tree` points into it
  boost::json::value root;
  source_node tree;
  bool parsed = false;
  std::vector<config_problem> problems; ///< one syntax error, or keys that are given twice

  source_document() = default;
  source_document(const source_document&) = delete; // `tree` points into `text`
  source_document& operator=(const source_document&) = delete;

  /// The node at a pointer; nothing when the file has no such value.
  const source_node* find(std::string_view pointer) const;

  /// The line of the value at a pointer, or of the innermost object around it that is there.
  std::size_t line_of(std::string_view pointer) const;
};

/// Parses `text` into `document`, which must be new.
void parse_source(std::string_view text, source_document& document);

} // namespace switchyard::detail
