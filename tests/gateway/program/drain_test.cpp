// Ending in order. Where a time limit is not the point it is ten minutes: whoever waited for it would be seen to hang.

#include "gateway_process.hpp"

#include "adapters/http/server/fixture.hpp"

#include <signal.h>

#include <optional>

using namespace switchyard;
using namespace switchyard::gateway::test;
using http::test::answer;
using http::test::raw_client;

namespace {

using exchange_ptr = std::shared_ptr<http::exchange>;

constexpr std::string_view body = R"({"model":"chat","messages":[]})";
constexpr std::string_view get_ready = "GET /readyz HTTP/1.1\r\nHost: a\r\n\r\n";

/// A gateway in front of a provider whose answers the test gives.
class drained_gateway {
public:
  explicit drained_gateway(const std::string& grace, const std::string& header_timeout = "10m")
      : process(folder, {"--config",
                         folder.write("switchyard.json", R"({
          "providers": { "alpha": { "base_url": "http://)" + provider.server->address() +
                                                             R"(/v1", "timeouts": { "attempt": "20m" } } },
          "routes": { "chat": { "provider": "alpha", "model": "m", "deadline": "20m" } },
          "gateway": { "listen": "127.0.0.1:0", "shutdown_grace": ")" +
                                                             grace + R"(", "header_timeout": ")" + header_timeout +
                                                             R"(" },
          "admin": { "listen": "127.0.0.1:0" } })"),
                         "--data-dir", (folder.path() / "data").string()}) {
    process.wait_ready();
  }

  /// Sends a request.
  raw_client chat() const {
    auto c = process.client();
    REQUIRE(c.send("POST /v1/chat/completions HTTP/1.1\r\nHost: a\r\nContent-Length: " + std::to_string(body.size()) +
                   "\r\n\r\n" + std::string{body}));
    return c;
  }

  /// Lets the provider answer the next request.
  void answer_next() {
    const auto x = held.take();
    http::test::on_thread_of(*x, [&] {
      header_list headers;
      headers.add("Content-Type", "application/json");
      x->reply(200, headers, R"({"choices":[{"message":{"content":"hello"}}]})");
    });
  }

  /// Sends a signal and waits until new requests are refused. At least one request must be running.
  answer drain(int signal = SIGTERM) {
    process.signal(signal);
    answer refused;
    CHECK(http::test::eventually([&] {
      auto c = process.client();
      return c.send(get_ready) && (refused = c.receive()).status == 503;
    }));
    return refused;
  }

  temp_dir folder;
  http::test::mailbox<exchange_ptr> held;
  http::test::running_server provider{[this](exchange_ptr x) { held.put(std::move(x)); }};
  gateway_process process;
};

} // namespace

TEST_CASE("SIGTERM and SIGINT let running requests finish, refuse new ones, and end with 0") {
  for (const int signal : {SIGTERM, SIGINT}) {
    drained_gateway g{"10m"};
    auto running = g.chat();
    auto late = g.process.client();
    const auto x = g.held.take();
    g.held.put(x);
    CHECK(g.drain(signal).has("Connection: close"));
    const auto refused = g.chat().receive();
    CHECK(refused.status == 503);
    CHECK(refused.has("Connection: close"));
    CHECK(refused.body.find("\"code\":\"shutting_down\"") != std::string::npos);
    g.answer_next();
    const auto got = running.receive();
    CHECK(got.status == 200);
    CHECK(got.has("Connection: close"));
    CHECK(g.process.wait_end() == 0);
    CHECK_FALSE(raw_client().connect(g.process.port()));
  }
}

TEST_CASE("a drain without running requests ends at once, whatever connections are idle") {
  drained_gateway g{"10m"};
  auto fresh = g.process.client();
  auto idle = g.process.client();
  REQUIRE(idle.send(get_ready));
  CHECK(idle.receive().status == 200);
  g.process.signal(SIGTERM);
  CHECK(g.process.wait_end() == 0);
  CHECK(fresh.receive_all().empty());
  CHECK(idle.receive_all().empty());
}

TEST_CASE("a drain waited for a connection that was made meanwhile and says nothing") {
  drained_gateway g{"10m"};
  auto running = g.chat();
  auto idle = g.process.client();
  REQUIRE(idle.send(get_ready)); // so that it has been accepted, by whichever thread
  CHECK(idle.receive().status == 200);
  const auto x = g.held.take();
  g.held.put(x);
  g.drain();
  CHECK(idle.receive_all().empty()); // at once
  auto silent = g.process.client();
  g.drain(0); // it has been accepted: one that came later was answered
  g.answer_next();
  CHECK(running.receive().status == 200);
  CHECK(g.process.wait_end() == 0);
  CHECK(silent.receive_all().empty());
}

TEST_CASE("half a head has its time limit during a drain") {
  drained_gateway g{"10m", "2s"};
  auto half = g.process.client();
  REQUIRE(half.send("POST /v1/chat/comp"));
  auto running = g.chat();
  g.held.put(g.held.take()); // the gateway has read both
  g.drain();
  g.answer_next();
  CHECK(running.receive().status == 200);
  CHECK(half.receive().status == 408);
  CHECK(g.process.wait_end() == 0);
}

TEST_CASE("half a head does not hold the program longer than the grace") {
  drained_gateway g{"1s"};
  auto half = g.process.client();
  REQUIRE(half.send("POST /v1/chat/comp"));
  auto running = g.chat();
  g.held.take();
  g.process.signal(SIGTERM);
  CHECK(g.process.wait_end() == 0);
  CHECK(half.receive().status == 0);
}

TEST_CASE("requests that outlast the grace are told that the gateway shuts down") {
  drained_gateway g{"1s"};
  auto running = g.chat();
  const auto x = g.held.take();
  g.process.signal(SIGTERM);
  const auto got = running.receive();
  CHECK(got.status == 503);
  CHECK(got.body.find("\"code\":\"shutting_down\"") != std::string::npos);
  CHECK(g.process.wait_end() == 0);
}

TEST_CASE("a second signal ends the grace") {
  drained_gateway g{"10m"};
  auto running = g.chat();
  const auto x = g.held.take();
  g.drain();
  g.process.signal(SIGTERM);
  CHECK(g.process.wait_end() == 0);
  CHECK(running.receive().status != 200);
}
