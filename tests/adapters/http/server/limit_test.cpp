// Limits on sizes, time and connections.

#include "fixture.hpp"

#include <sys/resource.h>
#include <unistd.h>

#include <atomic>
#include <string>
#include <thread>
#include <vector>

using namespace switchyard;
using namespace switchyard::http;
using namespace switchyard::http::test;

namespace {

server_options with(void (*change)(server_options&)) {
  server_options options;
  change(options);
  return options;
}

server_options with_screener(screener screen) {
  server_options options;
  options.screen = std::move(screen);
  return options;
}

} // namespace

TEST_CASE("a body over the limit gets its 413 while the client still sends, by length and in chunks") {
  running_server s(echo, with([](server_options& o) { o.max_body = 1000; }));
  for (const bool in_chunks : {false, true}) {
    auto c = s.client();
    REQUIRE(c.send(in_chunks ? "POST / HTTP/1.1\r\nHost: a\r\nTransfer-Encoding: chunked\r\n\r\n"
                             : "POST / HTTP/1.1\r\nHost: a\r\nContent-Length: 50000000\r\n\r\n"));
    // Like a client that reads only once all is sent: more than the sockets hold, so the server must take it.
    const std::string piece(100'000, 'x');
    bool sent = true;
    for (int i = 0; i < 500; ++i)
      sent = sent && c.send(in_chunks ? "186a0\r\n" + piece + "\r\n" : piece);
    CHECK(sent);
    const auto got = c.receive();
    CHECK(got.status == 413);
    CHECK(got.body == "payload_too_large");
    CHECK(got.has("Connection: close"));
    CHECK(c.receive_all().empty());
    CHECK_FALSE(c.is_reset());
  }
}

TEST_CASE("a request that its head refuses gets its answer before its body is sent, and nothing asks for that") {
  const auto refuse = [](const request& head) -> std::optional<early_answer> {
    if (head.path != "/closed")
      return std::nullopt;
    return early_answer{401, text_plain(), "not you"};
  };
  running_server s(echo, with_screener(refuse));
  for (const std::string_view wait : {"", "Expect: 100-continue\r\n"}) {
    auto c = s.client();
    REQUIRE(c.send("POST /closed HTTP/1.1\r\nHost: a\r\n" + std::string{wait} + "Content-Length: 1000000\r\n\r\n"));
    const auto got = c.receive();
    CHECK(got.status == 401);
    CHECK(got.body == "not you");
    CHECK(got.has("Connection: close"));
    // What it sends all the same is taken and dropped: a reset would take the answer from it.
    REQUIRE(c.send(std::string(1'000'000, 'x')));
    CHECK(c.receive_all().empty());
    CHECK_FALSE(c.is_reset());
  }
  auto c = s.client();
  for (int i = 0; i < 2; ++i) { // looked at for each request of a connection
    REQUIRE(c.send("POST /open HTTP/1.1\r\nHost: a\r\nContent-Length: 2\r\n\r\n"));
    s.let_threads_turn();
    REQUIRE(c.send("ab"));
    CHECK(c.receive().body == "POST /open? ab");
  }
  REQUIRE(c.send("POST /closed HTTP/1.1\r\nHost: a\r\nContent-Length: 2\r\n\r\na"));
  CHECK(c.receive().status == 401);
}

TEST_CASE("a throwing look at a head is 500, and the server goes on") {
  running_server s(echo, with_screener([](const request&) -> std::optional<early_answer> {
                     throw std::runtime_error("of the program's own");
                   }));
  auto c = s.client();
  REQUIRE(c.send("POST / HTTP/1.1\r\nHost: a\r\nContent-Length: 2\r\n\r\n"));
  CHECK(c.receive().status == 500);
  auto next = s.client();
  REQUIRE(next.send(simple_get));
  CHECK(next.receive().status == 200);
}

TEST_CASE("a body over the limit is refused before it is asked for") {
  running_server s(echo, with([](server_options& o) { o.max_body = 10; }));
  auto c = s.client();
  REQUIRE(c.send("POST / HTTP/1.1\r\nHost: a\r\nExpect: 100-continue\r\nContent-Length: 11\r\n\r\n"));
  CHECK(c.receive().status == 413);
  auto fits = s.client();
  REQUIRE(fits.send("POST / HTTP/1.1\r\nHost: a\r\nContent-Length: 10\r\n\r\n0123456789"));
  CHECK(fits.receive().status == 200);
}

TEST_CASE("a head over the limit gets 431, a large one within it is read") {
  running_server s(echo);
  auto c = s.client();
  REQUIRE(c.send("GET / HTTP/1.1\r\nHost: a\r\nX: " + std::string(60'000, 'x') + "\r\n\r\n"));
  CHECK(c.receive().status == 200);
  REQUIRE(c.send("GET / HTTP/1.1\r\nHost: a\r\nX: " + std::string(200'000, 'x')));
  const auto got = c.receive();
  CHECK(got.status == 431);
  CHECK(got.body == "headers_too_large");
}

TEST_CASE("a head that does not end in time gets 408, however steadily it drips") {
  running_server s(echo, with([](server_options& o) {
                     o.header_timeout = 200ms;
                     o.max_head = 64 * 1024 * 1024; // not to be reached first
                   }));
  auto c = s.client();
  REQUIRE(c.send(simple_get));
  CHECK(c.receive().status == 200);
  // Bytes go on until the server has answered: none of them extends the limit.
  std::atomic<bool> answered{false};
  std::thread dripping([&] {
    c.send("GET / HTTP/1.1\r\nX: ");
    while (!answered && c.send("x"))
      std::this_thread::yield();
  });
  const auto got = c.receive();
  answered = true;
  dripping.join();
  CHECK(got.status == 408);
  auto silent_in_the_middle = s.client();
  REQUIRE(silent_in_the_middle.send("GET / HT"));
  const auto late = silent_in_the_middle.receive();
  CHECK(late.status == 408);
  CHECK(late.body == "request_timeout");
  CHECK(late.has("Connection: close"));
}

TEST_CASE("a body that does not end in time gets 408") {
  running_server s(echo, with([](server_options& o) { o.body_timeout = 200ms; }));
  auto c = s.client();
  REQUIRE(c.send("POST / HTTP/1.1\r\nHost: a\r\nContent-Length: 5\r\n\r\nab"));
  const auto got = c.receive();
  CHECK(got.status == 408);
  CHECK(got.body == "request_timeout");
  CHECK(c.receive_all().empty());
}

TEST_CASE("a new connection that sends nothing is closed without a word") {
  running_server s(echo, with([](server_options& o) { o.header_timeout = 200ms; }));
  auto c = s.client();
  CHECK(c.receive_all().empty());
  CHECK(s.connections_become(0));
}

TEST_CASE("an idle kept-alive connection is closed without a word, one being answered is not") {
  mailbox<std::shared_ptr<exchange>> held;
  running_server s(
      [&](std::shared_ptr<exchange> x) {
        if (x->request().path == "/hold")
          held.put(std::move(x));
        else
          echo(x);
      },
      with([](server_options& o) {
        o.idle_timeout = 200ms;
        o.header_timeout = 200ms;
      }));
  auto answered = s.client();
  REQUIRE(answered.send("GET /hold HTTP/1.1\r\nHost: a\r\n\r\n"));
  const auto x = held.take();
  auto idle = s.client();
  REQUIRE(idle.send(simple_get));
  CHECK(idle.receive().status == 200);
  CHECK(idle.receive_all().empty());
  // The idle one has been closed by the same limit that the other outlives.
  on_thread_of(*x, [&] { echo(x); });
  CHECK(answered.receive().status == 200);
}

TEST_CASE("a client over the connection limit is turned away, and let in when there is room") {
  running_server s(echo, with([](server_options& o) { o.max_connections = 2; }));
  auto first = s.client();
  auto second = s.client();
  REQUIRE(s.connections_become(2));
  auto third = s.client();
  const auto got = third.receive();
  CHECK(got.status == 503);
  CHECK(got.body == "overloaded");
  CHECK(s.server->connections() == 2);
  first.reset();
  REQUIRE(s.connections_become(1));
  auto fourth = s.client();
  REQUIRE(fourth.send(simple_get));
  CHECK(fourth.receive().status == 200);
}

TEST_CASE("running out of file descriptors pauses accepting and does not end it") {
  running_server s(echo);
  // A thread's first allocation opens a file for a moment (glibc counts the processors): let that be over, or its
  // descriptor is the one that the acceptor gets below.
  s.let_threads_turn();
  raw_client waiting;
  rlimit usual{};
  REQUIRE(::getrlimit(RLIMIT_NOFILE, &usual) == 0);
  const int lowest_free = ::dup(0);
  REQUIRE(lowest_free >= 0);
  rlimit none = usual;
  none.rlim_cur = static_cast<rlim_t>(lowest_free) + 1;
  REQUIRE(::setrlimit(RLIMIT_NOFILE, &none) == 0);
  // Whatever hole is left below the limit.
  std::vector<int> filling{lowest_free};
  while (filling.back() >= 0)
    filling.push_back(::dup(0));
  filling.pop_back();
  const bool connected = waiting.connect(s.port) && waiting.send(simple_get);
  // The acceptor's turn comes between these: it has failed by now.
  for (int i = 0; i < 3; ++i)
    s.let_threads_turn();
  const auto accepted = s.server->connections();
  ::setrlimit(RLIMIT_NOFILE, &usual);
  for (const int fd : filling)
    ::close(fd);
  REQUIRE(connected);
  CHECK(accepted == 0);
  CHECK(waiting.receive().status == 200);
}

TEST_CASE("500 connections at once are all served") {
  running_server s(echo);
  std::vector<raw_client> clients;
  for (int i = 0; i < 500; ++i)
    clients.push_back(s.client());
  for (auto& c : clients)
    REQUIRE(c.send(simple_get));
  for (auto& c : clients)
    REQUIRE(c.receive().status == 200);
  CHECK(s.server->connections() == 500);
  clients.clear();
  CHECK(s.connections_become(0));
}
