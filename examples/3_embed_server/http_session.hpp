#pragma once

#include <boost/asio/awaitable.hpp>
#include <boost/asio/ip/tcp.hpp>

#include <functional>
#include <string>
#include <string_view>
#include <utility>

struct answer {
  // GCC 12 destroys a braced aggregate within a co_await expression twice; a constructor spares its users that.
  answer(int s, std::string b) : status(s), body(std::move(b)) {}

  int status;
  std::string body; ///< JSON
};

/// Answers the body of a POST.
using answer_function = std::function<boost::asio::awaitable<answer>(std::string body)>;

/// Sends a piece of an answer's body to the client.
using piece_writer = std::function<boost::asio::awaitable<void>(std::string_view piece)>;

/// Answers the body of a POST piece by piece, or at once where nothing was written.
using stream_function = std::function<boost::asio::awaitable<answer>(std::string body, piece_writer write)>;

/// Serves the requests of one connection until the client leaves: POST /ask and /ask/stream, everything else is 404.
boost::asio::awaitable<void> serve(boost::asio::ip::tcp::socket socket, answer_function ask, stream_function stream);

/// Sends one POST and returns the answer.
boost::asio::awaitable<answer> post(boost::asio::ip::tcp::endpoint server, std::string path, std::string body);
