// Heads and the queue of an answer without a socket.

#include "server_answer.hpp"
#include "support/catch.hpp"

#include <string>

using namespace switchyard;
using namespace switchyard::http;
using namespace std::chrono_literals;

namespace {

std::string head_text(const answer_head& head, const header_list& headers = {}) {
  std::string out;
  append_head(out, head, headers, "D");
  return out;
}

std::string text_of(const output_queue& queue) {
  std::string text;
  for (const auto& buffer : queue.front())
    text.append(static_cast<const char*>(buffer.data()), buffer.size());
  return text;
}

} // namespace

TEST_CASE("the date has the form of RFC 9110 and changes with the second") {
  date_text date;
  CHECK(date.at(wall_time{784111777s}) == "Sun, 06 Nov 1994 08:49:37 GMT");
  CHECK(date.at(wall_time{784111777s + 999ms}) == "Sun, 06 Nov 1994 08:49:37 GMT");
  CHECK(date.at(wall_time{784111778s}) == "Sun, 06 Nov 1994 08:49:38 GMT");
  CHECK(date.at(wall_time{0s}) == "Thu, 01 Jan 1970 00:00:00 GMT");
}

TEST_CASE("a head frames its body by length, chunks or close") {
  CHECK(head_text({.length = 5}) == "HTTP/1.1 200 OK\r\nDate: D\r\nContent-Length: 5\r\n\r\n");
  CHECK(head_text({.status = 404, .keep_alive = false}) ==
        "HTTP/1.1 404 Not Found\r\nDate: D\r\nContent-Length: 0\r\nConnection: close\r\n\r\n");
  CHECK(head_text({.framing = answer_framing::chunked}) ==
        "HTTP/1.1 200 OK\r\nDate: D\r\nTransfer-Encoding: chunked\r\n\r\n");
  CHECK(head_text({.framing = answer_framing::until_close, .keep_alive = false, .http_1_0 = true}) ==
        "HTTP/1.1 200 OK\r\nDate: D\r\nConnection: close\r\n\r\n");
  CHECK(head_text({.http_1_0 = true}) ==
        "HTTP/1.1 200 OK\r\nDate: D\r\nContent-Length: 0\r\nConnection: keep-alive\r\n\r\n");
  CHECK(head_text({.status = 204}) == "HTTP/1.1 204 No Content\r\nDate: D\r\n\r\n");
  CHECK(head_text({.status = 529, .length = 1}).starts_with("HTTP/1.1 529 "));
}

TEST_CASE("fields of the handler cannot break the framing, and its Date goes before ours") {
  header_list headers;
  headers.add("content-length", "99");
  headers.add("X-A", "1");
  headers.add("Transfer-Encoding", "chunked");
  headers.add("Connection", "upgrade");
  headers.add("Keep-Alive", "timeout=5");
  CHECK(head_text({.length = 2}, headers) == "HTTP/1.1 200 OK\r\nX-A: 1\r\nDate: D\r\nContent-Length: 2\r\n\r\n");
  header_list dated;
  dated.add("date", "theirs");
  CHECK(head_text({}, dated) == "HTTP/1.1 200 OK\r\ndate: theirs\r\nContent-Length: 0\r\n\r\n");
}

TEST_CASE("the queue keeps order and leaves the bytes of a write under way where they are") {
  output_queue queue;
  CHECK(queue.empty());
  queue.tail().append("head ");
  queue.add_body("body ");
  queue.tail().append("more ");
  CHECK(queue.size() == 15);
  CHECK(text_of(queue) == "head body ");
  const auto* const place = queue.front()[1].data();
  queue.lock(true);
  queue.tail().append(std::string(1000, 'x'));
  queue.add_body("last");
  CHECK(queue.front()[1].data() == place);
  CHECK(queue.size() == 15 + 1004);
  queue.lock(false);
  queue.consume(7);
  CHECK(text_of(queue) == "dy ");
  queue.consume(3);
  CHECK(text_of(queue) == "more " + std::string(1000, 'x') + "last");
  queue.consume(1009);
  CHECK(queue.empty());
}

TEST_CASE("a chunk carries its size in hexadecimal") {
  std::string out;
  append_chunk(out, std::string(26, 'z'));
  CHECK(out == "1a\r\n" + std::string(26, 'z') + "\r\n");
}
