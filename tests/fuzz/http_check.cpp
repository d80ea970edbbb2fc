#include "http_check.hpp"

#include "server_answer.hpp"
#include "server_request_parser.hpp"

#include <algorithm>
#include <cstdint>
#include <vector>

namespace switchyard::test {
namespace {

using http::request_parser;
using state = request_parser::state;

constexpr std::size_t longest_line = 4096; ///< of a chunked body

request_parser::limits limits_of(unsigned char choice) {
  return (choice & 1) != 0 ? request_parser::limits{.max_body = 40, .max_head = 120}
                           : request_parser::limits{.max_body = 100'000, .max_head = 8000};
}

/// All that a connection can see of a request.
struct seen {
  http::request request;
  bool keep_alive = false, http_1_0 = false, expects_continue = false;

  bool operator==(const seen& other) const {
    const auto &a = request, &b = other.request;
    return a.method == b.method && a.path == b.path && a.query == b.query && a.headers.text() == b.headers.text() &&
           a.body == b.body && keep_alive == other.keep_alive && http_1_0 == other.http_1_0 &&
           expects_continue == other.expects_continue;
  }
};

/// What came of a connection's bytes.
struct outcome {
  std::vector<seen> requests;
  state end = state::head;
  int status = 0;
  std::string message;
  std::string wrong;

  bool operator==(const outcome& other) const {
    return requests == other.requests && end == other.end && status == other.status && message == other.message;
  }
};

/// As a connection reads: what is not taken comes again with what follows.
class reader {
public:
  explicit reader(const request_parser::limits& limits) : limits_(limits), parser_(limits) {}

  void feed(std::string_view piece) {
    waiting_.append(piece);
    do {
      const auto taken = parser_.feed(waiting_);
      if (taken > waiting_.size())
        return fail("more was taken than there was");
      waiting_.erase(0, taken);
    } while (finish_request());
    if (parser_.current() != state::refused && waiting_.size() >= std::max(limits_.max_head, longest_line) + 2)
      fail("what waits for the rest of a line outgrows the limits");
  }

  outcome end() {
    out_.end = parser_.current();
    if (out_.end == state::refused) {
      out_.status = parser_.why().status;
      out_.message = parser_.why().message;
    }
    return std::move(out_);
  }

private:
  // Returns whether one was whole, so that the next may begin.
  bool finish_request() {
    if (parser_.current() != state::complete)
      return false;
    const auto& r = parser_.request();
    if (r.body.size() > limits_.max_body)
      fail("a body is larger than its limit");
    if (r.headers.text().size() + r.path.size() + r.query.size() > 2 * limits_.max_head)
      fail("a head is larger than its limit");
    out_.requests.push_back({r, parser_.keep_alive(), parser_.http_1_0(), parser_.expects_continue()});
    parser_.reset();
    return !waiting_.empty();
  }

  void fail(const char* what) { out_.wrong = what; }

  request_parser::limits limits_;
  request_parser parser_;
  std::string waiting_;
  outcome out_;
};

outcome read_in_pieces(std::string_view bytes, std::size_t piece, const request_parser::limits& limits) {
  reader r(limits);
  for (std::size_t at = 0; at < bytes.size(); at += piece)
    r.feed(bytes.substr(at, piece));
  return r.end();
}

bool is_framing(std::string_view name) {
  return same_field_name(name, "Content-Length") || same_field_name(name, "Transfer-Encoding");
}

enum class body_form { length, chunks };

/// The request as a client would write it, its body in that form.
std::string written(const seen& s, body_form form) {
  const auto& r = s.request;
  std::string text = r.method + " " + r.path + (r.query.empty() ? "" : "?" + r.query);
  text += s.http_1_0 ? " HTTP/1.0\r\n" : " HTTP/1.1\r\n";
  for (const auto& f : r.headers)
    if (!is_framing(f.name))
      text.append(f.name).append(": ").append(f.value).append("\r\n");
  if (form == body_form::length)
    return text + "Content-Length: " + std::to_string(r.body.size()) + "\r\n\r\n" + r.body;
  text += "Transfer-Encoding: chunked\r\n\r\n";
  const auto half = r.body.size() / 2;
  for (const auto& piece : {r.body.substr(0, half), r.body.substr(half)})
    if (!piece.empty())
      http::append_chunk(text, piece);
  return text + "0\r\n\r\n";
}

bool same_message(const http::request& a, const http::request& b) {
  const auto fields = [](const http::request& r) {
    std::string all;
    for (const auto& f : r.headers)
      if (!is_framing(f.name))
        all.append(f.name).append(": ").append(f.value).append("\r\n");
    return all;
  };
  return a.method == b.method && a.path == b.path && a.query == b.query && a.body == b.body && fields(a) == fields(b);
}

std::string check_written(const seen& s) {
  constexpr request_parser::limits generous{.max_body = 1'000'000, .max_head = 1'000'000};
  for (const auto form : {body_form::length, body_form::chunks}) {
    if (form == body_form::chunks && s.http_1_0)
      continue; // has no chunks
    const auto again = read_in_pieces(written(s, form), std::string::npos / 2, generous);
    if (again.requests.size() != 1 || again.end != state::head)
      return "a request that is written again is not one request: " + again.message;
    if (!same_message(again.requests[0].request, s.request) || again.requests[0].keep_alive != s.keep_alive)
      return "a request that is written again is another one";
  }
  return {};
}

/// The request's fields in an answer: one head, whose only empty line is its end.
std::string check_answer(const seen& s) {
  std::string head;
  http::append_head(head, {.length = s.request.body.size(), .keep_alive = s.keep_alive, .http_1_0 = s.http_1_0},
                    s.request.headers, "Sun, 06 Nov 1994 08:49:37 GMT");
  if (head.find("\r\n\r\n") != head.size() - 4)
    return "an answer's head ends early";
  if (std::count(head.begin(), head.end(), '\r') != std::count(head.begin(), head.end(), '\n'))
    return "an answer's head has a lone CR or LF";
  const auto decoded = http::percent_decode(s.request.path);
  return decoded && decoded->size() > s.request.path.size() ? "decoding makes a path longer" : "";
}

} // namespace

std::string check_requests(std::string_view input) {
  if (input.size() < 2)
    return {};
  const auto limits = limits_of(static_cast<unsigned char>(input[0]));
  const std::size_t piece = 2 + static_cast<unsigned char>(input[1]) % 61;
  const auto bytes = input.substr(2);
  const auto whole = read_in_pieces(bytes, std::max<std::size_t>(bytes.size(), 1), limits);
  for (const std::size_t size : {std::size_t{1}, piece}) {
    const auto cut = read_in_pieces(bytes, size, limits);
    if (!cut.wrong.empty())
      return cut.wrong;
    if (!(cut == whole))
      return "in pieces of " + std::to_string(size) + " it is read otherwise than whole";
  }
  if (!whole.wrong.empty() && bytes.size() < std::max(limits.max_head, longest_line))
    return whole.wrong;
  for (const auto& s : whole.requests) {
    for (auto* check : {check_written, check_answer})
      if (auto wrong = check(s); !wrong.empty())
        return wrong;
  }
  return {};
}

} // namespace switchyard::test
