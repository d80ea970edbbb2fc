// Answers of unknown length, and clients that leave or do not read.

#include "fixture.hpp"

#include <string>

using namespace switchyard;
using namespace switchyard::http;
using namespace switchyard::http::test;

namespace {

/// A server whose handler keeps every exchange and notes when its client leaves.
struct holding_server {
  mailbox<std::shared_ptr<exchange>> held;
  mailbox<std::string> gone;
  running_server s;

  explicit holding_server(server_options options = {})
      : s(
            [this](std::shared_ptr<exchange> x) {
              x->on_gone([this, path = x->request().path] { gone.put(path); });
              held.put(std::move(x));
            },
            options) {}
};

} // namespace

TEST_CASE("pieces pass to the client as they are written, and the connection goes on after the end [S5]") {
  holding_server h;
  auto c = h.s.client();
  for (int round = 0; round < 2; ++round) {
    REQUIRE(c.send(simple_get));
    const auto x = h.held.take();
    on_thread_of(*x, [&] { x->begin(200, text_plain()); });
    REQUIRE(c.receive_until("Transfer-Encoding: chunked\r\n\r\n"));
    for (const auto* piece : {"one", "two"}) {
      bool taken = false;
      on_thread_of(*x, [&] { taken = x->write(piece) && x->write(""); });
      CHECK(taken);
      REQUIRE(c.receive_until("3\r\n" + std::string(piece) + "\r\n")); // before the next is written
    }
    on_thread_of(*x, [&] { x->end(); });
    REQUIRE(c.receive_until("0\r\n\r\n"));
  }
  CHECK(h.gone.size() == 0);
}

TEST_CASE("a stream to HTTP/1.0 is not chunked and ends with the connection") {
  running_server s([](const std::shared_ptr<exchange>& x) {
    x->begin(200, text_plain());
    x->write("one ");
    x->write("two");
    x->end();
  });
  auto c = s.client();
  REQUIRE(c.send("GET / HTTP/1.0\r\nConnection: keep-alive\r\n\r\n"));
  const auto got = c.receive();
  CHECK(got.body == "one two");
  CHECK(got.has("Connection: close"));
  CHECK(got.head.find("Transfer-Encoding") == std::string::npos);
  CHECK_FALSE(c.is_reset());
}

TEST_CASE("a stream as the answer to HEAD has no body") {
  running_server s([](const std::shared_ptr<exchange>& x) {
    x->begin(200, text_plain());
    x->write("unsent");
    x->end();
  });
  auto c = s.client();
  REQUIRE(c.send("HEAD / HTTP/1.1\r\nHost: a\r\n\r\nHEAD / HTTP/1.1\r\nHost: a\r\nConnection: close\r\n\r\n"));
  CHECK(c.receive(true).status == 200);
  CHECK(c.receive(true).status == 200);
  CHECK(c.receive_all().empty());
}

TEST_CASE("a client that leaves while its request is answered is noticed once, by FIN and by RST [S4]") {
  holding_server h;
  for (const bool by_reset : {false, true}) {
    for (const bool begun : {false, true}) {
      auto c = h.s.client();
      REQUIRE(c.send("GET /left HTTP/1.1\r\nHost: a\r\n\r\n"));
      const auto x = h.held.take();
      if (begun) {
        on_thread_of(*x, [&] { x->begin(200, text_plain()); });
        REQUIRE(c.receive_until("\r\n\r\n"));
      }
      if (by_reset)
        c.reset();
      else
        c.finish_sending();
      CHECK(h.gone.take() == "/left");
      bool written = true;
      on_thread_of(*x, [&] {
        written = x->write("late");
        x->reply(200, {}, "late");
      });
      CHECK_FALSE(written);
      CHECK(h.s.connections_become(0));
    }
  }
  CHECK(h.gone.size() == 0);
}

TEST_CASE("a client that leaves after its answer is not reported") {
  holding_server h;
  {
    auto c = h.s.client();
    REQUIRE(c.send(simple_get));
    const auto x = h.held.take();
    on_thread_of(*x, [&] { echo(x); });
    CHECK(c.receive().status == 200);
  }
  CHECK(h.s.connections_become(0));
  CHECK(h.gone.size() == 0);
}

TEST_CASE("a client that closes its sending half still gets an answer that was complete") {
  holding_server h;
  auto c = h.s.client(4096);
  REQUIRE(c.send(simple_get));
  const auto x = h.held.take();
  const std::string body(8'000'000, 'x'); // more than the sockets hold
  on_thread_of(*x, [&] { x->reply(200, text_plain(), body); });
  c.finish_sending();
  CHECK(c.receive().body == body);
  CHECK(c.receive_all().empty());
  CHECK(h.gone.size() == 0);
}

TEST_CASE("a slow reader's stream is bounded: a piece over the bound is not taken, and what was taken arrives [S5]") {
  holding_server h;
  auto c = h.s.client(4096);
  REQUIRE(c.send(simple_get));
  const auto x = h.held.take();
  constexpr std::size_t bound = 100'000;
  const std::string piece(10'000, 'p');
  std::size_t taken = 0;
  bool huge = true, refused = false, small = false;
  on_thread_of(*x, [&] {
    x->begin(200, text_plain());
    huge = x->write(std::string(bound + 1, 'h'), bound);
    while (taken < 100'000 && x->write(piece, bound))
      ++taken;
    refused = !x->write(piece, bound);
    small = x->write("s", 10 * bound);
  });
  CHECK_FALSE(huge);
  CHECK(refused);
  CHECK(small); // another bound, another verdict: nothing was broken
  CHECK(taken > 0);
  CHECK(taken * piece.size() < 64'000'000); // the sockets' buffers and the bound
  on_thread_of(*x, [&] { x->end(); });
  std::string expected;
  for (std::size_t i = 0; i < taken; ++i)
    expected += piece;
  CHECK(c.receive().body == expected + "s");
}

TEST_CASE("a client that takes nothing for the write limit is cut off and reported") {
  server_options options;
  options.write_timeout = 200ms;
  holding_server h(options);
  auto c = h.s.client(4096);
  REQUIRE(c.send("GET /slow HTTP/1.1\r\nHost: a\r\n\r\n"));
  const auto x = h.held.take();
  on_thread_of(*x, [&] {
    x->begin(200, text_plain());
    while (x->write(std::string(100'000, 'p'))) {
    }
  });
  CHECK(h.gone.take() == "/slow");
  CHECK(h.s.connections_become(0));
}

TEST_CASE("an answer that was aborted, answered again or dropped after it began cannot be taken for whole") {
  running_server s([](const std::shared_ptr<exchange>& x) {
    x->begin(200, text_plain());
    x->write("part");
    if (x->request().path == "/abort")
      x->abort();
    else if (x->request().path == "/reply")
      x->reply(200, {}, "other");
  });
  for (const auto* path : {"/abort", "/reply", "/drop"}) {
    for (const auto* version : {"1.1", "1.0"}) {
      auto c = s.client();
      REQUIRE(c.send("GET " + std::string(path) + " HTTP/" + version + "\r\nHost: a\r\n\r\n"));
      const auto all = c.receive_all();
      CHECK(c.is_reset());
      CHECK(all.find("0\r\n\r\n") == std::string::npos);
    }
  }
  CHECK(s.connections_become(0));
}

TEST_CASE("ending what never began answers 500") {
  running_server s([](const std::shared_ptr<exchange>& x) { x->end(); });
  auto c = s.client();
  REQUIRE(c.send(simple_get));
  CHECK(c.receive().status == 500);
}

TEST_CASE("an answer that is closed sends what is queued and then the end of the connection, not of the body") {
  holding_server h;
  for (const bool sends_ahead : {false, true}) {
    auto c = h.s.client(4096);
    REQUIRE(c.send(simple_get));
    const auto x = h.held.take();
    const std::string body(3'000'000, 'x'); // more than the sockets hold
    if (sends_ahead)
      REQUIRE(c.send("GET /ahead HTTP/1.1\r\nX: " + std::string(100'000, 'y')));
    on_thread_of(*x, [&] {
      x->begin(200, text_plain());
      x->write(body, body.size());
      x->close();
      x->end();
    });
    const auto got = c.receive();
    CHECK(got.status == 200);
    CHECK((got.body == body + "<cut>")); // not to be printed
    CHECK_FALSE(c.is_reset());
  }
  CHECK(h.gone.size() == 0);
}

TEST_CASE("an exchange closed before its answer ends the connection without a word") {
  running_server s([](const std::shared_ptr<exchange>& x) { x->close(); });
  auto c = s.client();
  REQUIRE(c.send(simple_get));
  CHECK(c.receive_all().empty());
  CHECK_FALSE(c.is_reset());
}

TEST_CASE("a client that has sent more ahead than is read and leaves is noticed without a write [S4]") {
  holding_server h;
  for (const bool by_reset : {false, true}) {
    for (const bool begun : {false, true}) {
      auto c = h.s.client();
      REQUIRE(c.send("GET /left HTTP/1.1\r\nHost: a\r\n\r\n"));
      const auto x = h.held.take();
      if (begun)
        on_thread_of(*x, [&] { x->begin(200, text_plain()); });
      REQUIRE(c.send("GET /ahead HTTP/1.1\r\nX: " + std::string(50'000, 'y')));
      if (by_reset)
        c.reset();
      else
        c.finish_sending();
      CHECK(h.gone.take() == "/left");
      CHECK(h.s.connections_become(0));
    }
  }
  CHECK(h.gone.size() == 0);
}

TEST_CASE("a client that has sent more ahead than is read and stays gets all of its answers") {
  server_options options;
  options.header_timeout = 1s;
  holding_server h(options);
  auto c = h.s.client();
  std::string ahead;
  for (int i = 0; i < 100; ++i)
    ahead += "GET /" + std::to_string(i) + " HTTP/1.1\r\nHost: a\r\nX: " + std::string(400, 'y') + "\r\n\r\n";
  REQUIRE(c.send(ahead));
  auto x = h.held.take();
  // Its socket is looked at until this other client has had its time, and nothing is found wrong.
  CHECK(h.s.client().receive_all().empty());
  for (int i = 0; i < 100; ++i) {
    on_thread_of(*x, [&] { echo(x); });
    REQUIRE(c.receive().body == "GET /" + std::to_string(i) + "? ");
    if (i < 99)
      x = h.held.take();
  }
  CHECK(h.gone.size() == 0);
}
