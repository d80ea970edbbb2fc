#pragma once

#include "switchyard/http/server.hpp"
#include "switchyard/runtime/core.hpp"

#include <atomic>
#include <memory>

namespace switchyard::gateway {

/// The data plane's handler. `draining` is set when new requests are to be refused. The core must outlive the server.
http::handler make_data_plane(std::shared_ptr<core> engine, std::shared_ptr<std::atomic<bool>> draining);

/// What the data plane says to a request before its body has come: it refuses who may not send one, or sends it to
/// nowhere.
http::screener make_screener(std::shared_ptr<core> engine, std::shared_ptr<std::atomic<bool>> draining);

/// Formats what the data plane's listener itself refuses.
http::refusal_formatter make_refusal_formatter(std::shared_ptr<core> engine);

} // namespace switchyard::gateway
