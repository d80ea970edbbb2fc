// The reading half of a connection, its time limits and its end; server_connection_answer.cpp has the other half.

#include "server_connection.hpp"

#include "server_exchange.hpp"
#include "server_worker.hpp"
#include "switchyard/engine/duration_text.hpp"
#include "switchyard/engine/what_was_thrown.hpp"

#include <algorithm>
#include <utility>

namespace switchyard::http {

namespace {

// Holds a usual request whole, and bounds what a client may send ahead of an answer.
constexpr std::size_t usual_input = 4 * 1024;
// For bodies that do not fit: fewer receives. Given back when the body is whole.
constexpr std::size_t body_input = 64 * 1024;

// How long, and for how many bytes, a refused client may go on sending before it is cut off. A close with bytes unread
// is a reset, which would take the answer from a client that has not read it yet.
constexpr duration linger_time = std::chrono::seconds{5};
constexpr std::size_t linger_bytes = 256 * 1024 * 1024;

// How often a client that cannot be read is looked at: well within the second of [S4].
constexpr duration watch_interval = std::chrono::milliseconds{400};

constexpr duration longest_limit = std::chrono::hours{24 * 365};

} // namespace

connection::connection(std::shared_ptr<server_worker> worker, server_socket socket, const server_tls* tls)
    : worker_(std::move(worker)),
      executor_(socket.get_executor()),
      born_(worker_->drains()),
      stream_(std::in_place, std::move(socket), tls),
      timer_(executor_),
      parser_({worker_->options().max_body, worker_->options().max_head}),
      phase_(stream_->has_tls() ? phase::securing : phase::reading) {}

void connection::start() {
  set_limit(limit::idle, worker_->options().header_timeout);
  if (phase_ == phase::securing)
    secure();
  else
    read_more();
}

bool connection::is_idle() const noexcept {
  return phase_ == phase::securing || (phase_ == phase::reading && !parser_.started() && input_.unread().empty());
}

bool connection::has_input() const {
  return phase_ != phase::closed && stream_->has_input();
}

void connection::close(cause why) {
  if (phase_ == phase::closed)
    return;
  const auto self = shared_from_this();
  const auto worker = std::move(worker_);
  const auto gone = std::exchange(on_gone_, nullptr);
  const auto unused = std::exchange(on_room_, nullptr); // it may hold the exchange: to be destroyed last
  const bool owed = std::exchange(current_, 0) != 0;
  phase_ = phase::closed;
  closed_.store(true, std::memory_order_release);
  timer_.reset();
  watch_.reset();
  stream_->close();
  stream_.reset();
  worker->remove(*this);
  if (why != cause::client_left || !owed || !gone)
    return;
  try {
    gone();
  } catch (...) { // the callback's own affair; the other connections of this thread go on
  }
}

// The handshake ------------------------------------------------------------------------------------------------------

void connection::secure() {
  switch (stream_->shake_hands()) {
  case tls_session::progress::blocked:
    return stream_->async_ready_to_read([self = shared_from_this()](const boost::system::error_code& error) {
      if (self->phase_ == phase::closed)
        return;
      if (error)
        return self->close(cause::ended);
      self->secure();
    });
  case tls_session::progress::done:
    phase_ = phase::reading;
    set_limit(limit::idle, worker_->options().header_timeout);
    return read_more();
  case tls_session::progress::not_tls:
    return refuse_plain();
  case tls_session::progress::failed:
    // Not closed at once: with bytes unread that would be a reset, and take the alert with it.
    stream_->give_up_tls();
    refused_ = true;
    return linger();
  }
}

void connection::refuse_plain() {
  stream_->give_up_tls();
  phase_ = phase::reading;
  refuse({400, "invalid_request", "this port speaks HTTPS: begin the URL with https://"});
}

// Reading ------------------------------------------------------------------------------------------------------------

void connection::read_more() {
  if (reading_ || peer_ended_ || phase_ == phase::closed)
    return;
  input_.fit(wanted_capacity());
  const auto space = input_.space();
  if (space.size() == 0)
    return watch(); // enough was sent ahead
  reading_ = true;
  stream_->async_read_some(space, [self = shared_from_this()](const boost::system::error_code& error,
                                                              std::size_t bytes) { self->on_read(error, bytes); });
}

void connection::watch() {
  if (watching_ || phase_ != phase::answering)
    return;
  watching_ = true;
  if (!watch_)
    watch_.emplace(executor_);
  watch_->expires_after(watch_interval);
  watch_->async_wait([self = shared_from_this()](const boost::system::error_code& error) { self->on_watch(error); });
}

void connection::on_watch(const boost::system::error_code& error) {
  watching_ = false;
  if (error || phase_ != phase::answering || reading_)
    return;
  if (stream_->peer_has_left())
    return close(cause::client_left);
  watch();
}

std::size_t connection::wanted_capacity() const noexcept {
  if (refused_ || (phase_ == phase::reading && parser_.pending_body() > usual_input))
    return body_input;
  const auto unread = input_.unread().size();
  auto wanted = usual_input;
  // The parser refuses a head or a line that outgrows its limit, so this ends.
  while (phase_ == phase::reading && wanted <= unread)
    wanted *= 2;
  return wanted;
}

void connection::on_read(const boost::system::error_code& result, std::size_t bytes) {
  reading_ = false;
  if (phase_ == phase::closed)
    return;
  auto error = result;
  if (error == boost::asio::error::would_block)
    bytes = stream_->read_now(input_.space(), error);
  if (error == boost::asio::error::would_block)
    return read_more();
  if (error)
    return on_read_end(error);
  input_.commit(bytes);
  if (refused_)
    return discard(bytes);
  process();
}

void connection::on_read_end(const boost::system::error_code& error) {
  // The whole answer is made and on its way: it may still reach a client that has only closed its sending half.
  if (phase_ == phase::sending && error == boost::asio::error::eof) {
    peer_ended_ = true;
    keep_alive_ = false;
    return;
  }
  close(cause::client_left);
}

void connection::process() {
  if (processing_)
    return;
  processing_ = true;
  while (phase_ == phase::reading && process_one()) {
  }
  processing_ = false;
  if (phase_ == phase::closed)
    return;
  update_limit();
  read_more();
}

// Returns whether there was a whole request.
bool connection::process_one() {
  input_.consume(parser_.feed(input_.unread()));
  switch (parser_.current()) {
  case request_parser::state::head:
    return false;
  case request_parser::state::body:
    if (!std::exchange(screened_, true) && screen())
      return false;
    tell_to_continue();
    return false;
  case request_parser::state::complete:
    dispatch();
    return true;
  case request_parser::state::refused:
    break;
  }
  refuse(parser_.why());
  return false;
}

// Returns whether the head was enough for an answer.
bool connection::screen() {
  if (!worker_->options().screen)
    return false;
  try {
    auto early = worker_->options().screen(parser_.request());
    if (early)
      refuse_with(early->status, early->headers, std::move(early->body));
    return early.has_value();
  } catch (...) {
    const auto thrown = what_was_thrown();
    refuse({500, "internal", "the request could not be looked at", nullptr, thrown});
    return true;
  }
}

void connection::tell_to_continue() {
  if (told_to_continue_ || !parser_.expects_continue())
    return;
  told_to_continue_ = true;
  if (!parser_.request().body.empty())
    return; // it did not wait
  output_.tail().append("HTTP/1.1 100 Continue\r\n\r\n");
  flush();
}

void connection::dispatch() {
  phase_ = phase::answering;
  limit_ = limit::none;
  const auto id = current_ = ++last_;
  keep_alive_ = parser_.keep_alive();
  http_1_0_ = parser_.http_1_0();
  head_only_ = parser_.request().method == "HEAD";
  told_to_continue_ = screened_ = begun_ = false;
  const auto worker = worker_; // the handler may close this connection
  // Outlives what the handler throws, so that its cause can be told.
  std::shared_ptr<connection_exchange> made;
  try {
    made =
        std::make_shared<connection_exchange>(shared_from_this(), id, std::move(parser_.request()), worker->context());
    worker->handle(made);
  } catch (...) {
    made ? made->failed() : fail(id, nullptr);
  }
}

void connection::refuse(refusal why) {
  why.request = &parser_.request();
  auto [headers, body] = worker_->format(why);
  refuse_with(why.status, headers, std::move(body));
}

void connection::refuse_with(int status, const header_list& headers, std::string body) {
  refused_ = true;
  keep_alive_ = head_only_ = false;
  put_head(status, answer_framing::length, body.size(), headers);
  output_.add_body(std::move(body));
  finish_answer();
}

void connection::discard(std::size_t bytes) {
  input_.clear();
  discarded_ += bytes;
  if (discarded_ > linger_bytes)
    return close(cause::ended);
  read_more();
}

void connection::linger() {
  if (peer_ended_)
    return close(cause::ended);
  phase_ = phase::lingering;
  stream_->shutdown_send();
  set_limit(limit::linger, linger_time);
  input_.clear();
  read_more();
}

// Time limits --------------------------------------------------------------------------------------------------------

// Which limit runs while reading; the other phases set their own.
void connection::update_limit() {
  if (phase_ != phase::reading)
    return;
  const auto& options = worker_->options();
  if (parser_.current() == request_parser::state::body) {
    if (limit_ != limit::body)
      set_limit(limit::body, options.body_timeout);
  } else if (!is_idle()) {
    if (limit_ != limit::head)
      set_limit(limit::head, options.header_timeout);
  } else if (limit_ != limit::idle) {
    set_limit(limit::idle, options.idle_timeout);
  }
}

// One timer serves all limits. A deadline that moves back, as with every answered request, leaves it alone: it looks
// again when it fires.
void connection::set_limit(limit which, duration length) {
  limit_ = which;
  deadline_ = std::chrono::steady_clock::now() + std::clamp(length, duration::zero(), longest_limit);
  if (!armed_ || armed_until_ > deadline_)
    arm();
}

void connection::arm() {
  armed_ = true;
  armed_until_ = deadline_;
  timer_->expires_at(deadline_);
  timer_->async_wait([self = shared_from_this()](const boost::system::error_code& error) { self->on_timer(error); });
}

void connection::on_timer(const boost::system::error_code& error) {
  if (error || phase_ == phase::closed)
    return;
  armed_ = false;
  if (limit_ == limit::none)
    return;
  if (deadline_ > std::chrono::steady_clock::now())
    return arm();
  on_limit();
}

void connection::refuse_late(std::string_view part, duration allowed) {
  const auto text = "the " + std::string{part} + " of the request was not whole within " + format_duration(allowed);
  refuse({408, "request_timeout", text});
}

void connection::on_limit() {
  switch (std::exchange(limit_, limit::none)) {
  case limit::head:
    return refuse_late("head", worker_->options().header_timeout);
  case limit::body:
    return refuse_late("body", worker_->options().body_timeout);
  case limit::write:
    return close(cause::client_left);
  case limit::none:
  case limit::idle:
  case limit::linger:
    return close(cause::ended);
  }
}

} // namespace switchyard::http
