#pragma once

// How the gateway's answers look on the wire: headers and error bodies of the contract.

#include "switchyard/actors/request_result.hpp"
#include "switchyard/http/server.hpp"
#include "switchyard/openai/body.hpp"

#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <utility>

namespace switchyard::gateway {

/// A client's text as an error repeats it: all of it, or its first hundred bytes with an ellipsis.
std::string shown(std::string_view text);

/// Answers with one of the gateway's own errors. `result` adds its attempts and counts when there is one,
/// `allowed` the methods that a path takes.
void reply_error(http::exchange& x, std::string_view request_id, errc code, std::string_view message,
                 std::optional<duration> retry_after = {}, const request_result* result = nullptr,
                 std::string_view allowed = {});

/// The headers of an answer, or of a provider's error: those of the provider and who served.
header_list result_headers(std::string_view request_id, const request_result& result);

/// The event that ends a stream which has broken off [S2].
std::string stream_error_event(openai::operation op, std::string_view request_id, const request_result& result);

/// Answers with what a request came to.
void reply_result(http::exchange& x, std::string_view request_id, const request_result& result);

/// Formats what the listener itself refuses.
std::pair<header_list, std::string> format_refusal(const http::refusal& refused, std::string_view request_id);

} // namespace switchyard::gateway
