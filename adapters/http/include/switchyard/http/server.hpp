#pragma once

// HTTP/1.1 server: one acceptor per I/O thread, limits on heads, bodies and time. Beast stays in the sources.

#include "switchyard/engine/header_list.hpp"
#include "switchyard/engine/time.hpp"
#include "switchyard/http/io_threads.hpp"

#include <boost/system/result.hpp>

#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <utility>

namespace switchyard::http {

/// Undoes percent-encoding (RFC 3986 2.1); nothing where it is malformed.
std::optional<std::string> percent_decode(std::string_view text);

struct request {
  std::string method;
  std::string path;  ///< percent-encoded, without the query
  std::string query; ///< without "?"; may be empty
  header_list headers;
  std::string body;
};

/// One request being answered. All functions must be called on `context`'s thread; `reply` or `end` ends it, later
/// calls do nothing. Destroying the last reference (on any thread) without an answer answers 500; with an answer begun
/// and not ended it cuts the connection.
class exchange {
public:
  virtual ~exchange() = default;
  virtual const http::request& request() const noexcept = 0;
  virtual boost::asio::io_context& context() noexcept = 0;

  /// The whole answer. Content-Length is added; Content-Type must be among the headers where there is a body. Fields
  /// that frame the message (Content-Length, Transfer-Encoding, Connection, Keep-Alive) are left out of `headers`. A
  /// status outside 200-999 is answered as 500. The body of an answer to HEAD is counted but not sent.
  virtual void reply(int status, const header_list& headers, std::string body) = 0;

  /// Begins a body of unknown length (chunked; until close for HTTP/1.0).
  virtual void begin(int status, const header_list& headers) = 0;
  /// Queues a piece of the body. Returns false, and queues nothing, when more than `bound` bytes would be waiting for a
  /// slow client (a piece larger than `bound` is never taken), or when it is gone.
  virtual bool write(std::string_view piece, std::size_t bound = 256 * 1024) = 0;
  /// Calls back once, when nothing of what was written waits for the client any more: at once, from within, if nothing
  /// does; never when the client is gone. Replaces a callback that is still waiting.
  virtual void on_room(std::function<void()> callback) = 0;
  virtual void end() = 0;
  /// Cuts the connection: an answer that has begun and cannot be finished. By a reset, which takes with it what the
  /// client has not read yet.
  virtual void abort() = 0;
  /// Ends the connection in good order and the answer not: sends what is queued and then no more, without the end of a
  /// body of unknown length.
  virtual void close() = 0;

  /// Called once, on the exchange's thread, when the client leaves before its answer was complete: it closed or reset
  /// the connection or its sending half, took nothing for `write_timeout`, or the server closed it. Set it within the
  /// handler.
  virtual void on_gone(std::function<void()> callback) = 0;
};

/// Called on the connection's thread for every whole request; must not block. What it throws is answered with 500.
using handler = std::function<void(std::shared_ptr<exchange>)>;

/// Makes the answer to a request that gets none from the handler. `code` is one of "invalid_request" (400, malformed
/// HTTP), "payload_too_large" (413), "request_timeout" (408), "headers_too_large" (431), "overloaded" (503, more than
/// `max_connections`), "internal" (500, the handler threw or dropped the exchange). Called on the I/O threads.
struct refusal {
  int status;
  std::string_view code;
  std::string_view message;
  const http::request* request = nullptr; ///< as far as it is known, or null: its headers may be missing, or only some
  /// With "internal": what the handler threw, for a log and not for the client; empty when nothing is known.
  std::string_view cause = {};
};
using refusal_formatter = std::function<std::pair<header_list, std::string>(const refusal&)>;

/// An answer made before the request was whole.
struct early_answer {
  int status = 0;
  header_list headers; ///< as for exchange::reply
  std::string body;
};
/// Looks at the head of a request whose body has not all come: may answer it already, so that nobody makes the server
/// keep a body that it would refuse. The connection ends with that answer. Called on the connection's thread, at most
/// once for a request; the body is there as far as it has come. What it throws is answered with 500. Who would accept
/// says nothing.
using screener = std::function<std::optional<early_answer>(const http::request& head)>;

/// A listener's certificate and key.
class server_tls;

/// Loads a certificate, with the intermediate ones behind it in the same file, and its key; both in PEM. TLS 1.2 and
/// newer, OpenSSL's own choice of ciphers at the system's security level, ALPN http/1.1. Fails with a text that names
/// the file and the reason: it cannot be read, is none, is encrypted, is too weak, or does not belong to the other.
boost::system::result<std::shared_ptr<const server_tls>, std::string>
load_server_tls(const std::string& certificate_file, const std::string& key_file);

struct server_options {
  std::string listen = "127.0.0.1:0"; ///< HOST:PORT, [v6]:PORT; port 0 takes a free one
  std::uint64_t max_body = 16ull << 20;
  std::size_t max_head = 64 * 1024;
  /// From the first byte of a request to the end of its head; also for the handshake, and for a first byte behind it.
  duration header_timeout = std::chrono::seconds{10};
  duration body_timeout = std::chrono::seconds{60}; ///< for the whole body
  duration idle_timeout = std::chrono::seconds{75}; ///< of a kept-alive connection
  std::size_t max_connections = 20000;
  duration write_timeout = std::chrono::seconds{60}; ///< without the client taking a byte of its answer
  screener screen;                                   ///< may be empty
  /// HTTPS; null: HTTP. A client that speaks plain HTTP to it gets 400, one over `max_connections` no word.
  std::shared_ptr<const server_tls> tls;
};

/// A server that listens. `stop_accepting`, `drain`, `close_all` and `reconfigure` may be called on any thread; on one
/// that is none of the I/O threads they return when it is done. The I/O threads must outlive the server.
class server {
public:
  virtual ~server() = default; ///< closes everything; the I/O threads must be stopped or this called on none of them
  virtual std::string address() const = 0; ///< HOST:PORT as bound
  /// Stops accepting connections. Connections that are there go on.
  virtual void stop_accepting() = 0;
  /// Answers from now on carry `Connection: close`; connections of which no byte of a request has come are closed.
  /// Those that are accepted later may still send one: call it again when they have had their time.
  virtual void drain() = 0;
  /// Closes every connection at once.
  virtual void close_all() = 0;
  /// Takes other limits, and for connections from now on another certificate, or none; `listen` stays as it is.
  virtual void reconfigure(const server_options& options) = 0;
  virtual std::size_t connections() const noexcept = 0; ///< accepted and not yet closed
};

/// Starts listening. Fails with a text that names the address and the reason (taken, not permitted, no such host).
boost::system::result<std::shared_ptr<server>, std::string> listen(io_threads& threads, const server_options& options,
                                                                   handler on_request, refusal_formatter on_refusal);

} // namespace switchyard::http
