#pragma once

// The admin plane's HTTP API over a running core: circuits, health, telemetry, metrics, events. See docs/gateway.md.

#include "switchyard/http/server.hpp"
#include "switchyard/runtime/core.hpp"

#include <functional>
#include <memory>
#include <string>
#include <utility>

namespace switchyard::admin {

/// Reads the configuration again and takes it into use; calls its argument once, on any thread, with every reason why
/// not, or with an empty text.
using reload_function = std::function<void(std::function<void(std::string problems)>)>;

/// The handler for an admin listener. With a token in the configuration every request but /healthz needs it. The core
/// must outlive the server. Without `reload` /admin/reload is answered with 501.
http::handler make_handler(std::shared_ptr<core> engine, reload_function reload = {});

/// Formats what the listener itself refuses.
std::pair<header_list, std::string> format_refusal(const http::refusal& refused);

} // namespace switchyard::admin
