#pragma once

// Which header fields may pass a proxy.

#include <string_view>

namespace switchyard::http {

/// Whether a field belongs to one connection only (RFC 9110 7.6.1) or to the conversation with a proxy.
bool is_hop_by_hop(std::string_view name) noexcept;

/// Whether a field that a caller gives may go to a provider. What frames or routes the message, what the client sets
/// itself and credentials may not.
bool may_be_sent(std::string_view name) noexcept;

/// Whether a field of a provider's answer may go to the caller.
bool may_be_returned(std::string_view name) noexcept;

/// Whether the value of a Connection field names that field.
bool names_field(std::string_view connection, std::string_view name) noexcept;

} // namespace switchyard::http
