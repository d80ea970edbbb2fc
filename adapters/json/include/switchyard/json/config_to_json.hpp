#pragma once

#include "switchyard/engine/settings.hpp"

#include <boost/json/object.hpp>

namespace switchyard {

/// A configuration in the shape of its file, with every default filled in, for GET /admin/config. Secrets are left
/// out: of keys and tokens it has the names of their environment variables; header texts, and query parameters whose
/// name speaks of a key, token, secret, password or signature, are `***`. `base` is gone, as profiles are complete.
/// A pure function, safe from any thread.
boost::json::object config_to_json(const config& settings);

} // namespace switchyard
