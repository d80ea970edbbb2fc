#include "client_connection.hpp"

#include "client_core.hpp"
#include "connection_pool.hpp"

#include <boost/asio/connect.hpp>
#include <boost/asio/error.hpp>
#include <boost/asio/post.hpp>
#include <boost/asio/ssl/error.hpp>

#include <algorithm>

namespace switchyard::http {

namespace asio = boost::asio;
using boost::system::error_code;

namespace {

constexpr std::size_t first_read = 4 * 1024;
constexpr std::size_t largest_read = 64 * 1024;
constexpr duration end_linger = std::chrono::milliseconds{500};
constexpr std::size_t kept_buffer = 16 * 1024; ///< an idle connection keeps no more

transport_error connect_error(const error_code& ec) noexcept {
  if (ec == asio::error::connection_refused)
    return transport_error::refused;
  if (ec == asio::error::timed_out)
    return transport_error::connect_timeout;
  if (ec == asio::error::connection_reset)
    return transport_error::reset;
  return transport_error::other;
}

} // namespace

client_connection::client_connection(client_core& core, connection_pool& pool)
    : core_(core.shared_from_this()),
      pool_(pool),
      timer_(pool.context()),
      read_size_(first_read),
      buffer_(client_answer::max_head) {}

client_connection::~client_connection() {
  pool_.remove(*this); // when the context goes away with its handlers, nothing was closed before
}

void client_connection::open(attempt_ref attempt) {
  attempt_ = std::move(attempt);
  attempt_->set_connection(this);
  const auto now = clock_now();
  limit_ = plus(now, core_->timeouts.connect);
  limit_error_ = transport_error::connect_timeout;
  schedule();
  if (const auto* known = pool_.addresses(now))
    on_addresses({}, *known);
  else
    pool_.resolve(*this);
}

void client_connection::on_addresses(const error_code& ec, const std::vector<tcp::endpoint>& addresses) {
  if (phase_ != phase::connecting)
    return;
  if (ec || addresses.empty())
    return fail(transport_error::dns, ec ? ec.message() : "the name has no address");
  asio::async_connect(socket(), addresses, [me = shared_from_this()](const error_code& error, const tcp::endpoint&) {
    me->on_connected(error);
  });
}

void client_connection::on_connected(const error_code& ec) {
  if (phase_ != phase::connecting)
    return;
  if (ec) {
    pool_.forget_addresses();
    return fail(connect_error(ec), ec.message());
  }
  error_code ignored;
  socket().set_option(tcp::no_delay(true), ignored);
  socket().non_blocking(true, ignored);
  secure();
}

void client_connection::on_secured(const error_code& ec, transport_error error, std::string detail) {
  if (phase_ != phase::connecting)
    return;
  if (ec)
    return fail(error, std::move(detail));
  begin_exchange();
  begin_read();
  begin_send();
}

void client_connection::reuse(attempt_ref attempt) {
  attempt_ = std::move(attempt);
  attempt_->set_connection(this);
  reused_ = true;
  phase_ = phase::checking;
  begin_exchange();
  schedule();
  if (!reading_)
    begin_read();
  // If something was there to read, the read's handler runs first and leaves `checking`.
  asio::post(pool_.context(), [me = shared_from_this()] {
    if (me->phase_ == phase::checking)
      me->begin_send();
  });
}

void client_connection::begin_exchange() {
  linger_until_.reset();
  limit_ = time_point::max(); // until it is written, the attempt's limit alone holds
  answer_.begin(attempt_->result(), core_->max_response);
  core_->target.write_head(head_, attempt_->request());
}

void client_connection::begin_read() {
  reading_ = true;
  const auto room = buffer_.max_size() - buffer_.size();
  receive(buffer_.prepare(std::min(read_size_, room)));
}

void client_connection::begin_send() {
  phase_ = phase::sending;
  sending_ = true;
  attempt_->set_sent(true);
  const auto& body = attempt_->request().body;
  send({asio::buffer(head_), body ? asio::buffer(*body) : asio::const_buffer{}});
}

void client_connection::on_sent(const error_code& ec, bool none) {
  sending_ = false;
  if (phase_ != phase::sending)
    return;
  if (ec && none && reused_)
    return replace(); // [R7]
  if (ec && none)
    attempt_->set_sent(false);
  phase_ = phase::awaiting;
  attempt_->awaits_answer(clock_now());
  // After a failed write the pending read tells how it ends: with an early answer or with an error.
  if (const auto first_byte = first_byte_limit(); first_byte && !answer_.begun()) {
    limit_ = plus(clock_now(), *first_byte);
    limit_error_ = transport_error::first_byte_timeout;
  }
  schedule();
}

void client_connection::on_received(const error_code& ec, std::size_t n) {
  reading_ = false;
  switch (phase_) {
  case phase::connecting:
  case phase::closed:
    return;
  case phase::idle: // the provider closed it, or sent what nobody asked for
    return close();
  case phase::checking:
    return replace(); // [R7]
  case phase::sending:
  case phase::awaiting:
    break;
  }
  if (ec)
    return on_end_of_stream(ec);
  attempt_->bytes_came();
  buffer_.commit(n);
  if (n >= read_size_)
    read_size_ = std::min(read_size_ * 2, largest_read);
  const auto bytes = buffer_.cdata();
  buffer_.consume(answer_.feed({static_cast<const char*>(bytes.data()), bytes.size()}));
  if (answer_.head_done() && flows())
    return on_stream_bytes();
  go_on();
}

// A program's own reader may throw: its failure is this attempt's.
bool client_connection::flows() {
  try {
    return attempt_->flows();
  } catch (...) {
    return false; // and there is no stream: the answer is taken as a whole
  }
}

void client_connection::go_on() {
  switch (answer_.where()) {
  case client_answer::state::done:
    return complete();
  case client_answer::state::failed:
    return fail(answer_.error(), answer_.detail());
  case client_answer::state::head:
  case client_answer::state::body:
    return read_on();
  }
}

// Everybody who hears of them may end this attempt, and with it this connection.
void client_connection::on_stream_bytes() {
  const auto me = shared_from_this();
  try {
    attempt_->on_body(answer_.where() == client_answer::state::done);
  } catch (...) {
    return fail(transport_error::other, "the stream could not be read");
  }
  if (phase_ == phase::closed || !attempt_)
    return;
  if (!attempt_->stream_failed() || answer_.where() == client_answer::state::failed)
    return go_on();
  auto attempt = take_attempt().release();
  close();
  attempt->finish();
}

void client_connection::read_on() {
  if (buffer_.size() == buffer_.max_size())
    return fail(transport_error::malformed_http, "a line of the answer is too long");
  if (attempt_->stream_full()) { // not the provider's silence: no limit but that of the stream
    paused_ = true;
    limit_ = time_point::max();
    return;
  }
  if (answer_.begun()) {
    // After a stream's own end only the end of its body is waited for, and not long, whatever still comes: it is whole.
    const auto now = clock_now();
    if (attempt_->stream_ended() && !linger_until_)
      linger_until_ = plus(now, end_linger);
    limit_ = linger_until_.value_or(plus(now, core_->timeouts.idle));
    limit_error_ = transport_error::idle_timeout;
    schedule();
  }
  begin_read();
}

void client_connection::resume() {
  if (std::exchange(paused_, false))
    read_on();
}

void client_connection::on_end_of_stream(const error_code& ec) {
  if (ec != asio::error::eof) {
    if (ec.category() == asio::error::get_ssl_category())
      return fail(transport_error::tls, ec.message());
    // Without TLS's own end nobody knows whether somebody cut the answer.
    const bool cut = ec == asio::ssl::error::stream_truncated;
    return fail(cut ? transport_error::early_close : transport_error::reset, ec.message());
  }
  answer_.feed_end();
  if (answer_.where() == client_answer::state::done && flows())
    on_stream_bytes();
  else
    go_on();
}

void client_connection::complete() {
  auto attempt = take_attempt().release();
  const bool keep = answer_.keep_alive() && !sending_ && phase_ == phase::awaiting && buffer_.size() == 0 &&
                    socket().is_open() && pool_.put(*this);
  if (keep) {
    phase_ = phase::idle;
    idle_since_ = clock_now();
    watched_ = false;
    if (buffer_.capacity() > kept_buffer) {
      buffer_.shrink_to_fit();
      read_size_ = first_read;
    }
    schedule();
  } else {
    close();
  }
  attempt->finish();
}

void client_connection::fail(transport_error error, std::string detail) {
  auto attempt = take_attempt().release();
  close();
  attempt->finish(error, std::move(detail));
}

void client_connection::fail_attempt(transport_error error, std::string detail) {
  fail(error, std::move(detail));
}

void client_connection::replace() {
  auto attempt = take_attempt();
  close();
  attempt->set_sent(false);
  core_->begin(std::move(attempt));
}

attempt_ref client_connection::take_attempt() noexcept {
  attempt_->set_connection(nullptr);
  return std::move(attempt_);
}

void client_connection::abort() noexcept {
  const auto attempt = attempt_.release(); // it ends itself
  close();
}

void client_connection::close() noexcept {
  if (phase_ == phase::closed)
    return;
  if (phase_ == phase::idle || phase_ == phase::connecting)
    pool_.remove(*this);
  phase_ = phase::closed;
  error_code ignored;
  socket().close(ignored);
  timer_.cancel();
}

bool client_connection::leave_pool() noexcept {
  if (reading_) { // watched, but the end may have come since the last look
    char byte;
    error_code ec;
    socket().receive(asio::buffer(&byte, 1), tcp::socket::message_peek, ec);
    if (ec != asio::error::would_block) {
      close();
      return false;
    }
  }
  return true;
}

} // namespace switchyard::http
