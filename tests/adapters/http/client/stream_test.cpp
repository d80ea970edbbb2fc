// What flows, and how a stream ends.

#include "stream_fixture.hpp"

using namespace switchyard;
using namespace switchyard::http;
using namespace switchyard::http::test;

TEST_CASE("a stream flows from its first content on, unchanged, and ends with its end [S1, S5]") {
  scripted_server server(says(events("role\nc1\nother\nc2\nend\n")));
  stream_fixture f(server.url());
  const auto c = std::make_shared<stream_client>();
  const auto attempt = f.start(c);
  REQUIRE(c->has_content());
  CHECK(c->head().status == 200);
  CHECK(c->head().headers.find("X-A") == "b");
  CHECK(c->bytes().empty()); // nobody has said where to
  attempt->stream_to(c);
  REQUIRE(c->is_done());
  CHECK(c->bytes() == "role\nc1\nother\nc2\nend\n");
  CHECK_FALSE(c->result().error);
  CHECK_FALSE(c->result().failure);
  CHECK(c->result().tokens.output == 2);
}

TEST_CASE("content goes on while the provider still thinks about the next [S5]") {
  std::promise<void> go;
  scripted_server server([&](peer& p) {
    p.read_request();
    p.write(events("c1\n"));
    go.get_future().wait_for(patience);
    p.write("end\n");
  });
  stream_fixture f(server.url());
  const auto c = std::make_shared<stream_client>();
  const auto attempt = f.flow(c);
  CHECK(c->gets("c1\n"));
  go.set_value();
  REQUIRE(c->is_done());
  CHECK(c->bytes() == "c1\nend\n");
}

TEST_CASE("before the first content a stream ends like any attempt, and nothing of it is seen [S1]") {
  const auto [lines, expected] = GENERATE(table<std::string, failure_class>({
      {"role\nbad\n", failure_class::soft_failure},
      {"role\n", failure_class::empty_response},
      {"", failure_class::empty_response},
  }));
  scripted_server server(says(events(lines)));
  stream_fixture f(server.url());
  const auto c = std::make_shared<stream_client>();
  f.start(c);
  REQUIRE(c->is_done());
  CHECK(c->result().failure == expected);
  CHECK(c->result().status == 200);
  CHECK(c->bytes().empty());
}

TEST_CASE("a bad frame after content ends the stream with what was good, and closes the connection [S2]") {
  std::promise<bool> closed;
  scripted_server server([&](peer& p) {
    p.read_request();
    p.write(events("c1\nbad\nc2\n"));
    closed.set_value(p.sees_end());
  });
  stream_fixture f(server.url());
  const auto c = std::make_shared<stream_client>();
  const auto attempt = f.flow(c);
  REQUIRE(c->is_done());
  CHECK(c->bytes() == "c1\n");
  CHECK(c->result().failure == failure_class::soft_failure);
  CHECK(closed.get_future().get());
}

TEST_CASE("a stream that breaks off after content is told as what it was [S2]") {
  SECTION("reset") {
    scripted_server server([](peer& p) {
      p.read_request();
      p.write("HTTP/1.1 200 OK\r\nContent-Type: text/event-stream\r\nTransfer-Encoding: chunked\r\n\r\n3\r\nc1\n\r\n");
      p.close();
    });
    stream_fixture f(server.url());
    const auto c = std::make_shared<stream_client>();
    const auto attempt = f.flow(c);
    REQUIRE(c->is_done());
    CHECK(c->result().error == transport_error::early_close);
    CHECK(c->bytes() == "c1\n");
  }
  SECTION("a clean close without the stream's own end") {
    scripted_server server(says(events("c1\n")));
    stream_fixture f(server.url());
    const auto c = std::make_shared<stream_client>();
    const auto attempt = f.flow(c);
    REQUIRE(c->is_done());
    CHECK_FALSE(c->result().error);
    CHECK(c->result().failure == failure_class::connection);
    CHECK(c->result().tokens.output == 1);
  }
}

TEST_CASE("a stream has limits of its own [S2, B8, F3]") {
  std::promise<bool> closed;
  std::string sent = events("role\n");
  scripted_server server([&](peer& p) {
    p.read_request();
    p.write(sent);
    closed.set_value(p.sees_end());
  });
  stream_fixture f(server.url());
  auto& limits = f.settings.timeouts;
  auto expected = transport_error::other;
  SECTION("to its first content") {
    limits.first_content = 100ms;
    expected = transport_error::first_content_timeout;
  }
  SECTION("from piece to piece") {
    sent = events("c1\n");
    limits.first_content = 10s;
    limits.idle = 100ms;
    expected = transport_error::idle_timeout;
  }
  SECTION("for the whole stream, where the attempt's no longer holds") {
    sent = events("c1\n");
    limits.attempt = 5s;
    limits.stream = 100ms;
    expected = transport_error::stream_timeout;
  }
  const auto c = std::make_shared<stream_client>();
  const auto attempt = f.start(c);
  if (expected != transport_error::first_content_timeout) {
    REQUIRE(c->has_content());
    attempt->stream_to(c);
  }
  REQUIRE(c->is_done());
  CHECK(c->result().error == expected);
  CHECK(closed.get_future().get());
}

TEST_CASE("a stream with all that matters is whole, however its connection ends [S2]") {
  const bool reset = GENERATE(true, false);
  scripted_server server([&](peer& p) {
    p.read_request();
    p.write(chunked_head);
    p.write("b\r\nc1\nfinish\n\r\n");
    if (reset)
      p.close();
    else
      p.sees_end();
  });
  stream_fixture f(server.url());
  f.settings.timeouts.idle = 200ms;
  const auto c = std::make_shared<stream_client>();
  const auto attempt = f.flow(c);
  REQUIRE(c->is_done());
  CHECK(c->bytes() == "c1\nfinish\n");
  CHECK_FALSE(c->result().error);
  CHECK_FALSE(c->result().failure);
}

TEST_CASE("what comes after a stream's own end does not keep it open [S3]") {
  std::atomic<bool> over{false};
  scripted_server server([&](peer& p) {
    p.read_request();
    p.write(chunked_head);
    p.write("7\r\nc1\nend\n\r\n");
    std::mutex m;
    std::condition_variable never;
    std::unique_lock lock(m);
    while (!over) { // a comment now and then, without an end
      p.write("3\r\n:p\n\r\n");
      never.wait_for(lock, 20ms);
    }
  });
  stream_fixture f(server.url());
  const auto c = std::make_shared<stream_client>();
  const auto attempt = f.flow(c);
  CHECK(c->is_done());
  over = true;
  CHECK_FALSE(c->result().failure);
}

TEST_CASE("a stream whose own end has come is whole although its connection lingers [S2]") {
  scripted_server server([](peer& p) {
    p.read_request();
    p.write(
        "HTTP/1.1 200 OK\r\nContent-Type: text/event-stream\r\nTransfer-Encoding: chunked\r\n\r\n7\r\nc1\nend\n\r\n");
    p.sees_end();
  });
  stream_fixture f(server.url());
  f.settings.timeouts.idle = 100ms;
  const auto c = std::make_shared<stream_client>();
  const auto attempt = f.flow(c);
  REQUIRE(c->is_done());
  CHECK_FALSE(c->result().error);
  CHECK_FALSE(c->result().failure);
}

TEST_CASE("a reader that throws fails its attempt alone") {
  struct throwing_reader : line_reader {
    state feed(std::string_view, std::string&) override { throw std::runtime_error("odd"); }
  };
  scripted_server server(says(events("c1\nend\n")));
  stream_fixture f(server.url());
  f.read_stream = [](const provider_request&) { return std::make_unique<throwing_reader>(); };
  const auto c = std::make_shared<stream_client>();
  f.start(c);
  REQUIRE(c->is_done());
  CHECK(c->result().error == transport_error::other);
}

TEST_CASE("cancelling a stream closes its connection, and its tokens so far are known [S4]") {
  std::promise<bool> closed;
  scripted_server server([&](peer& p) {
    p.read_request();
    p.write(events("c1\nc2\n"));
    closed.set_value(p.sees_end());
  });
  stream_fixture f(server.url());
  const auto c = std::make_shared<stream_client>();
  const auto attempt = f.flow(c);
  REQUIRE(c->gets("c1\nc2\n"));
  CHECK(attempt->progress().tokens.output == 2);
  attempt->cancel();
  CHECK(closed.get_future().get());
  CHECK(eventually([&] { return f.client().figures().active == 0; }));
  CHECK_FALSE(c->done_already());
}

TEST_CASE("a whole answer to a request for a stream is taken as a whole") {
  scripted_server server(says(answer_with("{\"c\":1}", "Content-Type: application/json\r\n")));
  stream_fixture f(server.url());
  f.settings.timeouts.first_content = 10s;
  const auto c = std::make_shared<stream_client>();
  f.start(c);
  REQUIRE(c->is_done());
  CHECK(c->result().body == "{\"c\":1}");
}
