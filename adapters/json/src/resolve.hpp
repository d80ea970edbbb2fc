#pragma once

// What a configuration needs from outside the file: secrets from the environment, certificates, and URLs that a URL
// parser accepts.

#include "switchyard/json/load_config.hpp"

namespace switchyard::detail {

/// Fills the secrets in from the environment, checks that certificate files can be read, and checks base URLs, whose
/// trailing slashes it removes. Returns what is wrong, without lines and without values; no secret is in it.
std::vector<config_problem> resolve(config& settings, const environment& env);

} // namespace switchyard::detail
