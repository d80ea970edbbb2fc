#pragma once

// Reads requests from bytes (RFC 9112), without a socket or a clock. Strict where leniency would let two parties see
// different requests in the same bytes: such heads are refused, never repaired.

#include "switchyard/http/server.hpp"

#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>
#include <utility>

namespace switchyard::http {

/// One request after the other. Not thread-safe.
///
///          whole head, body       last byte
///   head ---------------------> body ------> complete --reset--> head
///     \--- whole head, no body ----------------^
///   head, body --malformed or over a limit--> refused (final)
class request_parser {
public:
  struct limits {
    std::uint64_t max_body;
    std::size_t max_head;
  };
  enum class state {
    head,     ///< wants (more of) a head
    body,     ///< the head is there, wants more of the body
    complete, ///< `request` is whole; bytes after it were not taken
    refused   ///< `why` says the reason; no more bytes are taken
  };

  explicit request_parser(const limits& l) : limits_(l) {}

  /// Takes bytes from the front of `input` and returns how many. A head, and each line of a chunked body, is taken only
  /// when it is whole: the caller keeps what was not taken and feeds it again with what follows.
  std::size_t feed(std::string_view input);

  /// Begins the next request. Only when complete.
  void reset();

  state current() const noexcept { return state_; }
  bool started() const noexcept { return started_; }                  ///< a byte of this request has come
  refusal why() const noexcept { return {status_, code_, message_}; } ///< valid as long as the parser is not touched

  http::request& request() noexcept { return request_; } ///< when complete
  bool keep_alive() const noexcept { return keep_alive_; }
  bool http_1_0() const noexcept { return http_1_0_; }
  /// The client waits for a 100 before it sends its body (RFC 9110 10.1.1).
  bool expects_continue() const noexcept { return expects_continue_; }
  /// Bytes of body that are known to come next.
  std::uint64_t pending_body() const noexcept { return state_ == state::body ? remaining_ : 0; }

private:
  enum class chunk_part { size_line, data, data_end, trailer };

  std::size_t feed_head(std::string_view input);
  std::size_t feed_sized(std::string_view input);
  std::size_t feed_chunked(std::string_view input);
  std::size_t feed_chunk_line(std::string_view input);
  std::size_t feed_chunk_data_end(std::string_view input);

  bool parse_head(std::string_view head);
  bool parse_request_line(std::string_view line);
  bool parse_target(std::string_view target);
  bool parse_field(std::string_view line);
  bool note_field(std::string_view name, std::string_view value);
  bool note_content_length(std::string_view value);
  void note_connection(std::string_view value);
  bool finish_head();
  bool parse_chunk_size(std::string_view line);
  bool parse_trailer(std::string_view line);

  bool refuse(int status, std::string_view code, std::string message);
  bool malformed(std::string message) { return refuse(400, "invalid_request", std::move(message)); }
  bool too_large();

  limits limits_;
  state state_ = state::head;
  int status_ = 0; ///< of the refusal, like the next two
  std::string_view code_;
  std::string message_;
  http::request request_;

  std::size_t line_begin_ = 0;  ///< of the line of the head that is not whole yet
  std::size_t scanned_ = 0;     ///< bytes of the head known to hold no further end of a line
  std::uint64_t remaining_ = 0; ///< of the body or the chunk
  std::uint64_t content_length_ = 0;
  std::size_t chunk_overhead_ = 0; ///< bytes of extensions and trailers so far
  chunk_part part_ = chunk_part::size_line;
  bool started_ = false;
  bool http_1_0_ = false;
  bool keep_alive_ = false;
  bool expects_continue_ = false;
  bool asks_close_ = false;
  bool asks_keep_alive_ = false;
  bool has_host_ = false;
  bool has_content_length_ = false;
  bool chunked_ = false;
};

} // namespace switchyard::http
