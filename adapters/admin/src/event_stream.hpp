#pragma once

#include "switchyard/http/server.hpp"
#include "switchyard/runtime/core.hpp"

#include <memory>

namespace switchyard::admin {

/// Answers with the stream of events until the client leaves. A subscriber that does not read misses events; it never
/// delays a call [C15].
void stream_events(const std::shared_ptr<core>& engine, const std::shared_ptr<http::exchange>& x);

} // namespace switchyard::admin
