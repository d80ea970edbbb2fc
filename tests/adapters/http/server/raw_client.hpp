#pragma once

// A client that sends exactly the bytes it is given. Blocking, with a generous limit on every receive.

#include <cstdint>
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
  bool is_reset() const noexcept { return reset_; } ///< what ended it

private:
  bool fill();
  std::string receive_chunks();

  int socket_ = -1;
  std::string received_;
  bool reset_ = false;
};

} // namespace switchyard::http::test
