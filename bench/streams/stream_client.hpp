#pragma once

// One client of a streamed answer, as bare as can be: it must cost less than what it measures.

#include <boost/asio/io_context.hpp>
#include <boost/asio/ip/tcp.hpp>
#include <boost/asio/steady_timer.hpp>

#include <array>
#include <chrono>
#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace switchyard::bench {

using clock = std::chrono::steady_clock;

/// When and how a client leaves before its stream has ended.
struct leaving {
  enum class moment : std::uint8_t { before_request, within_request, before_head, after_events, after_time } when{};
  std::uint32_t events = 0;          ///< with after_events
  std::chrono::milliseconds after{}; ///< with after_time
  bool reset = false;                ///< by RST instead of FIN
};

/// What became of one stream.
struct stream_outcome {
  bool whole = false;                   ///< status 200, [DONE] and the proper end of the body
  std::string content;                  ///< of all chunks, in order
  std::uint32_t chunks = 0;             ///< with content
  std::optional<clock::duration> first; ///< from the request to the first content
  std::vector<std::uint32_t> gaps_us;   ///< between contents, in microseconds
  std::string problem;                  ///< when not whole and not left
};

class stream_client : public std::enable_shared_from_this<stream_client> {
public:
  stream_client(boost::asio::io_context& io, boost::asio::ip::tcp::endpoint where, std::string request,
                std::optional<leaving> leave);

  /// Calls back once.
  void start(std::function<void(stream_outcome)> done);

private:
  using error_code = boost::system::error_code;

  void on_connected(const error_code& ec);
  void read();
  void on_read(const error_code& ec, std::size_t n);
  void on_line(std::string_view line);
  void on_content(std::string_view escaped);
  void leave();
  void finish(std::string problem = {});

  boost::asio::ip::tcp::socket socket_;
  boost::asio::steady_timer timer_;
  boost::asio::ip::tcp::endpoint where_;
  std::string request_;
  std::optional<leaving> leave_;
  std::function<void(stream_outcome)> done_;
  stream_outcome outcome_;
  std::array<char, 8192> buffer_;
  std::string rest_; ///< a line that is not whole yet
  bool ok_ = false;  ///< the status was 200
  bool said_done_ = false;
  clock::time_point began_{}, last_{};
};

} // namespace switchyard::bench
