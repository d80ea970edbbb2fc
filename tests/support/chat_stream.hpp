#pragma once

// Events of a streamed chat, and providers that send them.

#include "adapters/http/client/scripted_server.hpp"

#include <chrono>
#include <future>
#include <string>
#include <string_view>
#include <utility>

namespace switchyard::test::chat_stream {

inline constexpr std::string_view head =
    "HTTP/1.1 200 OK\r\nContent-Type: text/event-stream\r\nX-Request-Id: theirs\r\nConnection: close\r\n\r\n";
inline constexpr std::string_view role = "data: {\"choices\":[{\"delta\":{\"role\":\"assistant\"}}]}\n\n";
inline constexpr std::string_view hello = "data: {\"choices\":[{\"delta\":{\"content\":\"hello\"}}]}\n\n";
inline constexpr std::string_view stop = "data: {\"choices\":[{\"delta\":{},\"finish_reason\":\"stop\"}]}\n\n";
inline constexpr std::string_view done = "data: [DONE]\n\n";

template <class... Parts>
std::string text(const Parts&... parts) {
  std::string all;
  (all.append(parts), ...);
  return all;
}

/// Says this to the first request of each connection, and closes.
inline http::test::script says(std::string bytes) {
  return [bytes = std::move(bytes)](http::test::peer& p) {
    if (p.read_request())
      p.write(bytes);
  };
}

/// A provider that says something to its first request, then waits for its client to leave.
class watching_provider {
public:
  explicit watching_provider(std::string bytes)
      : server_([this, bytes = std::move(bytes)](http::test::peer& p) {
          if (!p.read_request())
            return;
          p.write(bytes);
          left_.set_value(p.sees_end());
        }) {}

  std::string url() const { return server_.url(); }

  /// Waits for it; to be asked once.
  bool client_has_left() {
    auto left = left_.get_future();
    return left.wait_for(std::chrono::seconds{10}) == std::future_status::ready && left.get();
  }

private:
  std::promise<bool> left_;
  http::test::scripted_server server_; ///< after what its script uses: ends first
};

} // namespace switchyard::test::chat_stream
