// What is made of the bytes of an answer.

#include "fixture.hpp"

namespace switchyard::http::test {

TEST_CASE("an answer with a length is whole") {
  const auto r = call_once(says(answer_with("hello", "X-Id: 7\r\n", "201 Created")));
  CHECK(!r.error);
  CHECK(r.status == 201);
  CHECK(r.body == "hello");
  CHECK(r.headers.find("X-Id") == "7");
  CHECK(r.sent);
  CHECK(r.responded);
}

TEST_CASE("a chunked answer is whole, with its extensions and trailer left out") {
  const auto r = call_once(says("HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n"
                                "5;x=y\r\nhello\r\n1\r\n!\r\n0\r\nX-Trailer: 1\r\n\r\n"));
  CHECK(!r.error);
  CHECK(r.body == "hello!");
  CHECK(r.headers.empty());
}

TEST_CASE("an answer until the connection closes is whole") {
  const auto r = call_once(says("HTTP/1.1 200 OK\r\n\r\nto the end"));
  CHECK(!r.error);
  CHECK(r.body == "to the end");
}

TEST_CASE("an answer of HTTP/1.0 is whole and its connection not kept") {
  scripted_server server([](peer& p) {
    p.read_request();
    p.write("HTTP/1.0 200 OK\r\nContent-Length: 2\r\n\r\nok");
    p.sees_end();
  });
  fixture f(server.url());
  CHECK(f.call().body == "ok");
  CHECK(f.client().figures().idle == 0);
}

TEST_CASE("204 and 304 have no body and the connection is kept") {
  const auto status = GENERATE("204 No Content", "304 Not Modified");
  scripted_server server([&](peer& p) {
    while (p.read_request())
      p.write(std::string("HTTP/1.1 ") + status + "\r\nContent-Length: 10\r\n\r\n");
  });
  fixture f(server.url());
  for (int i = 0; i < 2; ++i) {
    const auto r = f.call();
    CHECK(!r.error);
    CHECK(r.body.empty());
  }
  CHECK(server.connections() == 1);
}

TEST_CASE("interim answers are skipped") {
  const auto r = call_once(says("HTTP/1.1 100 Continue\r\n\r\nHTTP/1.1 103 Early Hints\r\nLink: x\r\n\r\n" +
                                answer_with("late", "X-Id: 7\r\n")));
  CHECK(!r.error);
  CHECK(r.status == 200);
  CHECK(r.body == "late");
  CHECK(r.headers.text() == "X-Id: 7\r\n");
}

TEST_CASE("an answer that comes byte by byte is whole") {
  const auto r = call_once([](peer& p) {
    p.read_request();
    for (const char c : "HTTP/1.1 100 Continue\r\n\r\n" + answer_with("slow", "X-Id: 7\r\n"))
      p.write({&c, 1});
  });
  CHECK(!r.error);
  CHECK(r.body == "slow");
  CHECK(r.headers.find("X-Id") == "7");
}

TEST_CASE("a large answer is whole, and the next one too") {
  const std::string large(3'000'000, 'x');
  scripted_server server([&](peer& p) {
    while (p.read_request())
      p.write(answer_with(large));
  });
  fixture f(server.url());
  for (int i = 0; i < 2; ++i)
    CHECK(f.call().body == large);
  CHECK(server.connections() == 1);
}

TEST_CASE("a large request is written whole") {
  scripted_server server(echo);
  fixture f(server.url());
  const std::string large(5'000'000, 'y');
  CHECK(f.call(request_with(large)).body == large);
  CHECK(f.call(request_with("small")).body == "small");
  CHECK(server.connections() == 1);
}

TEST_CASE("an answer that comes before the request is read is taken, and its connection not kept") {
  scripted_server server([](peer& p) {
    p.write(answer_with("no", "", "413 Content Too Large"));
    p.sees_end();
  });
  fixture f(server.url());
  const auto r = f.call(request_with(std::string(30'000'000, 'z')));
  CHECK(!r.error);
  CHECK(r.status == 413);
  CHECK(f.client().figures().idle == 0);
}

TEST_CASE("an answer over max_response is response_too_large and its connection closed [F4]") {
  const auto head = GENERATE("HTTP/1.1 200 OK\r\nContent-Length: 1001\r\n\r\n",
                             "HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n3e9\r\n", "HTTP/1.1 200 OK\r\n\r\n");
  std::promise<bool> ended;
  scripted_server server([&](peer& p) {
    p.read_request();
    p.write(head + std::string(1001, 'x'));
    ended.set_value(p.sees_end());
  });
  fixture f(server.url());
  f.settings.max_response = 1000;
  const auto r = f.call();
  CHECK(r.error == transport_error::response_too_large);
  CHECK(r.body.empty());
  CHECK(ended.get_future().get());
}

TEST_CASE("an answer of exactly max_response is taken") {
  const auto r =
      call_once(says(answer_with(std::string(1000, 'x'))), [](provider_settings& s) { s.max_response = 1000; });
  CHECK(!r.error);
  CHECK(r.body.size() == 1000);
}

TEST_CASE("what is no HTTP is malformed_http") {
  const std::string bytes = GENERATE(
      as<std::string>{}, "garbage\r\n\r\n", "HTTP/2.0 200 OK\r\n\r\n", "HTTP/1.1 999 What\r\nContent-Length: 0\r\n\r\n",
      "HTTP/1.1 101 Switching Protocols\r\n\r\n", "HTTP/1.1 200 OK\r\nContent-Length: x\r\n\r\n",
      "HTTP/1.1 200 OK\r\nContent-Length: 1\r\nContent-Length: 2\r\n\r\n",
      "HTTP/1.1 200 OK\r\nContent-Length: 1\r\nTransfer-Encoding: chunked\r\n\r\n",
      "HTTP/1.1 200 OK\r\nTransfer-Encoding: gzip\r\n\r\n", "HTTP/1.1 200 OK\r\nBad Name: x\r\n\r\n",
      "HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\nzz\r\n",
      "HTTP/1.1 200 OK\r\nX: " + std::string(70'000, 'x') + "\r\n\r\n",
      "HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n1;" + std::string(70'000, 'x'));
  const auto r = call_once(says(bytes));
  CAPTURE(bytes.substr(0, 100), r.error_detail);
  CHECK(r.error == transport_error::malformed_http);
  CHECK(r.sent);
  CHECK(r.responded);
  CHECK(r.status == 0);
}

TEST_CASE("interim answers without end are malformed_http") {
  std::string bytes;
  for (int i = 0; i < 100; ++i)
    bytes += "HTTP/1.1 100 Continue\r\n\r\n";
  CHECK(call_once(says(bytes + answer_with("x"))).error == transport_error::malformed_http);
}

TEST_CASE("an answer cut short is early_close") {
  const std::string bytes =
      GENERATE(as<std::string>{}, "", "HTTP/1.1 2", "HTTP/1.1 200 OK\r\nContent-Le", "HTTP/1.1 100 Continue\r\n\r\n",
               "HTTP/1.1 200 OK\r\nContent-Length: 10\r\n\r\nhalf",
               "HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n4\r\nhalf\r\n",
               "HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n4\r\nhalf\r\n0\r\n");
  const auto r = call_once(says(bytes));
  CAPTURE(bytes);
  CHECK(r.error == transport_error::early_close);
  CHECK(r.sent);
  CHECK(r.responded == !bytes.empty());
  CHECK(r.status == 0);
  CHECK(r.body.empty());
}

TEST_CASE("fields of one connection, cookies and lengths are left out of an answer's headers") {
  const auto r =
      call_once(says(answer_with("x", "X-Named: 1\r\nConnection: close, x-named , X-Other\r\nKeep-Alive: timeout=5\r\n"
                                      "Proxy-Authenticate: Basic\r\nproxy-status: x\r\nTE: trailers\r\n"
                                      "Trailer: X\r\nUpgrade: h2c\r\nSet-Cookie: a=b\r\nContent-Type: text/plain\r\n"
                                      "X-Other: 2\r\nX-Kept: 3\r\nX-Kept: 4\r\n")));
  CHECK(!r.error);
  CHECK(r.headers.text() == "Content-Type: text/plain\r\nX-Kept: 3\r\nX-Kept: 4\r\n");
}

TEST_CASE("an answer is taken as it is, whatever its content encoding") {
  const auto r = call_once(says(answer_with("\x1f\x8b", "Content-Encoding: gzip\r\n")));
  CHECK(!r.error);
  CHECK(r.body == "\x1f\x8b");
  CHECK(r.headers.find("Content-Encoding") == "gzip");
}

TEST_CASE("the inspector sees a whole answer before the listener, and no failure") {
  int seen = 0;
  const auto inspect = [&](const provider_request& request, provider_result& result) {
    ++seen;
    CHECK(*request.body == "question");
    result.tokens.output = result.body.size();
    result.failure = failure_class::soft_failure;
  };
  scripted_server server([](peer& p) {
    p.read_request();
    p.write(answer_with("four"));
    p.read_request();
  });
  fixture f(server.url());
  f.inspect = inspect;
  const auto r = f.call(request_with("question"));
  CHECK(r.tokens.output == 4);
  CHECK(r.failure == failure_class::soft_failure);
  CHECK(f.call(request_with("question")).error == transport_error::early_close);
  CHECK(seen == 1);
}

TEST_CASE("an inspector that throws fails its attempt only") {
  scripted_server server(echo);
  fixture f(server.url());
  f.inspect = [](const provider_request& request, provider_result&) {
    if (*request.body == "bad")
      throw std::runtime_error("bad");
  };
  CHECK(f.call(request_with("bad")).error == transport_error::other);
  CHECK(!f.call(request_with("good")).error);
}

} // namespace switchyard::http::test
