#pragma once

// Checks of a whole configuration, one that was loaded or one that a program built itself. Pure functions, safe from
// any thread.

#include "switchyard/engine/settings.hpp"

#include <string>
#include <string_view>
#include <vector>

namespace switchyard {

/// Something wrong with one setting.
struct setting_problem {
  std::string pointer;     ///< JSON pointer (RFC 6901) of the setting, as it would stand in a file
  std::string value;       ///< the value as JSON text; empty when there is none or it is not to be shown
  std::string message;     ///< what is wrong and what is accepted; never holds a secret
  std::string looked_in{}; ///< pointer of the object in which a name was looked up in vain; otherwise empty
  bool of_name = false;    ///< it is the name that is wrong, whatever stands there

  friend bool operator==(const setting_problem&, const setting_problem&) = default;
};

/// What `validate` found: a configuration without problems can be run.
struct validation {
  std::vector<setting_problem> problems;
  std::vector<std::string> warnings; ///< one line each, for a person

  bool ok() const noexcept { return problems.empty(); }
};

/// Makes a configuration built in code complete, as loading does: the profile "default" exists; `name` of providers,
/// routes and tenants is their key; routes are keyed by folded id [B1], but of several with the same one only one is,
/// and the others keep their names for `validate` to refuse; `route_order` has each. To be called before `validate`.
void complete(config& settings);

/// Checks every field against its rule (settings_fields.hpp) and the fields against each other, and refuses what this
/// version does not have (`unavailable_features`). All problems are reported. What needs the world is not checked:
/// whether files exist, and the exact form of URLs.
validation validate(const config& settings);

/// The settings that ask for what this version does not have yet: refused, because to ignore them would be to promise
/// what is not done.
std::vector<setting_problem> unavailable_features(const config& settings);

/// `parent` with one more reference token, escaped as a JSON pointer asks: `~` as `~0`, `/` as `~1`.
std::string child_pointer(std::string_view parent, std::string_view token);

/// A text as a JSON string, with quotes; bytes from 0x80 on are taken as they are.
std::string json_quoted(std::string_view text);

} // namespace switchyard
