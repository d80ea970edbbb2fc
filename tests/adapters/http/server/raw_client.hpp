#pragma once

// A client that sends exactly the bytes it is given, with or without TLS. Blocking, with a generous limit on every
// receive.

#include <openssl/ssl.h>

#include <cstdint>
#include <memory>
#include <string>
#include <string_view>

namespace switchyard::http::test {

/// An answer as it came.
struct answer {
  int status = 0; ///< 0: none came
  std::string head, body;
  bool has(std::string_view field) const { return head.find(std::string(field) + "\r\n") != std::string::npos; }
};

class raw_client {
public:
  raw_client(); ///< a socket not connected yet
  explicit raw_client(std::uint16_t port, int receive_buffer = 0);
  ~raw_client();
  raw_client(raw_client&& other) noexcept;
  raw_client(const raw_client&) = delete;
  raw_client& operator=(const raw_client&) = delete;

  bool connect(std::uint16_t port, int receive_buffer = 0);
  /// Shakes hands; everything below is over TLS from then on. False when the server refuses.
  bool secure(SSL_CTX* context);
  SSL* tls() const noexcept { return tls_.get(); }
  bool end_tls(); ///< close_notify
  /// Returns false when the server has cut the connection.
  bool send(std::string_view bytes);
  void finish_sending(); ///< FIN
  void reset();          ///< RST, and the socket is closed

  /// The next answer: by Content-Length, chunked (its body with the framing taken off) or to the end.
  answer receive(bool head_request = false);
  /// Receives until `text` has come; false when the end comes first.
  bool receive_until(std::string_view text);
  /// All that comes until the end or a reset.
  std::string receive_all();
  /// The next bytes; fewer when the end comes first.
  std::string take(std::size_t bytes);
  /// What ended it; with TLS also an end without close_notify.
  bool is_reset() const noexcept { return reset_; }

private:
  bool fill();
  std::string receive_chunks();

  bool fill_tls();

  int socket_ = -1;
  std::unique_ptr<SSL, decltype(&SSL_free)> tls_{nullptr, SSL_free};
  std::string received_;
  bool reset_ = false;
};

} // namespace switchyard::http::test
