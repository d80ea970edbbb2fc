#pragma once

#include <string>
#include <string_view>

namespace switchyard::test {

/// Reads what a client sends on one connection whole, byte by byte and in pieces, and compares. The first byte of
/// `input` chooses the limits, the second the pieces; the rest is what the client sends.
///
/// Returns what is wrong, or nothing:
/// - however the bytes are cut, the same requests come of them and the same refusal ends them;
/// - bodies and heads keep to their limits, and so does what waits for the rest of a line;
/// - nothing in a request can break out of its place when it is written again, and what is written is read as the same
///   request, with its body by length or in chunks.
std::string check_requests(std::string_view input);

} // namespace switchyard::test
