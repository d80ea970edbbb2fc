#pragma once

#include "gateway_state.hpp"

#include "switchyard/http/server.hpp"
#include "switchyard/runtime/core.hpp"

#include <memory>

namespace switchyard::gateway {

/// The data plane's handler. The core must outlive the server.
http::handler make_data_plane(std::shared_ptr<core> engine, std::shared_ptr<const gateway_state> state);

/// What the data plane says to a request before its body has come: it refuses who may not send one, or sends it to
/// nowhere.
http::screener make_screener(std::shared_ptr<core> engine, std::shared_ptr<const gateway_state> state);

/// Formats what the data plane's listener itself refuses.
http::refusal_formatter make_refusal_formatter(std::shared_ptr<core> engine,
                                               std::shared_ptr<const gateway_state> state);

} // namespace switchyard::gateway
