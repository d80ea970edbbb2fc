#pragma once

#include "server_answer.hpp"
#include "server_input.hpp"
#include "server_request_parser.hpp"
#include "server_stream.hpp"
#include "switchyard/http/server.hpp"

#include <atomic>
#include <cstddef>
#include <cstdint>
#include <functional>
#include <list>
#include <memory>
#include <optional>
#include <string>
#include <string_view>

namespace switchyard::http {

class server_worker;

/// One client's connection: reads requests, has them answered one at a time and in order. All functions but `is_closed`
/// belong to the connection's I/O thread.
///
///   securing (TLS only)
///      |       whole request            answer complete            all of it sent
///   reading -------------------> answering --------------> sending --------------> reading
///      |                             |                        |---- to be closed --> closed
///      |--- refused, timed out -------------------------------^---- refused, more ----> lingering --> closed
///      |--- client left -------------|--- client left, abort     input to discard --> closed
///
/// One read is pending at nearly all times, also while a request is answered: so a client's leaving is noticed, and a
/// request costs one receive and one send. What a client sends ahead waits in the input buffer; when that is full,
/// reading stops until the answer is done, and the socket is asked from time to time whether the client is still there.
class connection : public std::enable_shared_from_this<connection> {
public:
  /// How a close came about.
  enum class cause {
    ended,       ///< nothing is owed to the handler
    client_left, ///< a request being answered has nobody to go to: the handler is told
    torn_down    ///< the I/O threads are gone: nobody is told
  };
  /// Names a request on its connection, so that a late call by its exchange is told from a call for the next one.
  using request_id = std::uint64_t;

  connection(std::shared_ptr<server_worker> worker, server_socket socket, const server_tls* tls);

  void start();
  void close(cause why);
  bool is_closed() const noexcept { return closed_.load(std::memory_order_acquire); } ///< thread-safe
  /// No byte of a request has come and none is being answered.
  bool is_idle() const noexcept;
  /// Bytes have come that were not read yet.
  bool has_input() const;
  unsigned born() const noexcept { return born_; } ///< `drains` of the worker when it was made

  // What an exchange does; nothing when `id` is not the request being answered.
  void reply(request_id id, int status, const header_list& headers, std::string body);
  void begin(request_id id, int status, const header_list& headers);
  bool write(request_id id, std::string_view piece, std::size_t bound);
  void end(request_id id, const http::request& request);
  void abort(request_id id);
  void end_early(request_id id);
  void on_gone(request_id id, std::function<void()> callback);
  void on_room(request_id id, std::function<void()> callback);
  /// The handler gives up: 500, or a cut when an answer has begun. `request` is the one it got, or null.
  void fail(request_id id, const http::request* request, std::string_view thrown = {}) noexcept;

  io_executor executor() const noexcept { return executor_; }
  std::list<std::shared_ptr<connection>>::iterator position; ///< in the worker's list, which owns it while open

private:
  enum class phase { securing, reading, answering, sending, lingering, closed };
  enum class limit { none, idle, head, body, write, linger }; ///< which time limit runs

  void secure();
  void refuse_plain();
  void read_more();
  std::size_t wanted_capacity() const noexcept;
  void on_read(const boost::system::error_code& error, std::size_t bytes);
  void watch();
  void on_watch(const boost::system::error_code& error);
  void on_read_end(const boost::system::error_code& error);
  void process();
  bool process_one();
  void dispatch();
  bool screen();
  void refuse(refusal why);
  void refuse_with(int status, const header_list& headers, std::string body);
  void discard(std::size_t bytes);

  void put_head(int status, answer_framing framing, std::uint64_t length, const header_list& headers);
  void finish_answer();
  void answer_sent();
  void flush();
  void lost();
  void send_rest();
  void send_more();
  void tell_to_continue();
  void on_sent(const boost::system::error_code& error, std::size_t bytes);
  void linger();

  void update_limit();
  void set_limit(limit which, duration length);
  void arm();
  void on_timer(const boost::system::error_code& error);
  void on_limit();
  void refuse_late(std::string_view part, duration allowed);

  std::shared_ptr<server_worker> worker_;
  io_executor executor_;
  unsigned born_;
  std::optional<server_stream> stream_; ///< none once closed: an exchange may outlive the io_context
  std::optional<server_timer> timer_;
  std::optional<server_timer> watch_; ///< while a client has sent too much ahead to be read
  request_parser parser_;
  input_buffer input_;
  output_queue output_;
  std::function<void()> on_gone_;
  std::function<void()> on_room_;
  request_id current_ = 0; ///< being answered; 0: none
  request_id last_ = 0;
  time_point deadline_{};
  time_point armed_until_{}; ///< the timer fires then and looks at `deadline_`
  std::size_t discarded_ = 0;
  phase phase_ = phase::reading;
  limit limit_ = limit::none;
  std::atomic<bool> closed_{false};
  bool armed_ = false;
  bool watching_ = false;   ///< `watch_` is pending
  bool reading_ = false;    ///< a read is pending
  bool writing_ = false;    ///< a write is pending
  bool processing_ = false; ///< `process` is on the stack: an answer given within the handler must not recurse into it
  bool keep_alive_ = true;
  bool http_1_0_ = false;
  bool begun_ = false;     ///< the answer's head is queued
  bool chunked_ = false;   ///< its body is chunked
  bool bodyless_ = false;  ///< its body is not sent: the request is HEAD or the status has none
  bool head_only_ = false; ///< the request is HEAD
  bool refused_ = false;   ///< what still comes is discarded
  bool told_to_continue_ = false;
  bool screened_ = false;   ///< the head of the request being read was looked at
  bool peer_ended_ = false; ///< the client has closed its sending half
  bool broken_ = false;     ///< a send failed; the close is on its way
};

} // namespace switchyard::http
