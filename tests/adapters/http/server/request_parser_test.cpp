// The parser without a socket.

#include "server_request_parser.hpp"
#include "support/catch.hpp"

#include <string>
#include <vector>

using namespace switchyard;
using http::request_parser;
using state = request_parser::state;

namespace {

constexpr request_parser::limits usual{.max_body = 1000, .max_head = 500};

// Feeds as a connection does: what is not taken comes again with what follows. Returns what was never taken.
std::string feed_in_pieces(request_parser& parser, std::string_view text, std::size_t piece) {
  std::string waiting;
  for (std::size_t at = 0; at < text.size(); at += piece) {
    waiting.append(text.substr(at, piece));
    waiting.erase(0, parser.feed(waiting));
  }
  return waiting;
}

state parse(std::string_view text) {
  request_parser parser(usual);
  parser.feed(text);
  return parser.current();
}

int status_of(std::string_view text, request_parser::limits limits = usual) {
  request_parser parser(limits);
  parser.feed(text);
  return parser.current() == state::refused ? parser.why().status : 0;
}

std::string get(std::string_view fields) {
  return "GET / HTTP/1.1\r\nHost: a\r\n" + std::string(fields) + "\r\n";
}

std::string chunked(std::string_view body) {
  return "POST / HTTP/1.1\r\nHost: a\r\nTransfer-Encoding: chunked\r\n\r\n" + std::string(body);
}

} // namespace

TEST_CASE("a request is read whole from pieces of every size and from two pieces cut at every byte") {
  const std::vector<std::string> texts = {
      "\r\nPOST /v1/x%20y?a=1&b=2 HTTP/1.1\r\nHost: a\r\nX-Empty:\r\nX-Padded: \t v w \t\r\nContent-Length: "
      "5\r\n\r\nhello",
      "POST /v1/x%20y?a=1&b=2 HTTP/1.1\r\nhost: a\r\nX-Empty: \r\nX-Padded:v w\r\nTRANSFER-ENCODING: Chunked\r\n\r\n"
      "2\r\nhe\r\n003;ext=\"a b\"\r\nllo\r\n0\r\nX-Trailer: t\r\n\r\n"};
  for (const auto& text : texts) {
    const auto check = [&](const request_parser& p, const http::request& r) {
      REQUIRE(p.current() == state::complete);
      REQUIRE(r.method == "POST");
      REQUIRE(r.path == "/v1/x%20y");
      REQUIRE(r.query == "a=1&b=2");
      REQUIRE(r.headers.find("x-empty") == "");
      REQUIRE(r.headers.find("x-padded") == "v w");
      REQUIRE_FALSE(r.headers.contains("x-trailer"));
      REQUIRE(r.body == "hello");
      REQUIRE(p.keep_alive());
    };
    for (std::size_t piece = 1; piece <= text.size(); ++piece) {
      request_parser parser(usual);
      REQUIRE(feed_in_pieces(parser, text, piece).empty());
      check(parser, parser.request());
    }
    for (std::size_t cut = 1; cut < text.size(); ++cut) {
      request_parser parser(usual);
      auto rest = text.substr(0, cut);
      rest.erase(0, parser.feed(rest));
      REQUIRE(parser.current() != state::complete);
      REQUIRE(parser.current() != state::refused);
      rest += text.substr(cut);
      rest.erase(0, parser.feed(rest));
      check(parser, parser.request());
    }
  }
}

TEST_CASE("bytes after a request are left for the next one") {
  request_parser parser(usual);
  const std::string one = "POST /1 HTTP/1.1\r\nHost: a\r\nContent-Length: 3\r\n\r\nabc", two = get("");
  const auto both = one + two;
  REQUIRE(parser.feed(both) == one.size());
  REQUIRE(parser.request().body == "abc");
  parser.reset();
  REQUIRE_FALSE(parser.started());
  REQUIRE(parser.feed(std::string_view(both).substr(one.size())) == two.size());
  REQUIRE(parser.current() == state::complete);
  REQUIRE(parser.request().path == "/");
  REQUIRE(parser.request().body.empty());
}

TEST_CASE("the target gives path and query in origin, absolute and asterisk form") {
  struct row {
    std::string_view method, target, path, query;
  };
  for (const auto& r : std::vector<row>{{"GET", "/", "/", ""},
                                        {"GET", "/a/b?c?d", "/a/b", "c?d"},
                                        {"GET", "/?", "/", ""},
                                        {"GET", "http://host:80/a?b", "/a", "b"},
                                        {"GET", "HTTPS://host", "/", ""},
                                        {"GET", "http://host?q", "/", "q"},
                                        {"OPTIONS", "*", "*", ""}}) {
    request_parser parser(usual);
    parser.feed(std::string(r.method) + " " + std::string(r.target) + " HTTP/1.1\r\nHost: a\r\n\r\n");
    INFO(r.target);
    REQUIRE(parser.current() == state::complete);
    CHECK(parser.request().path == r.path);
    CHECK(parser.request().query == r.query);
  }
}

TEST_CASE("the version and Connection decide whether the connection is kept") {
  const auto kept = [](std::string_view version, std::string_view fields) {
    request_parser parser(usual);
    parser.feed("GET / HTTP/" + std::string(version) + "\r\nHost: a\r\n" + std::string(fields) + "\r\n");
    REQUIRE(parser.current() == state::complete);
    return parser.keep_alive();
  };
  CHECK(kept("1.1", ""));
  CHECK(kept("1.9", ""));
  CHECK_FALSE(kept("1.0", ""));
  CHECK(kept("1.0", "Connection: Keep-Alive\r\n"));
  CHECK_FALSE(kept("1.1", "Connection: foo, CLOSE\r\n"));
  CHECK_FALSE(kept("1.1", "Connection: keep-alive\r\nConnection: close\r\n"));
}

TEST_CASE("only a client of HTTP/1.1 with a body to come waits for a 100") {
  const auto expects = [](std::string text) {
    request_parser parser(usual);
    parser.feed(text);
    return parser.expects_continue();
  };
  CHECK(expects("POST / HTTP/1.1\r\nHost: a\r\nExpect: 100-Continue\r\nContent-Length: 1\r\n\r\n"));
  CHECK_FALSE(expects("POST / HTTP/1.0\r\nExpect: 100-continue\r\nContent-Length: 1\r\n\r\n"));
  CHECK_FALSE(expects(get("Expect: 100-continue\r\n")));
  CHECK_FALSE(expects("POST / HTTP/1.1\r\nHost: a\r\nExpect: tea\r\nContent-Length: 1\r\n\r\n"));
}

TEST_CASE("a malformed head is refused with 400 and never repaired") {
  using namespace std::string_literals;
  const std::vector<std::string> heads = {
      "GET /\r\n\r\n", "GET  / HTTP/1.1\r\nHost: a\r\n\r\n", "GET / HTTP/1.1 \r\nHost: a\r\n\r\n",
      " GET / HTTP/1.1\r\nHost: a\r\n\r\n", "G(T / HTTP/1.1\r\nHost: a\r\n\r\n", "GET / HTTP/2.0\r\nHost: a\r\n\r\n",
      "GET / HTTP/1.1x\r\nHost: a\r\n\r\n", "GET / http/1.1\r\nHost: a\r\n\r\n", "GET a HTTP/1.1\r\nHost: a\r\n\r\n",
      "GET * HTTP/1.1\r\nHost: a\r\n\r\n", "CONNECT a:1 HTTP/1.1\r\nHost: a\r\n\r\n",
      "GET http:///x HTTP/1.1\r\nHost: a\r\n\r\n", "GET /#f HTTP/1.1\r\nHost: a\r\n\r\n",
      "GET /\x01 HTTP/1.1\r\nHost: a\r\n\r\n", "GET /\xc3\xa4 HTTP/1.1\r\nHost: a\r\n\r\n", "\x16\x03\x01", "\r\n\n",
      // lines
      "GET / HTTP/1.1\nHost: a\n\n", "GET / HTTP/1.1\r\nHost: a\n\r\n", "GET / HTTP/1.1\r\nHost: a\rX: b\r\n\r\n",
      // fields
      "GET / HTTP/1.1\r\n\r\n", "GET / HTTP/1.1\r\nHost: a/b\r\n\r\n", "GET / HTTP/1.1\r\nHost: a b\r\n\r\n",
      "GET / HTTP/1.1\r\nHost: a, b\r\n\r\n", "GET / HTTP/1.1\r\nHost: u@a\r\n\r\n", get("Host: a\r\n"),
      get("X: a\r\n b\r\n"), get("X: a\r\n\tb\r\n"), get("X\r\n"), get(": v\r\n"), get("X : v\r\n"),
      get("X: a\0b\r\n"s), get("X\0: b\r\n"s), get("X: \x7f\r\n"), "GET / HTTP/1.1\r\n Host: a\r\n\r\n",
      // framing
      get("Content-Length: 1\r\nContent-Length: 2\r\n"), get("Content-Length: 1, 1\r\n"), get("Content-Length:\r\n"),
      get("Content-Length: +1\r\n"), get("Content-Length: -1\r\n"), get("Content-Length: 0x1\r\n"),
      get("Content-Length: 1 1\r\n"), get("Content-Length: 1\r\nTransfer-Encoding: chunked\r\n"),
      get("Transfer-Encoding: chunked\r\nContent-Length: 0\r\n"), get("Transfer-Encoding: gzip\r\n"),
      get("Transfer-Encoding: gzip, chunked\r\n"), get("Transfer-Encoding: chunked, chunked\r\n"),
      get("Transfer-Encoding: chunked\r\nTransfer-Encoding: chunked\r\n"),
      get("Transfer-Encoding: \x0b"
          "chunked\r\n"),
      get("Transfer-Encoding: identity\r\n"), get("Transfer-Encoding:\r\n"),
      "POST / HTTP/1.0\r\nTransfer-Encoding: chunked\r\n\r\n"};
  for (const auto& head : heads) {
    INFO(head);
    CHECK(status_of(head) == 400);
    request_parser by_bytes(usual);
    feed_in_pieces(by_bytes, head, 1);
    CHECK(by_bytes.current() == state::refused);
  }
  CHECK(parse(get("Content-Length: 1\r\nContent-Length: 1\r\n") + "x") == state::complete);
  for (const auto* host : {"", "a", "a.example:80", "[::1]:80", "%41_~!$&'()*+;="})
    CHECK(parse("GET / HTTP/1.1\r\nHost: " + std::string(host) + "\r\n\r\n") == state::complete);
}

TEST_CASE("a malformed chunk is refused with 400") {
  using namespace std::string_literals;
  for (const auto& body :
       {"\r\n"s, "x\r\n"s, "-1\r\n"s, "+1\r\n"s, "0x1\r\n"s, " 1\r\n"s, "1 \r\n"s, "1 1\r\n"s, "1\n"s, "1\r\nab\r\n"s,
        "1\r\na\n"s, "1;\x01\r\n"s, "1;\0\r\n"s, "0\r\nX\r\n"s, "0\r\n X: a\r\n"s, "0\r\nX: \0\r\n"s, "0\r\nX: a\n"s}) {
    INFO(body);
    CHECK(status_of(chunked(body)) == 400);
  }
  CHECK(status_of(chunked("1;" + std::string(5000, 'x'))) == 400);
  CHECK(parse(chunked("1;a=b\r\nx\r\n0;c\r\nY: z\r\n\r\n")) == state::complete);
}

TEST_CASE("chunk extensions and trailers are bounded together like a head") {
  std::string body;
  for (int i = 0; i < 6; ++i)
    body += "1;" + std::string(99, 'x') + "\r\na\r\n";
  CHECK(status_of(chunked(body)) == 400);
  std::string trailers = "0\r\n";
  for (int i = 0; i < 6; ++i)
    trailers += "X: " + std::string(97, 'x') + "\r\n";
  CHECK(status_of(chunked(trailers)) == 400);
}

TEST_CASE("a head over its limit is refused with 431, one of exactly the limit is not") {
  const auto head = get("X: y\r\n");
  CHECK(status_of(head, {.max_body = 0, .max_head = head.size()}) == 0);
  CHECK(status_of(head, {.max_body = 0, .max_head = head.size() - 1}) == 431);
  CHECK(status_of("GET /" + std::string(600, 'x')) == 431);
}

TEST_CASE("a body over its limit is refused with 413 before it is read") {
  CHECK(status_of(get("Content-Length: 1001\r\n")) == 413);
  CHECK(status_of(get("Content-Length: 99999999999999999999999\r\n")) == 413);
  CHECK(status_of(get("Content-Length: 1000\r\n")) == 0);
  CHECK(status_of(chunked("3e9\r\n")) == 413);
  CHECK(status_of(chunked("3e8\r\n")) == 0);
  CHECK(status_of(chunked("3e8\r\n" + std::string(1000, 'x') + "\r\n1\r\n")) == 413);
  CHECK(status_of(chunked("ffffffffffffffffff\r\n")) == 413);
}
