#include "scripted_server.hpp"

#include <signal.h>
#include <sys/socket.h>
#include <sys/time.h>

#include <algorithm>
#include <stdexcept>

namespace switchyard::http::test {

namespace {

constexpr int patience_s = 10;

using tcp = boost::asio::ip::tcp;

} // namespace

peer::peer(int number, std::shared_ptr<tcp::socket> socket) : number_(number), socket_(std::move(socket)) {
  const timeval limit{patience_s, 0};
  ::setsockopt(socket_->native_handle(), SOL_SOCKET, SO_RCVTIMEO, &limit, sizeof limit);
  ::setsockopt(socket_->native_handle(), SOL_SOCKET, SO_SNDTIMEO, &limit, sizeof limit);
  socket_->set_option(tcp::no_delay(true));
}

peer::~peer() {
  close();
}

bool peer::secure(SSL_CTX* context) {
  ssl_.reset(SSL_new(context));
  SSL_set_fd(ssl_.get(), socket_->native_handle());
  return SSL_accept(ssl_.get()) == 1;
}

int peer::read_some(char* into, int n) {
  if (ssl_)
    return SSL_read(ssl_.get(), into, n);
  return static_cast<int>(::recv(socket_->native_handle(), into, static_cast<std::size_t>(n), 0));
}

std::optional<std::string> peer::read_request() {
  std::string bytes = std::exchange(rest_, {});
  std::size_t whole = std::string::npos;
  for (;;) {
    if (const auto end = bytes.find("\r\n\r\n"); end != std::string::npos && whole == std::string::npos) {
      const auto length = bytes.find("Content-Length: ");
      whole = end + 4 + (length < end ? std::stoul(bytes.substr(length + 16)) : 0);
    }
    if (bytes.size() >= whole) {
      rest_ = bytes.substr(whole);
      bytes.resize(whole);
      return bytes;
    }
    char piece[4096];
    const auto n = read_some(piece, sizeof piece);
    if (n <= 0)
      return std::nullopt;
    bytes.append(piece, static_cast<std::size_t>(n));
  }
}

void peer::write(std::string_view bytes) {
  while (!bytes.empty()) {
    const auto n = ssl_ ? SSL_write(ssl_.get(), bytes.data(), static_cast<int>(bytes.size()))
                        : static_cast<int>(::send(socket_->native_handle(), bytes.data(), bytes.size(), MSG_NOSIGNAL));
    if (n <= 0)
      return;
    bytes.remove_prefix(static_cast<std::size_t>(n));
  }
}

bool peer::sees_end() {
  char piece[4096];
  for (;;) {
    const auto n = ::recv(socket_->native_handle(), piece, sizeof piece, 0);
    if (n == 0 || (n < 0 && errno != EAGAIN && errno != EWOULDBLOCK))
      return true;
    if (n < 0)
      return false;
  }
}

void peer::close() {
  if (ssl_)
    SSL_shutdown(ssl_.get());
  boost::system::error_code ignored;
  socket_->shutdown(tcp::socket::shutdown_both, ignored);
}

void peer::cut() {
  ssl_.reset();
  close();
}

void peer::reset() {
  ssl_.reset();
  // Dissolving the association resets the connection and leaves the descriptor to its owner.
  sockaddr nobody{};
  nobody.sa_family = AF_UNSPEC;
  ::connect(socket_->native_handle(), &nobody, sizeof nobody);
}

scripted_server::scripted_server(script s, const std::string& address)
    : script_(std::move(s)), address_(address.find(':') == std::string::npos ? address : "[" + address + "]") {
  const tcp::endpoint endpoint(boost::asio::ip::make_address(address), 0);
  acceptor_.open(endpoint.protocol());
  acceptor_.bind(endpoint);
  acceptor_.listen();
  port_ = acceptor_.local_endpoint().port();
  thread_ = std::thread([this] { run(); });
}

scripted_server::~scripted_server() {
  ::shutdown(acceptor_.native_handle(), SHUT_RDWR); // wakes the accept
  thread_.join();
  {
    std::lock_guard lock(mutex_);
    for (auto& socket : sockets_)
      ::shutdown(socket->native_handle(), SHUT_RDWR);
  }
  for (auto& t : threads_)
    t.join();
}

std::string scripted_server::url(const std::string& scheme) const {
  return scheme + "://" + address_ + ":" + std::to_string(port_) + "/v1";
}

void scripted_server::run() {
  for (;;) {
    auto socket = std::make_shared<tcp::socket>(context_);
    boost::system::error_code ec;
    acceptor_.accept(*socket, ec);
    if (ec)
      return;
    {
      std::lock_guard lock(mutex_);
      sockets_.push_back(socket);
    }
    const int number = connections_.fetch_add(1);
    threads_.emplace_back([this, number, socket] {
      // OpenSSL writes without MSG_NOSIGNAL. Only here: the client must do without.
      sigset_t pipe;
      sigemptyset(&pipe);
      sigaddset(&pipe, SIGPIPE);
      pthread_sigmask(SIG_BLOCK, &pipe, nullptr);
      peer p(number, socket);
      script_(p);
    });
  }
}

std::string answer_with(std::string_view body, std::string_view more_fields, std::string_view status) {
  std::string text("HTTP/1.1 ");
  text.append(status).append("\r\nContent-Length: ").append(std::to_string(body.size())).append("\r\n");
  return text.append(more_fields).append("\r\n").append(body);
}

void echo(peer& p) {
  while (const auto request = p.read_request())
    p.write(answer_with(request->substr(request->find("\r\n\r\n") + 4)));
}

} // namespace switchyard::http::test
