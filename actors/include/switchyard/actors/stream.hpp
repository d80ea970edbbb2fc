#pragma once

// What a streamed answer is to Switchyard: bytes that pass through unchanged, in whole events, once the first content
// has come. A reader, one for each attempt, says which bytes may go on and how the stream ended; a sink takes them.
//
//   provider --bytes--> stream_reader --whole events--> stream_sink --> the caller
//
// Until the first content everything is held back, so that another route can still take over [S1].

#include "switchyard/engine/failure.hpp"
#include "switchyard/engine/telemetry.hpp"

#include <functional>
#include <memory>
#include <string>
#include <string_view>

namespace switchyard {

/// Reads the body of one streamed answer. Used by one thread at a time. Its memory is bounded: see the implementation.
class stream_reader {
public:
  enum class state : std::uint8_t {
    holding, ///< no content yet: what came is held back [S1]
    flowing, ///< content has come
    ended,   ///< its proper end has come; what follows is ignored
    failed,  ///< see `failure`; nothing more may go to the caller [S2]
  };

  virtual ~stream_reader() = default;

  /// Takes the next bytes of the body, split anywhere. Appends to `out` what may go to the caller now: nothing while
  /// holding; with the first content all that was held; then each event as soon as it is whole.
  virtual state feed(std::string_view bytes, std::string& out) = 0;

  /// The body has ended properly (by its framing). Ended, if the stream's own end has come; otherwise failed.
  virtual state finish(std::string& out) = 0;

  virtual state where() const noexcept = 0;

  /// Whether all that matters has come: it has ended, or `finish` would end it (a chat's finish_reason without [DONE]).
  virtual bool complete() const noexcept = 0;

  /// Of a failed stream. Before content: soft_failure (the provider reports an error, or a bad frame) or
  /// empty_response. After it: soft_failure (an error event, or a bad frame), or connection (it ended without its
  /// proper end).
  virtual failure_class failure() const noexcept = 0;

  /// The tokens so far: the provider's figures, or an estimate, marked so [S6].
  virtual token_usage tokens() const noexcept = 0;
};

/// Takes the bytes of a stream. All calls come from one thread at a time, in order, never from within another.
class stream_sink {
public:
  virtual ~stream_sink() = default;

  /// Takes the next bytes, whole events. `taken` is to be called once, on any thread, also from within: with true when
  /// the sink can take more, with false when it never can again, which ends the request as if its caller had left.
  /// Until then no more come, and after a bound the provider is read no further [S5]. The bytes stay where they are
  /// until `taken` is called or destroyed. Destroying it uncalled ends nothing: the request waits, and must be
  /// cancelled to end. What is thrown counts as false.
  virtual void on_bytes(std::string_view bytes, std::function<void(bool more)> taken) = 0;
};

struct request_result;

/// Who asked for a stream.
class stream_receiver : public stream_sink {
public:
  /// Comes first: status, headers and who serves. `so_far` has no body. Not called when the request ends without a
  /// stream: then its result is the answer. On the request's thread, which may be another than that of `on_bytes`, but
  /// before it.
  virtual void on_begin(std::shared_ptr<const request_result> so_far) = 0;
};

} // namespace switchyard
