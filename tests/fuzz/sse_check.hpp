#pragma once

#include <string>
#include <string_view>

namespace switchyard::test {

/// Reads a stream whole, byte by byte and in pieces, and compares. The first byte of `input` chooses the operation and
/// the options, the second the pieces; the rest is the stream.
///
/// Returns what is wrong, or nothing:
/// - however it is split, a stream has the same blocks and the same bytes, end and tokens come of it;
/// - the blocks are the stream without its unfinished rest;
/// - what goes out is the beginning of the stream, unless something is withheld;
/// - nothing goes out of a stream without content;
/// - the reader's memory keeps to its bound.
std::string check_stream(std::string_view input);

} // namespace switchyard::test
