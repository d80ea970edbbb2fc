#include "raw_client.hpp"

#include <array>
#include <cerrno>
#include <netinet/in.h>
#include <netinet/tcp.h>
#include <openssl/err.h>
#include <stdexcept>
#include <sys/socket.h>
#include <sys/time.h>
#include <unistd.h>
#include <utility>

namespace switchyard::http::test {

raw_client::raw_client() : socket_(::socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0)) {
  if (socket_ < 0)
    throw std::runtime_error("no socket");
  const timeval limit{10, 0};
  ::setsockopt(socket_, SOL_SOCKET, SO_RCVTIMEO, &limit, sizeof limit);
  ::setsockopt(socket_, SOL_SOCKET, SO_SNDTIMEO, &limit, sizeof limit);
  const int on = 1;
  ::setsockopt(socket_, IPPROTO_TCP, TCP_NODELAY, &on, sizeof on);
}

raw_client::raw_client(std::uint16_t port, int receive_buffer) : raw_client() {
  if (!connect(port, receive_buffer))
    throw std::runtime_error("cannot connect");
}

raw_client::raw_client(raw_client&& other) noexcept
    : socket_(std::exchange(other.socket_, -1)),
      tls_(std::move(other.tls_)),
      received_(std::move(other.received_)),
      reset_(other.reset_) {}

raw_client::~raw_client() {
  if (socket_ >= 0)
    ::close(socket_);
}

bool raw_client::connect(std::uint16_t port, int receive_buffer) {
  if (receive_buffer > 0)
    ::setsockopt(socket_, SOL_SOCKET, SO_RCVBUF, &receive_buffer, sizeof receive_buffer);
  sockaddr_in to{};
  to.sin_family = AF_INET;
  to.sin_port = htons(port);
  to.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
  return ::connect(socket_, reinterpret_cast<const sockaddr*>(&to), sizeof to) == 0;
}

bool raw_client::secure(SSL_CTX* context) {
  tls_.reset(SSL_new(context));
  SSL_set_fd(tls_.get(), socket_);
  ERR_clear_error();
  return SSL_connect(tls_.get()) == 1;
}

bool raw_client::end_tls() {
  return SSL_shutdown(tls_.get()) >= 0;
}

bool raw_client::send(std::string_view bytes) {
  if (tls_) {
    ERR_clear_error();
    return bytes.empty() || SSL_write(tls_.get(), bytes.data(), static_cast<int>(bytes.size())) > 0;
  }
  while (!bytes.empty()) {
    const auto sent = ::send(socket_, bytes.data(), bytes.size(), MSG_NOSIGNAL);
    if (sent < 0 && errno == EINTR)
      continue;
    if (sent <= 0)
      return false;
    bytes.remove_prefix(static_cast<std::size_t>(sent));
  }
  return true;
}

void raw_client::finish_sending() {
  ::shutdown(socket_, SHUT_WR);
}

void raw_client::reset() {
  const linger at_once{1, 0};
  ::setsockopt(socket_, SOL_SOCKET, SO_LINGER, &at_once, sizeof at_once);
  ::close(std::exchange(socket_, -1));
}

bool raw_client::fill_tls() {
  std::array<char, 65536> buffer;
  ERR_clear_error();
  errno = 0;
  const int got = SSL_read(tls_.get(), buffer.data(), buffer.size());
  if (got > 0) {
    received_.append(buffer.data(), static_cast<std::size_t>(got));
    return true;
  }
  if (errno == EAGAIN)
    throw std::runtime_error("nothing came within 10 s");
  reset_ = reset_ || SSL_get_error(tls_.get(), got) != SSL_ERROR_ZERO_RETURN;
  return false;
}

bool raw_client::fill() {
  if (tls_)
    return fill_tls();
  std::array<char, 65536> buffer;
  for (;;) {
    const auto got = ::recv(socket_, buffer.data(), buffer.size(), 0);
    if (got > 0) {
      received_.append(buffer.data(), static_cast<std::size_t>(got));
      return true;
    }
    if (got < 0 && errno == EINTR)
      continue;
    if (got < 0 && errno != ECONNRESET)
      throw std::runtime_error("nothing came within 10 s");
    reset_ = reset_ || got < 0;
    return false;
  }
}

std::string raw_client::take(std::size_t bytes) {
  while (received_.size() < bytes && fill()) {
  }
  auto taken = received_.substr(0, bytes);
  received_.erase(0, taken.size());
  return taken;
}

bool raw_client::receive_until(std::string_view text) {
  while (received_.find(text) == std::string::npos)
    if (!fill())
      return false;
  received_.erase(0, received_.find(text) + text.size());
  return true;
}

std::string raw_client::receive_all() {
  while (fill()) {
  }
  return std::exchange(received_, {});
}

std::string raw_client::receive_chunks() {
  std::string body;
  for (;;) {
    std::size_t end;
    while ((end = received_.find("\r\n")) == std::string::npos)
      if (!fill())
        return body + "<cut>";
    const auto size = std::stoul(take(end + 2), nullptr, 16);
    body += take(size);
    if (take(2) != "\r\n")
      return body + "<cut>";
    if (size == 0)
      return body;
  }
}

answer raw_client::receive(bool head_request) {
  answer got;
  std::size_t end;
  while ((end = received_.find("\r\n\r\n")) == std::string::npos)
    if (!fill())
      return got;
  got.head = take(end + 4);
  got.status = std::stoi(got.head.substr(9, 3));
  const auto length = got.head.find("Content-Length: ");
  if (head_request || got.status < 200 || got.status == 204 || got.status == 304)
    return got;
  if (length != std::string::npos)
    got.body = take(std::stoul(got.head.substr(length + 16)));
  else if (got.has("Transfer-Encoding: chunked"))
    got.body = receive_chunks();
  else
    got.body = receive_all();
  return got;
}

} // namespace switchyard::http::test
