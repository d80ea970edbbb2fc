#include "http_session.hpp"

#include <boost/asio/as_tuple.hpp>
#include <boost/asio/this_coro.hpp>
#include <boost/asio/use_awaitable.hpp>
#include <boost/beast/core/flat_buffer.hpp>
#include <boost/beast/core/tcp_stream.hpp>
#include <boost/beast/http.hpp>

#include <chrono>
#include <utility>

namespace {

namespace asio = boost::asio;
namespace beast = boost::beast;
namespace http = beast::http;
using namespace std::chrono_literals;

constexpr std::uint64_t max_body = 1 << 20;

} // namespace

asio::awaitable<void> serve(asio::ip::tcp::socket socket, answer_function ask) {
  beast::tcp_stream stream{std::move(socket)};
  beast::flat_buffer buffer;
  for (;;) {
    http::request_parser<http::string_body> parser;
    parser.body_limit(max_body);
    stream.expires_after(30s);
    if (const auto [failed, bytes] =
            co_await http::async_read(stream, buffer, parser, asio::as_tuple(asio::use_awaitable));
        failed)
      co_return;
    auto request = parser.release();
    answer made{404, R"({"error":"POST /ask"})"};
    if (request.method() == http::verb::post && request.target() == "/ask") {
      stream.expires_never(); // the request's own deadline rules
      made = co_await ask(std::move(request.body()));
    }
    http::response<http::string_body> response{static_cast<http::status>(made.status), request.version(),
                                               std::move(made.body)};
    response.set(http::field::content_type, "application/json");
    response.keep_alive(request.keep_alive());
    response.prepare_payload();
    stream.expires_after(30s);
    const auto [failed, bytes] = co_await http::async_write(stream, response, asio::as_tuple(asio::use_awaitable));
    if (failed || !response.keep_alive())
      co_return;
  }
}

asio::awaitable<answer> post_ask(asio::ip::tcp::endpoint server, std::string body) {
  beast::tcp_stream stream{co_await asio::this_coro::executor};
  stream.expires_after(30s);
  co_await stream.async_connect(server, asio::use_awaitable);
  http::request<http::string_body> request{http::verb::post, "/ask", 11, std::move(body)};
  request.set(http::field::host, "localhost");
  request.prepare_payload();
  co_await http::async_write(stream, request, asio::use_awaitable);
  beast::flat_buffer buffer;
  http::response<http::string_body> response;
  co_await http::async_read(stream, buffer, response, asio::use_awaitable);
  co_return answer{static_cast<int>(response.result_int()), std::move(response.body())};
}
