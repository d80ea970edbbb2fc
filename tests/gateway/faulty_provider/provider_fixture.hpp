#pragma once

// A provider that runs in the test, and clients of it over loopback.

#include "service.hpp"

#include "support/catch.hpp"

#include <boost/asio.hpp>
#include <boost/json.hpp>

#include <list>
#include <memory>
#include <string>
#include <string_view>
#include <utility>

namespace faulty::test {

namespace asio = boost::asio;
namespace json = boost::json;
using asio::ip::tcp;

inline constexpr auto chat_path = "/v1/chat/completions";
inline constexpr auto hello = R"({"model":"m","messages":[{"role":"user","content":"hello"}]})";
inline constexpr auto hello_streamed = R"({"model":"m","stream":true,"messages":[{"role":"user","content":"hello"}]})";

struct reply {
  int status = 0; ///< 0: no answer
  std::string head, body;
  boost::system::error_code end; ///< how the connection ended
};

class client {
public:
  explicit client(const std::string& address) : socket_(context_) {
    const auto colon = address.rfind(':');
    socket_.connect({asio::ip::make_address(address.substr(0, colon)),
                     static_cast<std::uint16_t>(std::stoi(address.substr(colon + 1)))});
  }

  void send(const std::string& method, const std::string& path, const std::string& body = "") {
    asio::write(socket_, asio::buffer(method + " " + path + " HTTP/1.1\r\nHost: x\r\nConnection: close\r\n" +
                                      "Authorization: Bearer sk-0123456789abcdef\r\nContent-Length: " +
                                      std::to_string(body.size()) + "\r\n\r\n" + body));
  }

  /// Reads until the text is there, or the answer ends.
  bool receive_until(const std::string& text) {
    boost::system::error_code end;
    asio::read_until(socket_, asio::dynamic_buffer(received_), text, end);
    return !end;
  }

  reply receive() {
    reply r;
    std::string& all = received_;
    asio::read(socket_, asio::dynamic_buffer(all), r.end);
    const auto blank = all.find("\r\n\r\n");
    if (blank == std::string::npos)
      return r;
    r.status = std::stoi(all.substr(9, 3));
    r.head = all.substr(0, blank);
    r.body = all.substr(blank + 4);
    return r;
  }

private:
  asio::io_context context_;
  tcp::socket socket_;
  std::string received_;
};

class running_provider {
public:
  explicit running_provider(std::string_view script_text = "{}") : service_("alpha", *read_script(script_text), 1) {
    auto listening = http::listen(
        threads_, {}, [this](auto exchange) { service_.handle(std::move(exchange)); },
        [](const http::refusal&) { return std::pair<switchyard::header_list, std::string>(); });
    REQUIRE(listening.has_value());
    server_ = *listening;
    threads_.start();
  }
  ~running_provider() {
    threads_.stop();
    server_.reset();
  }

  std::string address() const { return server_->address(); }
  client connect() const { return client(address()); }

  reply call(const std::string& method, const std::string& path, const std::string& body = "") const {
    auto c = connect();
    c.send(method, path, body);
    return c.receive();
  }
  reply chat(const std::string& body = hello) const { return call("POST", chat_path, body); }

  void script(const std::string& text) const { REQUIRE(call("PUT", "/control/script", text).status == 200); }
  json::value stats() const { return json::parse(call("GET", "/control/stats").body); }

  // Asks until the figure is there; an endless wait is ended by the test's own time limit.
  void await(std::string_view figure, int value) const {
    const std::string pointer = "/" + std::string(figure);
    while (stats().at_pointer(pointer) != value) {
    }
  }

private:
  http::io_threads threads_{1};
  service service_;
  std::shared_ptr<http::server> server_;
};

} // namespace faulty::test
