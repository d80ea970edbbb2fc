#pragma once

// The admin plane's HTTP API over a running core: circuits, health, telemetry, metrics, events. See docs/gateway.md.

#include "switchyard/http/server.hpp"
#include "switchyard/runtime/core.hpp"

#include <memory>
#include <utility>

namespace switchyard::admin {

/// The handler for an admin listener. With a token in the configuration every request but /healthz needs it. The core
/// must outlive the server.
http::handler make_handler(std::shared_ptr<core> engine);

/// Formats what the listener itself refuses.
std::pair<header_list, std::string> format_refusal(const http::refusal& refused);

} // namespace switchyard::admin
