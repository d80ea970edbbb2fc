// Random requests, whole ones and hostile ones: what the parser makes of bytes must not depend on how they were cut.

#include "server_request_parser.hpp"
#include "support/catch.hpp"

#include <rapidcheck.h>

#include <algorithm>
#include <string>
#include <tuple>
#include <vector>

using namespace switchyard;
using http::request_parser;

namespace {

constexpr request_parser::limits small{.max_body = 40, .max_head = 200};

// Pieces of requests, so that random texts get past the first line.
std::string random_text() {
  static const std::vector<std::string> pieces = {"GET / HTTP/1.1\r\n",
                                                  "POST /a?b HTTP/1.1\r\n",
                                                  "POST /a HTTP/1.0\r\n",
                                                  "Host: a\r\n",
                                                  "Content-Length: 5\r\n",
                                                  "Content-Length: 50\r\n",
                                                  "Transfer-Encoding: chunked\r\n",
                                                  "Connection: close\r\n",
                                                  "Expect: 100-continue\r\n",
                                                  "X: y\r\n",
                                                  " folded\r\n",
                                                  "\r\n",
                                                  "\r\n",
                                                  "\r\n",
                                                  "\n",
                                                  "\r",
                                                  ":",
                                                  " ",
                                                  "hello",
                                                  "5\r\nhello\r\n",
                                                  "0\r\n\r\n",
                                                  "0\r\n",
                                                  "ffffffffffffffffff\r\n",
                                                  "3;e=\"v\"\r\nabc\r\n",
                                                  "T: t\r\n",
                                                  std::string(1, '\0'),
                                                  std::string(90, 'x')};
  std::string text;
  for (auto n = *rc::gen::inRange(0, 14); n > 0; --n)
    text += *rc::gen::elementOf(pieces);
  if (*rc::gen::inRange(0, 4) == 0 && !text.empty())
    text[*rc::gen::inRange<std::size_t>(0, text.size())] = *rc::gen::arbitrary<char>();
  return text;
}

// A framed request with some of the pieces above around it is whole more often than chance would have it.
std::string random_request() {
  const std::string head = "POST /a?b HTTP/1.1\r\nHost: a\r\n";
  switch (*rc::gen::inRange(0, 4)) {
  case 0:
    return head + "Content-Length: 5\r\n\r\nhello" + random_text();
  case 1:
    return head + "Transfer-Encoding: chunked\r\n\r\n5\r\nhello\r\n" + random_text();
  default:
    return random_text();
  }
}

// All that a user of the parser can see, and how many bytes it took.
auto outcome(request_parser& parser, std::size_t taken) {
  const auto state = parser.current();
  const bool whole = state == request_parser::state::complete;
  const bool refused = state == request_parser::state::refused;
  auto& r = parser.request();
  return std::tuple(state, refused ? parser.why().status : 0, whole ? taken : 0, whole ? r.method : "",
                    whole ? r.path : "", whole ? r.query : "", whole ? r.headers.text() : "", whole ? r.body : "",
                    whole && parser.keep_alive());
}

auto parse_whole(const std::string& text) {
  request_parser parser(small);
  const auto taken = parser.feed(text);
  return outcome(parser, taken);
}

auto parse_cut(const std::string& text) {
  request_parser parser(small);
  std::string waiting;
  std::size_t taken = 0;
  for (std::size_t at = 0; at < text.size();) {
    const auto piece = std::min(*rc::gen::inRange<std::size_t>(1, 9), text.size() - at);
    waiting.append(text, at, piece);
    at += piece;
    const auto step = parser.feed(waiting);
    waiting.erase(0, step);
    taken += step;
  }
  return outcome(parser, taken);
}

} // namespace

TEST_CASE("how bytes are cut into pieces changes nothing about what they mean") {
  CHECK(rc::check([] {
    const auto text = random_request();
    RC_ASSERT(parse_whole(text) == parse_cut(text));
  }));
}

TEST_CASE("no bytes get a request past its limits") {
  CHECK(rc::check([] {
    request_parser parser(small);
    parser.feed(random_request());
    const bool whole = parser.current() == request_parser::state::complete;
    RC_ASSERT(!whole || parser.request().body.size() <= small.max_body);
    RC_ASSERT(!whole || parser.request().headers.text().size() <= 2 * small.max_head);
  }));
}
