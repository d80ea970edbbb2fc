#pragma once

// The streamed answers of the OpenAI-compatible API: what a stream's events mean, and the option of a request that asks
// for its usage.

#include "switchyard/actors/provider.hpp"
#include "switchyard/actors/stream.hpp"
#include "switchyard/openai/body.hpp"
#include "switchyard/openai/sse_parser.hpp"

#include <cstddef>
#include <memory>
#include <string>
#include <string_view>

namespace switchyard::openai {

struct stream_reader_options {
  /// The largest event, in bytes; a larger one fails the stream.
  std::size_t max_event = sse_parser::default_max_block;
  /// How many bytes of events without content are held back; more fail the stream [S1].
  std::size_t max_held = std::size_t{256} << 10;
  /// Keeps back the event that has nothing but the usage: for `stream_usage` "inject", where the client did not ask for
  /// it [S6]. Its figures are read all the same.
  bool withhold_usage = false;
};

/// A reader for the answer to one streamed request of `request_bytes` bytes, from which the input tokens are estimated
/// where the provider does not tell them [U1].
///
/// An event has content by the definition at the top of the semantics. Comments and events without data have none and
/// pass on like any other once content has come. A stream fails on an event that is too large, reports an error, or
/// whose data is neither [DONE] nor a JSON object; that event and what follows is not passed on.
///
/// It ends at [DONE], for responses at response.completed or response.incomplete. For chat and completions the body may
/// also just end when each choice that began has its finish_reason. Other bytes may not be a stream at all: without a
/// single event they are a soft_failure [F4], unless they are comments or nothing: empty_response.
///
/// Embeddings are never streamed: such a stream has no content.
///
/// Memory: about 250 bytes, and 2 KiB at most between two events. While one is incomplete up to twice `max_event`, and
/// `max_held` until there is content.
std::unique_ptr<stream_reader> make_stream_reader(operation op, std::size_t request_bytes,
                                                  stream_reader_options options = {});

/// The factory of readers for http::make_client: takes the operation from the request's path below the base URL. Null
/// for a path that is none of the operations: what flows there is not known.
std::unique_ptr<stream_reader> read_stream_by_path(const provider_request& request);

/// Asks for the usage of a stream whose client did not (`stream_usage` "inject") [S6]: the request's body then says so,
/// and `usage_injected` makes read_stream_by_path keep back the event that has nothing else. Responses tell it anyway.
void ask_for_usage(provider_request& request);

/// Whether a request for a stream asks for its usage: `stream_options.include_usage` is true. `body` is one that
/// inspect_request has accepted.
bool asks_for_usage(std::string_view body);

/// The body of a chat or completions request with `"stream_options":{"include_usage":true}`, all other bytes as they
/// were. `body` is one that inspect_request has accepted; spans of a request_view of it are void. Where stream_options
/// or include_usage has a value of a type it may not have, the body stays as it is for the provider to refuse.
std::string with_usage(std::string_view body);

} // namespace switchyard::openai
