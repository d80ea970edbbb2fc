#pragma once

#include "switchyard/http/server.hpp"

namespace faulty {

class service;

/// Answers a request below /control/. Returns false for any other path, which it leaves alone.
bool handle_control(service& s, switchyard::http::exchange& exchange);

} // namespace faulty
