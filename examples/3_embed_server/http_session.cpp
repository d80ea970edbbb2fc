#include "http_session.hpp"

#include <boost/asio/as_tuple.hpp>
#include <boost/asio/buffer.hpp>
#include <boost/asio/this_coro.hpp>
#include <boost/asio/use_awaitable.hpp>
#include <boost/asio/write.hpp>
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

using request_type = http::request<http::string_body>;

asio::awaitable<bool> reply(beast::tcp_stream& stream, const request_type& request, answer made) {
  http::response<http::string_body> response{static_cast<http::status>(made.status), request.version(),
                                             std::move(made.body)};
  response.set(http::field::content_type, "application/json");
  response.keep_alive(request.keep_alive());
  response.prepare_payload();
  stream.expires_after(30s);
  const auto [failed, bytes] = co_await http::async_write(stream, response, asio::as_tuple(asio::use_awaitable));
  co_return !failed && response.keep_alive();
}

// The pieces as chunks of one body; the head goes out with the first.
asio::awaitable<bool> reply_in_pieces(beast::tcp_stream& stream, request_type& request, const stream_function& ask) {
  bool begun = false;
  const auto write = [&](std::string_view piece) -> asio::awaitable<void> {
    stream.expires_after(30s);
    if (!std::exchange(begun, true)) {
      http::response<http::empty_body> head{http::status::ok, request.version()};
      head.set(http::field::content_type, "text/event-stream");
      head.chunked(true);
      http::response_serializer<http::empty_body> serializer{head};
      co_await http::async_write_header(stream, serializer, asio::use_awaitable);
    }
    co_await asio::async_write(stream, http::make_chunk(asio::buffer(piece)), asio::use_awaitable);
    stream.expires_never();
  };
  auto made = co_await ask(std::move(request.body()), write);
  if (!begun)
    co_return co_await reply(stream, request, std::move(made));
  const auto last = http::make_chunk_last();
  const auto [failed, bytes] = co_await asio::async_write(stream, last, asio::as_tuple(asio::use_awaitable));
  co_return !failed && made.status == 200;
}

} // namespace

asio::awaitable<void> serve(asio::ip::tcp::socket socket, answer_function ask, stream_function ask_stream) {
  beast::tcp_stream stream{std::move(socket)};
  beast::flat_buffer buffer;
  for (bool more = true; more;) {
    http::request_parser<http::string_body> parser;
    parser.body_limit(max_body);
    stream.expires_after(30s);
    if (const auto [failed, bytes] =
            co_await http::async_read(stream, buffer, parser, asio::as_tuple(asio::use_awaitable));
        failed)
      co_return;
    auto request = parser.release();
    const bool post = request.method() == http::verb::post;
    stream.expires_never(); // the request's own deadline rules
    if (post && request.target() == "/ask")
      more = co_await reply(stream, request, co_await ask(std::move(request.body())));
    else if (post && request.target() == "/ask/stream")
      more = co_await reply_in_pieces(stream, request, ask_stream);
    else
      more = co_await reply(stream, request, answer{404, R"({"error":"POST /ask or /ask/stream"})"});
  }
}

asio::awaitable<answer> post(asio::ip::tcp::endpoint server, std::string path, std::string body) {
  beast::tcp_stream stream{co_await asio::this_coro::executor};
  stream.expires_after(30s);
  co_await stream.async_connect(server, asio::use_awaitable);
  request_type request{http::verb::post, path, 11, std::move(body)};
  request.set(http::field::host, "localhost");
  request.prepare_payload();
  co_await http::async_write(stream, request, asio::use_awaitable);
  beast::flat_buffer buffer;
  http::response<http::string_body> response;
  co_await http::async_read(stream, buffer, response, asio::use_awaitable);
  co_return answer{static_cast<int>(response.result_int()), std::move(response.body())};
}
