// Requests and answers over sockets.

#include "fixture.hpp"

#include <stdexcept>
#include <string>
#include <thread>
#include <utility>

using namespace switchyard;
using namespace switchyard::http;
using namespace switchyard::http::test;

TEST_CASE("requests on one connection are answered one after the other") {
  running_server s(echo);
  auto c = s.client();
  for (int i = 0; i < 3; ++i) {
    REQUIRE(c.send("POST /a?b HTTP/1.1\r\nHost: a\r\nContent-Length: 3\r\n\r\nxyz"));
    const auto got = c.receive();
    CHECK(got.status == 200);
    CHECK(got.body == "POST /a?b xyz");
    CHECK(got.has("Content-Length: 13"));
    CHECK(got.head.find("\r\nDate: ") != std::string::npos);
    CHECK(got.head.find("Connection:") == std::string::npos);
  }
  CHECK(s.server->connections() == 1);
}

TEST_CASE("a request that arrives byte by byte is read whole") {
  running_server s(echo);
  auto c = s.client();
  for (const char byte :
       std::string("POST /a HTTP/1.1\r\nHost: a\r\nTransfer-Encoding: chunked\r\n\r\n2\r\nxy\r\n0\r\n\r\n"))
    REQUIRE(c.send({&byte, 1}));
  CHECK(c.receive().body == "POST /a? xy");
}

TEST_CASE("100 pipelined requests are answered in order, by a handler that answers at once") {
  running_server s(echo);
  auto c = s.client();
  std::string all;
  for (int i = 0; i < 100; ++i)
    all += "GET /" + std::to_string(i) + " HTTP/1.1\r\nHost: a\r\n\r\n";
  REQUIRE(c.send(all));
  for (int i = 0; i < 100; ++i)
    REQUIRE(c.receive().body == "GET /" + std::to_string(i) + "? ");
}

TEST_CASE("100 pipelined requests reach a handler that answers later one at a time") {
  mailbox<std::shared_ptr<exchange>> held;
  running_server s([&](std::shared_ptr<exchange> x) { held.put(std::move(x)); });
  auto c = s.client();
  std::string all;
  for (int i = 0; i < 100; ++i) // more than the server keeps for a client
    all += "GET /" + std::to_string(i) + " HTTP/1.1\r\nHost: a\r\nX-Fill: " + std::string(100, 'x') + "\r\n\r\n";
  REQUIRE(c.send(all));
  for (int i = 0; i < 100; ++i) {
    const auto x = held.take();
    on_thread_of(*x, [&] {
      CHECK(held.size() == 0);
      echo(x);
    });
    REQUIRE(c.receive().body == "GET /" + std::to_string(i) + "? ");
  }
}

TEST_CASE("a large body arrives whole, by length and in chunks, and goes back whole") {
  running_server s(echo);
  auto c = s.client();
  const std::string body(3'000'000, 'b');
  std::thread by_length([&] { c.send("POST / HTTP/1.1\r\nHost: a\r\nContent-Length: 3000000\r\n\r\n" + body); });
  const auto first = c.receive();
  by_length.join();
  CHECK((first.body == "POST /? " + body)); // not to be printed
  std::thread in_chunks([&] {
    c.send("POST / HTTP/1.1\r\nHost: a\r\nTransfer-Encoding: chunked\r\n\r\n");
    for (int i = 0; i < 300; ++i)
      c.send("2710\r\n" + body.substr(0, 10'000) + "\r\n");
    c.send("0\r\n\r\n");
  });
  const auto second = c.receive();
  in_chunks.join();
  CHECK((second.body == "POST /? " + body));
}

TEST_CASE("HTTP/1.0 is closed after the answer unless it asks to be kept") {
  running_server s(echo);
  auto once = s.client();
  REQUIRE(once.send("GET / HTTP/1.0\r\n\r\n"));
  const auto got = once.receive();
  CHECK(got.body == "GET /? ");
  CHECK(got.has("Connection: close"));
  CHECK(once.receive_all().empty());
  auto kept = s.client();
  for (int i = 0; i < 2; ++i) {
    REQUIRE(kept.send("GET / HTTP/1.0\r\nConnection: keep-alive\r\n\r\n"));
    CHECK(kept.receive().has("Connection: keep-alive"));
  }
}

TEST_CASE("Connection: close is followed") {
  running_server s(echo);
  auto c = s.client();
  REQUIRE(c.send("GET / HTTP/1.1\r\nHost: a\r\nConnection: close\r\n\r\n"));
  CHECK(c.receive().has("Connection: close"));
  CHECK(c.receive_all().empty());
  CHECK(s.connections_become(0));
}

TEST_CASE("the answer to HEAD has the length but not the body") {
  running_server s(echo);
  auto c = s.client();
  REQUIRE(c.send("HEAD / HTTP/1.1\r\nHost: a\r\n\r\n" + std::string(simple_get)));
  CHECK(c.receive(true).has("Content-Length: 8"));
  CHECK(c.receive().body == "GET /? ");
}

TEST_CASE("a status without a body gets none") {
  running_server s([](const std::shared_ptr<exchange>& x) { x->reply(204, {}, "never sent"); });
  auto c = s.client();
  REQUIRE(c.send(std::string(simple_get) + std::string(simple_get)));
  CHECK(c.receive().status == 204);
  CHECK(c.receive().status == 204);
}

TEST_CASE("a client that expects 100 gets it before it sends its body") {
  running_server s(echo);
  auto c = s.client();
  REQUIRE(c.send("POST / HTTP/1.1\r\nHost: a\r\nExpect: 100-continue\r\nContent-Length: 2\r\n\r\n"));
  CHECK(c.receive().status == 100);
  REQUIRE(c.send("ok"));
  CHECK(c.receive().body == "POST /? ok");
  // One that does not wait gets the answer alone.
  REQUIRE(c.send("POST / HTTP/1.1\r\nHost: a\r\nExpect: 100-continue\r\nContent-Length: 2\r\n\r\nok"));
  CHECK(c.receive().status == 200);
}

TEST_CASE("a malformed request is refused with 400 and the connection closed") {
  running_server s(echo);
  for (const auto* text :
       {"nonsense\r\n\r\n", "GET / HTTP/1.1\r\n\r\n",
        "POST / HTTP/1.1\r\nHost: a\r\nContent-Length: 1\r\nTransfer-Encoding: chunked\r\n\r\n0\r\n\r\n",
        "POST / HTTP/1.1\r\nHost: a\r\nTransfer-Encoding: chunked\r\n\r\nx\r\n"}) {
    auto c = s.client();
    REQUIRE(c.send(text));
    const auto got = c.receive();
    CHECK(got.status == 400);
    CHECK(got.body == "invalid_request");
    CHECK(got.has("Connection: close"));
    CHECK(c.receive_all().empty());
    CHECK_FALSE(c.is_reset());
  }
  CHECK(s.connections_become(0));
}

TEST_CASE("requests before a malformed one are answered, what comes after it is not") {
  running_server s(echo);
  auto c = s.client();
  REQUIRE(c.send(std::string(simple_get) + "bad\r\n\r\n" + std::string(simple_get)));
  CHECK(c.receive().status == 200);
  CHECK(c.receive().status == 400);
  CHECK(c.receive_all().empty());
}

TEST_CASE("a handler that throws answers 500 and the connection goes on") {
  bool first = true;
  running_server s([&](const std::shared_ptr<exchange>& x) {
    if (std::exchange(first, false))
      throw std::runtime_error("broken");
    echo(x);
  });
  auto c = s.client();
  REQUIRE(c.send(simple_get));
  const auto got = c.receive();
  CHECK(got.status == 500);
  CHECK(got.body == "internal");
  REQUIRE(c.send(simple_get));
  CHECK(c.receive().status == 200);
}

TEST_CASE("a handler that throws after it kept the exchange answers 500 once") {
  mailbox<std::shared_ptr<exchange>> held;
  running_server s([&](const std::shared_ptr<exchange>& x) {
    held.put(x);
    throw 1;
  });
  auto c = s.client();
  REQUIRE(c.send(simple_get));
  CHECK(c.receive().status == 500);
  const auto x = held.take();
  on_thread_of(*x, [&] { echo(x); });
  REQUIRE(c.send("GET / HTTP/1.1\r\nHost: a\r\nConnection: close\r\n\r\n"));
  CHECK(c.receive().status == 500);
  CHECK(c.receive_all().empty());
}

TEST_CASE("what a handler or a screener threw is told to the log's side, not to the client") {
  mailbox<std::string> told;
  io_threads threads(1);
  threads.start();
  server_options options;
  options.screen = [](const request& head) -> std::optional<early_answer> {
    if (head.method == "POST")
      throw std::runtime_error("screened badly");
    return std::nullopt;
  };
  auto server = listen(
      threads, options,
      [](const std::shared_ptr<exchange>& x) {
        if (x->request().path == "/odd")
          throw 5;
        if (x->request().path == "/broken")
          throw std::runtime_error("broken inside");
      },
      [&](const refusal& why) {
        told.put(std::string{why.code} + ": " + std::string{why.cause});
        return plain_refusal(why);
      });
  REQUIRE(server);
  const auto send = [&](std::string_view text) {
    raw_client c(port_of((*server)->address()));
    c.send(text);
    const auto got = c.receive();
    CHECK(got.status == 500);
    const auto cause = told.take();
    CHECK(got.body == "internal");
    return cause;
  };
  CHECK(send("GET /broken HTTP/1.1\r\nHost: a\r\n\r\n") == "internal: broken inside");
  CHECK(send("GET /odd HTTP/1.1\r\nHost: a\r\n\r\n") == "internal: it threw something that is no std::exception");
  CHECK(send("GET /dropped HTTP/1.1\r\nHost: a\r\n\r\n") == "internal: ");
  CHECK(send("POST / HTTP/1.1\r\nHost: a\r\nContent-Length: 3\r\n\r\n") == "internal: screened badly");
  server->reset();
  threads.stop();
}

TEST_CASE("an exchange dropped without an answer answers 500, on its thread and on another") {
  mailbox<std::shared_ptr<exchange>> held;
  running_server s([&](std::shared_ptr<exchange> x) {
    if (x->request().path == "/keep")
      held.put(std::move(x));
  });
  auto c = s.client();
  REQUIRE(c.send(simple_get));
  CHECK(c.receive().body == "internal");
  REQUIRE(c.send("GET /keep HTTP/1.1\r\nHost: a\r\n\r\n"));
  held.take().reset();
  CHECK(c.receive().body == "internal");
}

TEST_CASE("a second answer does nothing") {
  mailbox<bool> written;
  running_server s([&](const std::shared_ptr<exchange>& x) {
    x->reply(200, text_plain(), "one");
    x->reply(200, text_plain(), "two");
    x->begin(200, {});
    written.put(x->write("three"));
    x->end();
    x->abort();
  });
  auto c = s.client();
  REQUIRE(c.send(simple_get));
  CHECK(c.receive().body == "one");
  REQUIRE(c.send("GET / HTTP/1.1\r\nHost: a\r\nConnection: close\r\n\r\n"));
  CHECK(c.receive().body == "one");
  CHECK(c.receive_all().empty());
  CHECK_FALSE(written.take());
  CHECK_FALSE(written.take());
}

TEST_CASE("the last answer of a connection arrives whole when the client has sent more behind its request") {
  const std::string body(3'000'000, 'b'); // more than the sockets hold
  running_server s([&](const std::shared_ptr<exchange>& x) { x->reply(200, text_plain(), body); });
  for (const auto* last : {"GET / HTTP/1.1\r\nHost: a\r\nConnection: close\r\n\r\n", "GET / HTTP/1.0\r\n\r\n"}) {
    auto c = s.client(4096);
    REQUIRE(c.send(last + std::string("GET /more HTTP/1.1\r\nHost: a\r\nX: ") + std::string(100'000, 'x')));
    CHECK((c.receive().body == body)); // not to be printed
    CHECK(c.receive_all().empty());    // nothing behind it is answered
    CHECK_FALSE(c.is_reset());
  }
}

TEST_CASE("a refusal comes with the request as far as it is known") {
  mailbox<std::string> told;
  io_threads threads{1};
  threads.start();
  server_options options;
  options.max_body = 10;
  auto server = listen(
      threads, options, [](const std::shared_ptr<exchange>& x) { x->end(); },
      [&](const refusal& why) {
        told.put(std::string(why.code) + " " +
                 (why.request ? std::string(why.request->headers.find("Origin").value_or("none")) : "no request"));
        return plain_refusal(why);
      });
  REQUIRE(server);
  const auto send = [&](std::string_view text) {
    raw_client c(port_of((*server)->address()));
    c.send(text);
    c.receive();
    return told.take();
  };
  CHECK(send("GET / HTTP/1.1\r\nHost: a\r\nOrigin: o\r\n\r\n") == "internal o");
  CHECK(send("POST / HTTP/1.1\r\nHost: a\r\nOrigin: o\r\nContent-Length: 11\r\n\r\n") == "payload_too_large o");
  CHECK(send("nonsense\r\n\r\n") == "invalid_request none");
  server->reset();
  threads.stop();
}
