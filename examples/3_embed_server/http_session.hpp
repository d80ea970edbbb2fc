#pragma once

#include <boost/asio/awaitable.hpp>
#include <boost/asio/ip/tcp.hpp>

#include <functional>
#include <string>

struct answer {
  int status = 200;
  std::string body; ///< JSON
};

/// Answers the body of a POST.
using answer_function = std::function<boost::asio::awaitable<answer>(std::string body)>;

/// Serves the requests of one connection until the client leaves: POST /ask, everything else is 404.
boost::asio::awaitable<void> serve(boost::asio::ip::tcp::socket socket, answer_function ask);

/// Sends one POST /ask and returns the answer.
boost::asio::awaitable<answer> post_ask(boost::asio::ip::tcp::endpoint server, std::string body);
