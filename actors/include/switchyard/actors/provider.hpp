#pragma once

// What the request actors need of a provider: one asynchronous attempt. The HTTP client of adapters/http is one
// implementation; a program may bring its own.

#include "switchyard/actors/stream.hpp"
#include "switchyard/engine/failure.hpp"
#include "switchyard/engine/header_list.hpp"
#include "switchyard/engine/telemetry.hpp"
#include "switchyard/engine/time.hpp"

#include <cstdint>
#include <memory>
#include <optional>
#include <string>

namespace switchyard {

/// One attempt to send.
struct provider_request {
  std::string path; ///< below the provider's base URL, e.g. "/chat/completions"
  std::string model;
  std::shared_ptr<const std::string> body;    ///< with the provider's model in it; never null
  std::shared_ptr<const header_list> headers; ///< end-to-end fields to pass on; may be null
  bool stream = false;                        ///< the answer may flow (actors/stream.hpp)
  bool usage_injected = false; ///< the stream's usage is asked for on our own account, and kept back [S6]
};

/// What an attempt came to.
struct provider_result {
  std::optional<transport_error> error; ///< absent: there is a whole HTTP answer
  std::string error_detail;             ///< for a person; no secret, no address of the caller; may be empty
  bool sent = false;                    ///< bytes of the request were written [R6, R7]
  bool responded = false;               ///< at least one byte of an answer came [F2]
  int status = 0;
  header_list headers; ///< of the answer, hop-by-hop fields and Set-Cookie removed
  std::string body;
  /// What the provider says of its answer; the classifier's verdict, by default from status and body.
  std::optional<failure_class> failure;
  token_usage tokens;
};

/// Is told what an attempt came to, exactly once, unless the attempt was cancelled; before that, of a stream, that its
/// content begins. Called on the provider's own thread
/// (the I/O thread that ran the attempt), never from within `provider::start`.
class attempt_listener {
public:
  virtual ~attempt_listener() = default;
  virtual void on_attempt_done(provider_result&& result) noexcept = 0;

  /// Of a stream: its first content has come; `head` has status and headers. Nothing flows before `stream_to`. A
  /// provider that answers as a whole never calls it.
  virtual void on_content(provider_result&& head) noexcept { static_cast<void>(head); }
};

/// An attempt under way. Destroying the handle does not cancel.
class attempt_handle {
public:
  virtual ~attempt_handle() = default;

  /// Ends the attempt on the wire: the connection is closed and its slot given back [F3]. When called on the thread
  /// that would call the listener, the listener is not called any more; from another thread one call may already
  /// be on its way. Idempotent, thread-safe.
  virtual void cancel() noexcept = 0;

  /// Whether a byte of an answer has come [F2]. Thread-safe.
  virtual bool responded() const noexcept = 0;

  /// Whether bytes of the request were written, so that it may have been charged [R6]. Thread-safe. A provider that
  /// cannot tell says yes.
  virtual bool sent() const noexcept { return true; }

  /// After on_content, once: what was held back and what follows goes to the sink, on the provider's own thread.
  /// Everything has gone there before the listener hears of the end. Thread-safe.
  virtual void stream_to(std::shared_ptr<stream_sink> sink) noexcept { static_cast<void>(sink); }

  /// Of a stream: its tokens so far [S4], and whether and how the provider's part of it is over although the sink has
  /// not taken everything yet. Thread-safe.
  struct stream_progress {
    token_usage tokens{};
    bool ended = false;
    std::optional<failure_class> failure{};
  };
  virtual stream_progress progress() const noexcept { return {}; }
};

/// A provider. Thread-safe.
class provider {
public:
  virtual ~provider() = default;

  /// Starts one attempt and returns its handle, never null; never blocks. One that calls on_content overrides the
  /// handle's `stream_to`. The listener is kept until it was called or the attempt was cancelled.
  virtual std::shared_ptr<attempt_handle> start(provider_request request,
                                                std::shared_ptr<attempt_listener> listener) = 0;
};

} // namespace switchyard
