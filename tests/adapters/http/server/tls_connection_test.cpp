// Connections with TLS: after the handshake all is as without.

#include "tls_fixture.hpp"

#include <openssl/err.h>

#include <algorithm>
#include <string>

using namespace switchyard;
using namespace switchyard::http;
using namespace switchyard::http::test;

TEST_CASE("large bodies go both ways over TLS, byte for byte") {
  trusted_server t;
  running_server s(echo, t.options);
  auto c = t.connect(s, 4096);
  std::string body(5'000'000, ' ');
  for (std::size_t i = 0; i < body.size(); ++i)
    body[i] = static_cast<char>('a' + i * i % 23);
  for (int round = 0; round < 2; ++round) {
    REQUIRE(c.send(post(body)));
    CHECK((c.receive().body == "POST /? " + body)); // not to be printed
  }
}

TEST_CASE("pipelined requests are answered in order over TLS, in one record, byte by byte, and beyond the buffer") {
  trusted_server t;
  running_server s(echo, t.options);
  auto c = t.connect(s);
  std::string all;
  for (int i = 0; i < 300; ++i)
    all += "GET /" + std::to_string(i) + " HTTP/1.1\r\nHost: a\r\nX-Fill: " + std::string(100, 'x') + "\r\n\r\n";
  REQUIRE(c.send(all));
  for (int i = 0; i < 300; ++i)
    REQUIRE(c.receive().body == "GET /" + std::to_string(i) + "? ");
  for (const char byte : std::string(simple_get))
    REQUIRE(c.send({&byte, 1}));
  CHECK(c.receive().status == 200);
}

TEST_CASE("a request that comes with the end of the handshake is answered") {
  trusted_server t;
  running_server s(echo, t.options);
  for (int i = 0; i < 20; ++i)
    CHECK(serves(t, s));
}

TEST_CASE("a stream goes piece by piece over TLS, waits for a slow client and is bounded [S5]") {
  trusted_server t;
  mailbox<std::shared_ptr<exchange>> held;
  running_server s([&](std::shared_ptr<exchange> x) { held.put(std::move(x)); }, t.options);
  auto c = t.connect(s, 4096);
  REQUIRE(c.send(simple_get));
  const auto x = held.take();
  on_thread_of(*x, [&] { x->begin(200, text_plain()); });
  REQUIRE(c.receive_until("\r\n\r\n"));
  on_thread_of(*x, [&] { CHECK(x->write("one")); });
  REQUIRE(c.receive_until("3\r\none\r\n")); // before the next is written
  const std::string piece(10'000, 'p');
  std::size_t taken = 0;
  mailbox<bool> room;
  on_thread_of(*x, [&] {
    while (taken < 100'000 && x->write(piece, 100'000))
      ++taken;
    x->on_room([&] { room.put(true); });
  });
  CHECK(taken > 0);
  CHECK(taken * piece.size() < 64'000'000); // the sockets' buffers and the bound
  std::string received;
  for (std::size_t i = 0; i < taken; ++i)
    received += c.take(10'000 + 8); // 2710\r\n and \r\n
  CHECK(room.take());
  on_thread_of(*x, [&] { x->end(); });
  CHECK(c.take(5) == "0\r\n\r\n");
  CHECK(std::count(received.begin(), received.end(), 'p') == static_cast<long>(taken * piece.size()));
}

TEST_CASE("a client of TLS that leaves while its request is answered is noticed [S4]") {
  trusted_server t;
  mailbox<std::shared_ptr<exchange>> held;
  mailbox<bool> gone;
  running_server s(
      [&](std::shared_ptr<exchange> x) {
        x->on_gone([&] { gone.put(true); });
        held.put(std::move(x));
      },
      t.options);
  for (int how = 0; how < 3; ++how) {
    INFO(how);
    auto c = t.connect(s);
    REQUIRE(c.send(simple_get));
    const auto x = held.take();
    if (how == 0)
      REQUIRE(c.end_tls());
    else if (how == 1)
      c.finish_sending();
    else
      c.reset();
    CHECK(gone.take());
    CHECK(s.connections_become(0));
  }
}

TEST_CASE("a client of TLS that takes nothing for the write limit is cut off and reported") {
  trusted_server t;
  t.options.write_timeout = 200ms;
  mailbox<bool> gone;
  running_server s(
      [&](const std::shared_ptr<exchange>& x) {
        x->on_gone([&, x] { gone.put(true); });
        x->begin(200, text_plain());
        while (x->write(std::string(100'000, 'p'))) {
        }
      },
      t.options);
  auto c = t.connect(s, 4096);
  REQUIRE(c.send(simple_get));
  CHECK(gone.take());
  CHECK(s.connections_become(0));
}

TEST_CASE("the end of an answer is TLS's own end, and an aborted answer has none") {
  trusted_server t;
  running_server s(
      [](const std::shared_ptr<exchange>& x) {
        x->begin(200, text_plain());
        x->write("part");
        if (x->request().path == "/abort")
          x->abort();
        else if (x->request().path == "/close")
          x->close();
        else
          x->end();
      },
      t.options);
  auto whole = t.connect(s);
  REQUIRE(whole.send("GET / HTTP/1.0\r\n\r\n")); // until the end of the connection
  CHECK(whole.receive().body == "part");
  CHECK_FALSE(whole.is_reset());
  auto aborted = t.connect(s);
  REQUIRE(aborted.send("GET /abort HTTP/1.0\r\n\r\n"));
  aborted.receive_all();
  CHECK(aborted.is_reset());
  auto closed = t.connect(s);
  REQUIRE(closed.send("GET /close HTTP/1.1\r\nHost: a\r\n\r\n"));
  CHECK(closed.receive().body == "part<cut>");
  CHECK_FALSE(closed.is_reset());
}

TEST_CASE("a client may change its keys amid a stream, and ask for the server's to change") {
  trusted_server t;
  mailbox<std::shared_ptr<exchange>> held;
  running_server s([&](std::shared_ptr<exchange> x) { held.put(std::move(x)); }, t.options);
  auto c = t.connect(s);
  REQUIRE(c.send(post("before")));
  auto x = held.take();
  on_thread_of(*x, [&] {
    x->begin(200, text_plain());
    x->write("one");
  });
  REQUIRE(c.receive_until("one\r\n"));
  REQUIRE(SSL_key_update(c.tls(), SSL_KEY_UPDATE_REQUESTED) == 1);
  REQUIRE(c.send("GET /next HTTP/1.1\r\nHost: a\r\n\r\n"));
  on_thread_of(*x, [&] {
    x->write("two");
    x->end();
  });
  REQUIRE(c.receive_until("3\r\ntwo\r\n0\r\n\r\n"));
  x = held.take();
  on_thread_of(*x, [&] { echo(x); });
  CHECK(c.receive().body == "GET /next? ");
}

TEST_CASE("draining closes TLS connections that are idle or shake hands, and lets those in flight finish") {
  trusted_server t;
  mailbox<std::shared_ptr<exchange>> held;
  running_server s(
      [&](std::shared_ptr<exchange> x) {
        if (x->request().path == "/hold")
          held.put(std::move(x));
        else
          echo(x);
      },
      t.options);
  auto idle = t.connect(s);
  REQUIRE(idle.send(simple_get));
  CHECK(idle.receive().status == 200);
  auto fresh = t.connect(s);
  auto halfway = s.client();
  REQUIRE(halfway.send(t.greeting()));
  CHECK_FALSE(halfway.take(1).empty());
  auto in_flight = t.connect(s);
  REQUIRE(in_flight.send("GET /hold HTTP/1.1\r\nHost: a\r\n\r\n"));
  const auto x = held.take();
  REQUIRE(s.connections_become(4));

  s.server->stop_accepting();
  // One whose last bytes of the handshake have not been read yet might be about to ask: the next drain closes it.
  CHECK(eventually([&] {
    s.server->drain();
    return s.server->connections() == 1;
  }));
  CHECK(idle.receive_all().empty());
  CHECK_FALSE(idle.is_reset());
  CHECK(fresh.receive_all().empty());
  halfway.receive_all();
  on_thread_of(*x, [&] { echo(x); });
  CHECK(in_flight.receive().has("Connection: close"));
  CHECK(in_flight.receive_all().empty());
  CHECK_FALSE(in_flight.is_reset());
  CHECK(s.connections_become(0));
}

TEST_CASE("draining answers a request over TLS that has arrived and was not read yet") {
  trusted_server t;
  for (int i = 0; i < 50; ++i) {
    running_server s(echo, t.options);
    auto c = t.connect(s);
    REQUIRE(s.connections_become(1));
    REQUIRE(c.send(simple_get));
    s.server->drain();
    CHECK(c.receive().status == 200);
  }
}

TEST_CASE("a server with TLS is destroyed amid handshakes and answers") {
  trusted_server t;
  mailbox<std::shared_ptr<exchange>> held;
  std::shared_ptr<exchange> kept;
  {
    running_server s([&](std::shared_ptr<exchange> x) { held.put(std::move(x)); }, t.options);
    auto halfway = s.client();
    REQUIRE(halfway.send(t.greeting()));
    auto c = t.connect(s);
    REQUIRE(c.send(simple_get));
    kept = held.take();
    s.server.reset();
    CHECK(c.receive_all().empty());
  }
  kept.reset();
}

TEST_CASE("a client of TLS over the connection limit is cut without a word, and let in when there is room") {
  trusted_server t;
  t.options.max_connections = 1;
  running_server s(echo, t.options);
  {
    auto first = t.connect(s);
    auto second = s.client();
    CHECK(second.receive_all().empty());
  }
  REQUIRE(s.connections_become(0));
  CHECK(serves(t, s));
}
