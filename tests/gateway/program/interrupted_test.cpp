// A key whose request a crash cut off, through the whole program.

#include "gateway_process.hpp"

#include "adapters/http/server/fixture.hpp"

#include <signal.h>

#include <optional>

using namespace switchyard;
using namespace switchyard::gateway::test;
using http::test::answer;
using http::test::raw_client;

namespace {

/// A gateway whose provider answers when the test says so, killed and started again on the same data.
class killed_gateway {
public:
  explicit killed_gateway(const std::string& on_interrupted)
      : config_(folder_.write("switchyard.json", R"({
          "providers": { "p": { "base_url": "http://)" +
                                                     provider_.server->address() + R"(/v1" } },
          "routes": { "chat": { "provider": "p", "model": "m" } },
          "idempotency": { "on_interrupted": ")" + on_interrupted +
                                                     R"(" },
          "gateway": { "listen": "127.0.0.1:0" }, "admin": { "listen": "127.0.0.1:0" } })")) {
    start();
  }

  void start() {
    process_.emplace(folder_,
                     std::vector<std::string>{"--config", config_, "--data-dir", (folder_.path() / "data").string()});
    process_->wait_ready();
  }

  void kill() {
    process_->signal(SIGKILL);
    CHECK(process_->wait_end() == 128 + SIGKILL);
  }

  raw_client begin(const std::string& prompt, const std::string& more = {}) const {
    const auto body = R"({"model":"chat","messages":[{"role":"user","content":")" + prompt + R"("}]})";
    raw_client c(process_->port());
    REQUIRE(c.send("POST /v1/chat/completions HTTP/1.1\r\nHost: a\r\nIdempotency-Key: k\r\n" + more +
                   "Content-Length: " + std::to_string(body.size()) + "\r\n\r\n" + body));
    return c;
  }

  /// The provider's next call, to be answered or not.
  std::shared_ptr<http::exchange> call() { return held_.take(); }
  static void answer_call(const std::shared_ptr<http::exchange>& x) {
    http::test::on_thread_of(*x, [&] {
      header_list headers;
      headers.add("Content-Type", "application/json");
      x->reply(200, headers, R"({"choices":[{"message":{"content":"hello"}}]})");
    });
  }

private:
  temp_dir folder_;
  http::test::mailbox<std::shared_ptr<http::exchange>> held_;
  http::test::running_server provider_{[this](std::shared_ptr<http::exchange> x) { held_.put(std::move(x)); }};
  std::string config_;
  std::optional<gateway_process> process_;
};

} // namespace

TEST_CASE("with `fail` an interrupted key is refused and not run again, whatever its body [I10, I3]") {
  killed_gateway g("fail");
  auto first = g.begin("x");
  const auto cut = g.call();
  g.kill();
  g.start();
  for (int i = 0; i < 2; ++i) {
    const auto refused = g.begin("x").receive();
    CHECK(refused.status == 409);
    CHECK(refused.body.find("idempotency_interrupted") != std::string::npos);
    CHECK(refused.has("x-should-retry: false"));
  }
  CHECK(g.begin("y").receive().status == 422);
}

TEST_CASE("with `fail` the key is free again when its own time is over [I10]") {
  killed_gateway g("fail");
  auto first = g.begin("x", "X-Switchyard-Idempotency-TTL: 1s\r\n");
  const auto cut = g.call();
  g.kill();
  g.start();
  // Refused until its second is over; then its call ends with the caller's own deadline, as nobody answers it.
  answer got;
  CHECK(http::test::eventually([&] {
    got = g.begin("x", "X-Switchyard-Timeout: 100ms\r\n").receive();
    return got.status != 409;
  }));
  CHECK(got.status == 504);
}

TEST_CASE("by default an interrupted key runs again, once for all who ask, and is then replayed [I10, I4]") {
  killed_gateway g("rerun");
  auto first = g.begin("x");
  const auto cut = g.call();
  g.kill();
  g.start();
  auto again = g.begin("x"), besides = g.begin("x");
  killed_gateway::answer_call(g.call());
  const auto one = again.receive(), two = besides.receive();
  CHECK(one.status == 200);
  CHECK(one.body == two.body);
  CHECK((one.has("Idempotency-Replayed: true") || two.has("Idempotency-Replayed: true")));
  CHECK(g.begin("x").receive().has("Idempotency-Replayed: true"));
}
