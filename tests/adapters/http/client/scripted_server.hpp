#pragma once

// A server for tests that does on each connection what a script says, with blocking sockets.

#include <openssl/ssl.h>

#include <boost/asio/io_context.hpp>
#include <boost/asio/ip/tcp.hpp>

#include <atomic>
#include <cstdint>
#include <functional>
#include <memory>
#include <mutex>
#include <optional>
#include <string>
#include <string_view>
#include <thread>
#include <vector>

namespace switchyard::http::test {

/// The server's end of one connection. Each wait ends after 10 s.
class peer {
public:
  using tcp = boost::asio::ip::tcp;

  peer(int number, std::shared_ptr<tcp::socket> socket);
  ~peer();
  peer(const peer&) = delete;
  peer& operator=(const peer&) = delete;

  int number() const noexcept { return number_; } ///< 0 for the first connection

  /// TLS from here on; false when the handshake fails.
  bool secure(SSL_CTX* context);

  /// A whole request, head and body; nothing when the client leaves first.
  std::optional<std::string> read_request();
  void write(std::string_view bytes);
  /// Waits for the client to close; false when it does not.
  bool sees_end();
  void close();
  void cut();   ///< closes without TLS's own end
  void reset(); ///< closes with a TCP reset

private:
  int read_some(char* into, int n);

  int number_;
  std::shared_ptr<tcp::socket> socket_;
  std::unique_ptr<SSL, void (*)(SSL*)> ssl_{nullptr, SSL_free};
  std::string rest_; ///< read, but beyond the last request
};

using script = std::function<void(peer&)>;

class scripted_server {
public:
  explicit scripted_server(script s, const std::string& address = "127.0.0.1");
  ~scripted_server(); ///< ends every script

  std::uint16_t port() const noexcept { return port_; }
  std::string url(const std::string& scheme = "http") const; ///< scheme://address:port/v1
  int connections() const noexcept { return connections_.load(); }

private:
  void run();

  script script_;
  std::string address_;
  boost::asio::io_context context_;
  boost::asio::ip::tcp::acceptor acceptor_{context_};
  std::uint16_t port_ = 0;
  std::atomic<int> connections_{0};
  std::mutex mutex_;
  std::vector<std::shared_ptr<boost::asio::ip::tcp::socket>> sockets_; ///< under the mutex
  std::vector<std::thread> threads_;                                   ///< of the scripts; the acceptor's thread's own
  std::thread thread_;
};

/// An answer with a Content-Length.
std::string answer_with(std::string_view body, std::string_view more_fields = {}, std::string_view status = "200 OK");

/// Answers every request with its body.
void echo(peer& p);

} // namespace switchyard::http::test
