#pragma once

// The rules of the layers, as a check of the source text: engine <- actors <- adapters <- examples, a pure engine, and
// public headers that spare their users Beast and CAF. It looks at #include lines and at a few names, so it needs no
// build.

#include <cstddef>
#include <filesystem>
#include <string>
#include <string_view>
#include <vector>

namespace switchyard::test {

/// One line that breaks a rule.
struct violation {
  std::string file; ///< relative to the root, with slashes
  std::size_t line = 0;
  std::string rule; ///< for a person, with what was found
};

struct tree_report {
  std::vector<std::string> files; ///< those looked at
  std::vector<violation> violations;
};

/// Checks every source and header of engine, actors, adapters and examples under `root`.
tree_report check_source_tree(const std::filesystem::path& root);

/// The text with comments, and if asked also the insides of string and character literals, replaced by spaces; lines
/// keep their numbers.
enum class literals { keep, blank };
std::string without_comments(std::string_view text, literals which);

} // namespace switchyard::test
