// Failures on the wire and time limits.

#include "fixture.hpp"

namespace switchyard::http::test {

using namespace std::chrono_literals;

namespace {

/// A port on which nobody listens: bound, so that nobody else takes it.
class closed_port {
public:
  closed_port() : acceptor_(context_, {boost::asio::ip::make_address("127.0.0.1"), 0}, false) {
    boost::system::error_code ignored;
    address_ = acceptor_.local_endpoint();
    acceptor_.close();
    holder_.open(address_.protocol());
    holder_.bind(address_);
  }
  std::string url() const { return "http://127.0.0.1:" + std::to_string(address_.port()); }

private:
  boost::asio::io_context context_;
  boost::asio::ip::tcp::acceptor acceptor_;
  boost::asio::ip::tcp::endpoint address_;
  boost::asio::ip::tcp::socket holder_{context_};
};

/// Calls a server that answers with `bytes` and then says nothing; the connection must be closed by the client [F3].
provider_result stalled(const std::string& bytes, const std::function<void(provider_settings&)>& change) {
  std::promise<bool> ended;
  scripted_server server([&](peer& p) {
    p.read_request();
    p.write(bytes);
    ended.set_value(p.sees_end());
  });
  fixture f(server.url());
  change(f.settings);
  auto r = f.call();
  CHECK(ended.get_future().get());
  CHECK(f.client().figures().active == 0);
  CHECK(f.client().figures().idle == 0);
  return r;
}

} // namespace

TEST_CASE("a port without a listener is refused and nothing was sent") {
  closed_port port;
  fixture f(port.url());
  f.settings.api_key = secret("hunter2");
  const auto r = f.call();
  CHECK(r.error == transport_error::refused);
  CHECK(!r.sent);
  CHECK(!r.responded);
  CHECK(r.error_detail.find("hunter2") == std::string::npos);
}

TEST_CASE("a name that does not exist is a dns failure") {
  fixture f("http://no-such-host.invalid/");
  f.settings.timeouts.connect = 10s;
  const auto r = f.call();
  // Without a resolver the look-up may outlast the limit.
  CHECK((r.error == transport_error::dns || r.error == transport_error::connect_timeout));
  CHECK(!r.sent);
}

TEST_CASE("a connection that is reset is reset") {
  const auto r = call_once([](peer& p) {
    p.read_request();
    p.reset();
  });
  CHECK(r.error == transport_error::reset);
  CHECK(r.sent);
}

TEST_CASE("a connection reset within the body is reset, and nothing of the answer is left") {
  const auto r = call_once([](peer& p) {
    p.read_request();
    p.write("HTTP/1.1 200 OK\r\nContent-Length: 100\r\nX: y\r\n\r\nhalf");
    p.reset();
  });
  CHECK(r.error == transport_error::reset);
  CHECK(r.responded);
  CHECK(r.status == 0);
  CHECK(r.headers.empty());
  CHECK(r.body.empty());
}

TEST_CASE("no answer in time is first_byte_timeout and closes the connection [F3]") {
  const auto r = stalled("", [](provider_settings& s) { s.timeouts.first_byte = 50ms; });
  CHECK(r.error == transport_error::first_byte_timeout);
  CHECK(r.sent);
  CHECK(!r.responded);
}

TEST_CASE("an interim answer does not end the wait for the first byte [F3]") {
  const auto r =
      stalled("HTTP/1.1 102 Processing\r\n\r\n", [](provider_settings& s) { s.timeouts.first_byte = 200ms; });
  CHECK(r.error == transport_error::first_byte_timeout);
}

TEST_CASE("an answer that stalls is idle_timeout and closes the connection [F3]") {
  const auto* bytes = GENERATE("HTTP/1.1 200 OK\r\nContent-Length: 100\r\n\r\nhalf", "HTTP/1.1 200 OK\r\nConte",
                               "HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n4\r\nhalf\r\n",
                               "HTTP/1.1 200 OK\r\n\r\nuntil the end");
  const auto r = stalled(bytes, [](provider_settings& s) {
    s.timeouts.first_byte = 9s;
    s.timeouts.idle = 50ms;
  });
  CHECK(r.error == transport_error::idle_timeout);
  CHECK(r.responded);
}

TEST_CASE("no whole answer within the attempt's limit is attempt_timeout and closes the connection [F3]") {
  const auto* bytes = GENERATE("", "HTTP/1.1 200 OK\r\nContent-Length: 100\r\n\r\nhalf");
  const auto r = stalled(bytes, [](provider_settings& s) { s.timeouts.attempt = 300ms; });
  CHECK(r.error == transport_error::attempt_timeout);
}

TEST_CASE("a request that nobody reads is attempt_timeout [F3]") {
  std::promise<void> over;
  scripted_server server([&](peer&) { over.get_future().wait_for(patience); });
  fixture f(server.url());
  f.settings.timeouts.attempt = 300ms;
  CHECK(f.call(request_with(std::string(30'000'000, 'z'))).error == transport_error::attempt_timeout);
  over.set_value();
}

TEST_CASE("a TLS handshake that never comes is connect_timeout and closes the connection [F3]") {
  std::promise<bool> ended;
  scripted_server server([&](peer& p) { ended.set_value(p.sees_end()); });
  fixture f(server.url("https"));
  f.settings.timeouts.connect = 100ms;
  const auto r = f.call();
  CHECK(r.error == transport_error::connect_timeout);
  CHECK(!r.sent);
  CHECK(ended.get_future().get());
}

TEST_CASE("an earlier limit of a later request holds on a kept connection [F3]") {
  scripted_server server([](peer& p) {
    p.read_request();
    p.write(answer_with("x"));
    p.read_request();
    p.write("HTTP/1.1 200 OK\r\nContent-Length: 100\r\n\r\nhalf");
    p.sees_end();
  });
  fixture f(server.url());
  f.settings.timeouts.idle = 50ms; // far earlier than the timer that the first request leaves
  CHECK(!f.call().error);
  CHECK(f.call().error == transport_error::idle_timeout);
  CHECK(server.connections() == 1);
}

TEST_CASE("limits that mean never are no overflow") {
  scripted_server server(echo);
  fixture f("http://localhost:" + std::to_string(server.port()));
  auto& t = f.settings.timeouts;
  t.connect = t.idle = t.attempt = duration::max();
  t.first_byte = duration::max();
  CHECK(!f.call().error);
  CHECK(f.call(request_with(std::string(100'000, 'x'))).body.size() == 100'000);
}

} // namespace switchyard::http::test
