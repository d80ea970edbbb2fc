// One connection's TLS. OpenSSL reads and writes the socket itself, through a BIO that never blocks and raises no
// signal: no second buffer, and a write is as synchronous as one without TLS.

#include "server_tls.hpp"

#include <boost/asio/error.hpp>

#include <algorithm>
#include <cstring>
#include <new>
#include <openssl/bio.h>
#include <openssl/err.h>

namespace switchyard::http {

namespace asio = boost::asio;
using boost::system::error_code;

namespace {

constexpr std::size_t largest_record = 16 * 1024; // RFC 8446 5.1
// Written in one go; then the other connections of the thread have their turn.
constexpr std::size_t longest_turn = 16 * largest_record;
constexpr unsigned char handshake_record = 22; // RFC 8446 5.1

bool is_blocked(const error_code& error) noexcept {
  return error == asio::error::would_block || error == asio::error::try_again;
}

server_socket& socket_of(BIO* bio) noexcept {
  return *static_cast<server_socket*>(BIO_get_data(bio));
}

int bio_write(BIO* bio, const char* data, int size) {
  BIO_clear_retry_flags(bio);
  error_code error;
  const auto sent = socket_of(bio).write_some(asio::buffer(data, static_cast<std::size_t>(size)), error);
  if (!error)
    return static_cast<int>(sent);
  if (is_blocked(error))
    BIO_set_retry_write(bio);
  return -1;
}

int bio_read(BIO* bio, char* into, int size) {
  BIO_clear_retry_flags(bio);
  error_code error;
  const auto got = socket_of(bio).read_some(asio::buffer(into, static_cast<std::size_t>(size)), error);
  if (!error)
    return static_cast<int>(got);
  if (is_blocked(error))
    BIO_set_retry_read(bio);
  return error == asio::error::eof ? 0 : -1;
}

long bio_control(BIO*, int command, long, void*) {
  return command == BIO_CTRL_FLUSH ? 1 : 0;
}

int bio_create(BIO* bio) {
  BIO_set_init(bio, 1);
  return 1;
}

const BIO_METHOD* socket_method() {
  static BIO_METHOD* const method = [] {
    auto* made = BIO_meth_new(BIO_get_new_index() | BIO_TYPE_SOURCE_SINK, "server socket");
    if (made == nullptr)
      throw std::bad_alloc();
    BIO_meth_set_write(made, bio_write);
    BIO_meth_set_read(made, bio_read);
    BIO_meth_set_ctrl(made, bio_control);
    BIO_meth_set_create(made, bio_create);
    return made;
  }();
  return method;
}

// The bytes from `sent` on that go into one record. A head and the beginning of its body are joined in `joined`: a
// small answer is one record, not two. The same bytes give the same record, as a repeated SSL_write needs.
asio::const_buffer next_record(const std::array<asio::const_buffer, 2>& bytes, std::size_t sent,
                               std::array<char, largest_record>& joined) {
  const auto of_head = std::min(sent, bytes[0].size());
  const auto head = bytes[0] + of_head;
  const auto body = bytes[1] + (sent - of_head);
  if (head.size() == 0 || head.size() >= joined.size() || body.size() == 0)
    return head.size() > 0 ? head : body;
  std::memcpy(joined.data(), head.data(), head.size());
  const auto more = std::min(body.size(), joined.size() - head.size());
  std::memcpy(joined.data() + head.size(), body.data(), more);
  return {joined.data(), head.size() + more};
}

} // namespace

tls_session::tls_session(const server_tls& shared, server_socket& socket)
    : socket_(socket), ssl_(SSL_new(shared.context())) {
  auto* const bio = BIO_new(socket_method());
  if (!ssl_ || bio == nullptr) {
    BIO_free(bio);
    throw std::bad_alloc();
  }
  BIO_set_data(bio, &socket_);
  SSL_set_bio(ssl_.get(), bio, bio);
  SSL_set_accept_state(ssl_.get());
}

error_code tls_session::failure(int result, server_socket::wait_type& wait) noexcept {
  switch (SSL_get_error(ssl_.get(), result)) {
  case SSL_ERROR_WANT_READ:
    wait = server_socket::wait_read;
    return asio::error::would_block;
  case SSL_ERROR_WANT_WRITE:
    wait = server_socket::wait_write;
    return asio::error::would_block;
  case SSL_ERROR_ZERO_RETURN:
    return asio::error::eof;
  default:
    usable_ = false;
    ERR_clear_error();
    return asio::error::connection_reset;
  }
}

// Looks without taking, so that whoever speaks plain HTTP can be told so in the same.
bool tls_session::speaks_tls(error_code& error) {
  unsigned char first = 0;
  socket_.receive(asio::buffer(&first, 1), server_socket::message_peek, error);
  return !error && first == handshake_record;
}

tls_session::progress tls_session::shake_hands() {
  error_code error;
  if (!begun_) {
    const bool tls = speaks_tls(error);
    if (is_blocked(error))
      return progress::blocked;
    if (error)
      return progress::failed;
    if (!tls)
      return progress::not_tls;
    begun_ = true;
  }
  ERR_clear_error();
  const auto result = SSL_do_handshake(ssl_.get());
  if (result == 1) {
    usable_ = true;
    read_wait_ = server_socket::wait_read;
    return progress::done;
  }
  error = failure(result, read_wait_);
  return is_blocked(error) ? progress::blocked : progress::failed;
}

std::size_t tls_session::read(asio::mutable_buffer into, error_code& error) {
  ERR_clear_error();
  std::size_t got = 0;
  read_wait_ = server_socket::wait_read;
  const auto result = SSL_read_ex(ssl_.get(), into.data(), into.size(), &got);
  error = result == 1 ? error_code{} : failure(result, read_wait_);
  starved_ = is_blocked(error);
  return got;
}

std::size_t tls_session::write(const std::array<asio::const_buffer, 2>& bytes, error_code& error) {
  error = {};
  write_wait_ = server_socket::wait_write;
  std::array<char, largest_record> joined;
  std::size_t sent = 0;
  while (sent < longest_turn) {
    const auto record = next_record(bytes, sent, joined);
    if (record.size() == 0)
      break;
    ERR_clear_error();
    std::size_t written = 0;
    const auto result = SSL_write_ex(ssl_.get(), record.data(), record.size(), &written);
    if (result != 1) {
      error = failure(result, write_wait_);
      if (is_blocked(error))
        error = {};
      break;
    }
    sent += written;
  }
  return sent;
}

void tls_session::end_writing() noexcept {
  if (!usable_)
    return;
  ERR_clear_error();
  SSL_shutdown(ssl_.get());
  ERR_clear_error();
}

} // namespace switchyard::http
