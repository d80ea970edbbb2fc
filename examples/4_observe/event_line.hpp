#pragma once

#include "switchyard/engine/events.hpp"

#include <string>

namespace observe {

/// An event as one line of JSON: `{"name":"attempt",...}`. What is not known is left out.
std::string event_line(const switchyard::event& e);

/// Whether somebody should look at it: a circuit that opens, a breaker that died, lost rows, a refused reload.
bool needs_attention(const switchyard::event& e) noexcept;

} // namespace observe
