#pragma once

// How the gateway's answers look on the wire: headers and error bodies of the contract.

#include "switchyard/actors/request_result.hpp"
#include "switchyard/http/server.hpp"

#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <utility>

namespace switchyard::gateway {

/// Answers with one of the gateway's own errors. `result` adds its attempts and counts when there is one.
void reply_error(http::exchange& x, std::string_view request_id, errc code, std::string_view message,
                 std::optional<duration> retry_after = {}, const request_result* result = nullptr);

/// Answers with what a request came to.
void reply_result(http::exchange& x, std::string_view request_id, const request_result& result);

/// Formats what the listener itself refuses.
std::pair<header_list, std::string> format_refusal(const http::refusal& refused, std::string_view request_id);

} // namespace switchyard::gateway
