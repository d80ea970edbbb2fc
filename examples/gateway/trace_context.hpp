#pragma once

// Trace Context (W3C Recommendation "Trace Context", level 1): the gateway takes part in a caller's trace with one span
// for each request, under whose id it calls the provider. It begins no trace of its own, and exports none.

#include "switchyard/engine/header_list.hpp"

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

namespace switchyard::gateway {

/// Whether a field of that name is one of a trace.
bool is_trace_field(std::string_view name) noexcept;

/// The `traceparent` to send on for one that came in: the same trace, `span_id` as parent, the flag `sampled` as it
/// was. Nothing for one that is not valid (section 3.2): lower-case hex, no zero ids, version not ff; of later versions
/// what version 00 has is taken. `span_id` must not be 0.
std::optional<std::string> continued_traceparent(std::string_view traceparent, std::uint64_t span_id);

/// Puts `traceparent` and `tracestate` of a request into the fields for the provider, the former continued. Without a
/// valid traceparent, or with more than one, neither goes on (section 3.3.1.5).
void continue_trace(const header_list& request, std::uint64_t span_id, header_list& forwarded);

} // namespace switchyard::gateway
