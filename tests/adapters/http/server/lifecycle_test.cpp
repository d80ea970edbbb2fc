// Starting, draining and ending.

#include "fixture.hpp"

#include <optional>
#include <string>
#include <vector>

using namespace switchyard;
using namespace switchyard::http;
using namespace switchyard::http::test;

namespace {

server_options at(std::string address) {
  server_options options;
  options.listen = std::move(address);
  return options;
}

std::string failure(io_threads& threads, const std::string& address) {
  auto started = listen(threads, at(address), echo, plain_refusal);
  return started ? "started" : started.error();
}

bool has(const std::string& text, std::string_view part) {
  return text.find(part) != std::string::npos;
}

} // namespace

TEST_CASE("an address is a host or name with a port, and an error names it and the reason") {
  io_threads threads{2};
  for (const auto* address : {"127.0.0.1:0", "localhost:0", "[::1]:0", "0.0.0.0:0"}) {
    auto started = listen(threads, at(address), echo, plain_refusal);
    if (!started && has(started.error(), "Cannot assign requested address"))
      continue; // a machine without IPv6
    INFO((started ? "" : started.error()));
    REQUIRE(started);
    CHECK(port_of((*started)->address()) != 0);
    if (std::string_view(address) == "[::1]:0")
      CHECK((*started)->address().starts_with("[::1]:"));
    if (std::string_view(address) == "localhost:0")
      CHECK((*started)->address().starts_with("127.0.0.1:"));
  }
  for (const auto* address : {"", "127.0.0.1", ":80", "127.0.0.1:", "127.0.0.1:x", "127.0.0.1:65536", "127.0.0.1:-1",
                              "::1:80", "[::1]", "[]:80"}) {
    const auto text = failure(threads, address);
    CHECK(has(text, "cannot listen on " + std::string(address) + ": "));
    CHECK(has(text, "HOST:PORT"));
  }
  CHECK(has(failure(threads, "no-such-host.invalid:1"), "cannot listen on no-such-host.invalid:1: no such host"));
  CHECK(has(failure(threads, "192.0.2.1:1"), "Cannot assign requested address")); // a documentation address
}

TEST_CASE("a taken port is an error, also when another server of the same kind has it") {
  for (const std::size_t count : {1u, 2u}) {
    io_threads threads{count};
    auto first = listen(threads, at("127.0.0.1:0"), echo, plain_refusal);
    REQUIRE(first);
    io_threads others{2};
    const auto text = failure(others, (*first)->address());
    CHECK(has(text, "cannot listen on " + (*first)->address()));
    CHECK(has(text, "Address already in use"));
  }
}

TEST_CASE("a server restarts on its port at once, with connections of the last one lingering") {
  std::optional<running_server> s(std::in_place, echo);
  const auto address = s->server->address();
  for (int i = 0; i < 20; ++i) {
    auto c = s->client();
    REQUIRE(c.send(simple_get));
    CHECK(c.receive().status == 200);
    s.reset(); // the server closes first: TIME_WAIT is on its side
    s.emplace(echo, at(address));
    CHECK(s->server->address() == address);
  }
}

TEST_CASE("all I/O threads accept") {
  mailbox<boost::asio::io_context*> used;
  running_server s([&](const std::shared_ptr<exchange>& x) {
    used.put(&x->context());
    echo(x);
  });
  bool both = false;
  boost::asio::io_context* first = nullptr;
  for (int i = 0; i < 1000 && !both; ++i) {
    auto c = s.client();
    REQUIRE(c.send(simple_get));
    CHECK(c.receive().status == 200);
    auto* const context = used.take();
    both = first != nullptr && context != first;
    first = context;
  }
  CHECK(both);
}

TEST_CASE("draining closes idle connections and lets those in flight finish with Connection: close") {
  mailbox<std::shared_ptr<exchange>> held;
  running_server s([&](std::shared_ptr<exchange> x) {
    if (x->request().path == "/hold")
      held.put(std::move(x));
    else
      echo(x);
  });
  auto idle = s.client();
  REQUIRE(idle.send(simple_get));
  CHECK(idle.receive().status == 200);
  auto fresh = s.client();
  auto in_flight = s.client();
  REQUIRE(in_flight.send("GET /hold HTTP/1.1\r\nHost: a\r\n\r\n"));
  const auto x = held.take();
  auto half = s.client();
  REQUIRE(half.send("POST / HTTP/1.1\r\nHost: a\r\nExpect: 100-continue\r\nContent-Length: 1\r\n\r\n"));
  CHECK(half.receive().status == 100);
  REQUIRE(s.connections_become(4));

  s.server->stop_accepting();
  s.server->drain();
  CHECK(s.server->connections() == 2);
  CHECK(idle.receive_all().empty());
  CHECK(fresh.receive_all().empty());
  CHECK_FALSE(raw_client().connect(s.port));
  REQUIRE(half.send("x"));
  const auto last = half.receive();
  CHECK(last.body == "POST /? x");
  CHECK(last.has("Connection: close"));
  on_thread_of(*x, [&] { echo(x); });
  CHECK(in_flight.receive().has("Connection: close"));
  CHECK(in_flight.receive_all().empty());
  CHECK(s.connections_become(0));
}

TEST_CASE("a connection made while draining may ask until the next drain, which closes the silent ones") {
  running_server s(echo);
  s.server->drain();
  auto asks = s.client();
  auto silent = s.client();
  REQUIRE(s.connections_become(2));
  REQUIRE(asks.send(simple_get));
  CHECK(asks.receive().has("Connection: close"));
  REQUIRE(s.connections_become(1));
  s.server->drain();
  CHECK(s.server->connections() == 0);
  CHECK(silent.receive_all().empty());
}

TEST_CASE("draining answers a request that has arrived and was not read yet") {
  for (int i = 0; i < 50; ++i) {
    running_server s(echo);
    auto c = s.client();
    REQUIRE(s.connections_become(1));
    REQUIRE(c.send(simple_get));
    s.server->drain();
    CHECK(c.receive().status == 200);
  }
}

TEST_CASE("stopping to accept serves those whose connection the system had already made") {
  running_server s(echo);
  s.let_threads_turn(); // the server has begun
  std::vector<raw_client> clients;
  for (int i = 0; i < 50; ++i)
    clients.push_back(s.client());
  s.server->stop_accepting();
  for (auto& c : clients) {
    REQUIRE(c.send(simple_get));
    CHECK(c.receive().status == 200);
  }
}

TEST_CASE("closing all cuts every connection, reports those in flight, and the server goes on") {
  mailbox<std::shared_ptr<exchange>> held;
  mailbox<bool> gone;
  running_server s([&](std::shared_ptr<exchange> x) {
    x->on_gone([&] { gone.put(true); });
    held.put(std::move(x));
  });
  auto c = s.client();
  REQUIRE(c.send(simple_get));
  auto x = held.take();
  s.server->close_all();
  CHECK(s.server->connections() == 0);
  CHECK(gone.take());
  CHECK(c.receive_all().empty());
  auto next = s.client();
  REQUIRE(next.send(simple_get));
  x = held.take();
  on_thread_of(*x, [&] { echo(x); });
  CHECK(next.receive().status == 200);
}

TEST_CASE("a server is destroyed while requests are in flight and their exchanges live on") {
  std::shared_ptr<exchange> kept;
  auto handler_state = std::make_shared<int>(0);
  const std::weak_ptr<int> watched = handler_state;
  {
    mailbox<std::shared_ptr<exchange>> held;
    running_server s([&held, handler_state](std::shared_ptr<exchange> x) { held.put(std::move(x)); });
    handler_state.reset();
    auto c = s.client();
    REQUIRE(c.send(simple_get));
    kept = held.take();
    s.server.reset();
    CHECK(watched.expired()); // nothing of the handler outlives the server
    CHECK(c.receive_all().empty());
    on_thread_of(*kept, [&] {
      echo(kept);
      CHECK_FALSE(kept->write("x"));
    });
  }
  kept.reset(); // the I/O threads are gone
}

TEST_CASE("the I/O threads may be stopped first, with requests in flight") {
  mailbox<std::shared_ptr<exchange>> held;
  io_threads threads{2};
  threads.start();
  auto server = listen(
      threads, {}, [&](std::shared_ptr<exchange> x) { held.put(std::move(x)); }, plain_refusal);
  REQUIRE(server);
  raw_client c(port_of((*server)->address())), idle(port_of((*server)->address()));
  REQUIRE(c.send("GET / HTTP/1.1\r\nHost: a\r\n\r\nGET /2"));
  auto dropped_before = held.take();
  REQUIRE(idle.send(simple_get));
  auto dropped_after = held.take();
  threads.stop();
  dropped_before.reset();
  (*server)->stop_accepting();
  (*server)->drain();
  CHECK((*server)->connections() == 2);
  (*server)->close_all();
  CHECK((*server)->connections() == 0);
  server->reset();
  dropped_after.reset();
  CHECK(c.receive_all().empty());
}

TEST_CASE("a server on threads that never run starts, stops and frees its port") {
  io_threads threads{2};
  auto server = listen(threads, {}, echo, plain_refusal);
  REQUIRE(server);
  const auto address = (*server)->address();
  (*server)->drain();
  server->reset();
  CHECK(failure(threads, address) == "started");
}

TEST_CASE("a handler may stop, drain and close its own server") {
  std::weak_ptr<server> self;
  mailbox<bool> gone, returned;
  running_server s([&](const std::shared_ptr<exchange>& x) {
    x->on_gone([&] { gone.put(true); });
    const auto server = self.lock();
    server->stop_accepting();
    server->drain();
    server->close_all();
    returned.put(true);
  });
  self = s.server;
  auto c = s.client();
  REQUIRE(c.send(simple_get));
  CHECK(returned.take());
  CHECK(gone.take());
  CHECK(c.receive_all().empty());
  CHECK(s.connections_become(0));
}
