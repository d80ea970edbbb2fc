#include "server_request_parser.hpp"

#include "switchyard/engine/duration_text.hpp"

#include <algorithm>
#include <cassert>
#include <charconv>
#include <cstring>

namespace switchyard::http {

namespace {

// What a body's buffer starts with at most: a client that only announces a large body makes nobody allocate it.
constexpr std::uint64_t initial_body = 256 * 1024;

constexpr auto bad_request_line = "the request does not begin with METHOD /path HTTP/1.1";
constexpr auto tls_greeting = "this port speaks plain HTTP, not TLS: begin the URL with http://";
constexpr char tls_handshake_record = 22; // RFC 8446 5.1

bool is_token(std::string_view text) noexcept {
  constexpr std::string_view others = "!#$%&'*+-.^_`|~";
  return !text.empty() && std::all_of(text.begin(), text.end(), [&](char c) {
    return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9') ||
           others.find(c) != std::string_view::npos;
  });
}

std::string_view trim(std::string_view text) noexcept {
  const auto begin = text.find_first_not_of(" \t");
  if (begin == std::string_view::npos)
    return {};
  return text.substr(begin, text.find_last_not_of(" \t") - begin + 1);
}

// Strict enough that nobody takes a part of it for a path or for another host (RFC 9112 3.2). It may be empty.
bool is_host(std::string_view text) noexcept {
  constexpr std::string_view never = "\"#,/<>?@\\^`{|}";
  return std::all_of(text.begin(), text.end(),
                     [&](char c) { return c > 0x20 && c < 0x7f && never.find(c) == std::string_view::npos; });
}

bool starts_with_scheme(std::string_view target, std::string_view scheme) noexcept {
  return target.size() > scheme.size() && same_field_name(target.substr(0, scheme.size()), scheme);
}

} // namespace

std::size_t request_parser::feed(std::string_view input) {
  std::size_t taken = 0;
  if (state_ == state::head)
    taken = feed_head(input);
  if (state_ == state::body)
    taken += chunked_ ? feed_chunked(input.substr(taken)) : feed_sized(input.substr(taken));
  return taken;
}

void request_parser::reset() {
  assert(state_ == state::complete);
  *this = request_parser{limits_};
}

std::size_t request_parser::feed_head(std::string_view input) {
  std::size_t skipped = 0;
  // Empty lines before a request are ignored (RFC 9112 2.2); nothing of the head has been scanned then.
  if (scanned_ == 0) {
    started_ = started_ || !input.empty();
    while (input.substr(skipped, 2) == "\r\n")
      skipped += 2;
    input.remove_prefix(skipped);
    // Anything else than a method, say a TLS greeting, is answered at once rather than after the time limit.
    if (!input.empty() && input != "\r" && !is_token(input.substr(0, 1))) {
      malformed(input.front() == tls_handshake_record ? tls_greeting : bad_request_line);
      return skipped;
    }
  }
  const auto window = input.substr(0, limits_.max_head);
  while (scanned_ < window.size()) {
    const auto* found = static_cast<const char*>(std::memchr(window.data() + scanned_, '\n', window.size() - scanned_));
    if (found == nullptr)
      break;
    const auto at = static_cast<std::size_t>(found - window.data());
    if (at == 0 || window[at - 1] != '\r') {
      malformed("a line of the head does not end with CRLF");
      return skipped;
    }
    const bool last = at - line_begin_ == 1;
    line_begin_ = scanned_ = at + 1;
    if (last) {
      parse_head(window.substr(0, at + 1));
      return skipped + at + 1;
    }
  }
  if (input.size() >= limits_.max_head)
    refuse(431, "headers_too_large",
           "the head of the request is larger than the limit of " + format_bytes(limits_.max_head));
  // A lone CR may still become an empty line before the request.
  scanned_ = input == "\r" ? 0 : input.size();
  return skipped;
}

bool request_parser::parse_head(std::string_view head) {
  auto end = head.find("\r\n");
  if (!parse_request_line(head.substr(0, end)))
    return false;
  head.remove_prefix(end + 2);
  request_.headers.reserve(head.size());
  while (head.size() > 2) {
    end = head.find("\r\n");
    if (!parse_field(head.substr(0, end)))
      return false;
    head.remove_prefix(end + 2);
  }
  return finish_head();
}

bool request_parser::parse_request_line(std::string_view line) {
  const auto first = line.find(' ');
  const auto second = first == std::string_view::npos ? first : line.find(' ', first + 1);
  if (second == std::string_view::npos)
    return malformed(bad_request_line);
  const auto method = line.substr(0, first);
  const auto version = line.substr(second + 1);
  if (!is_token(method))
    return malformed("the method has a character that is not allowed");
  // A higher minor version is read as 1.1 (RFC 9110 2.5).
  if (version.size() != 8 || !version.starts_with("HTTP/1.") || version[7] < '0' || version[7] > '9')
    return malformed("the protocol version is not HTTP/1.0 or HTTP/1.1");
  http_1_0_ = version[7] == '0';
  request_.method = method;
  return parse_target(line.substr(first + 1, second - first - 1));
}

bool request_parser::parse_target(std::string_view target) {
  const bool printable =
      std::all_of(target.begin(), target.end(), [](char c) { return c > 0x20 && c < 0x7f && c != '#'; });
  if (target.empty() || !printable)
    return malformed("the request target has a character that is not allowed");
  if (target == "*" && request_.method == "OPTIONS") {
    request_.path = target;
    return true;
  }
  if (target.front() != '/') {
    // Absolute form (RFC 9112 3.2.2): what counts here is behind the authority.
    const bool plain = starts_with_scheme(target, "http://");
    if (!plain && !starts_with_scheme(target, "https://"))
      return malformed("the request target is neither a path that begins with / nor a URL with http:// or https://");
    target.remove_prefix(plain ? 7 : 8);
    const auto authority = std::min(target.find_first_of("/?"), target.size());
    if (authority == 0)
      return malformed("the request target has no host");
    target.remove_prefix(authority);
  }
  const auto question = target.find('?');
  request_.path = target.substr(0, question);
  if (request_.path.empty())
    request_.path = "/";
  if (question != std::string_view::npos)
    request_.query = target.substr(question + 1);
  return true;
}

bool request_parser::parse_field(std::string_view line) {
  if (line.front() == ' ' || line.front() == '\t')
    return malformed("a header field is folded over several lines");
  const auto colon = line.find(':');
  if (colon == std::string_view::npos)
    return malformed("a header field has no colon");
  const auto name = line.substr(0, colon);
  const auto value = trim(line.substr(colon + 1));
  if (!request_.headers.add(name, value))
    return malformed("a header field has a character that is not allowed");
  return note_field(name, value);
}

// The fields that say where a message ends and what becomes of the connection. The length decides whether to compare.
bool request_parser::note_field(std::string_view name, std::string_view value) {
  switch (name.size()) {
  case 4:
    if (same_field_name(name, "host")) {
      if (has_host_)
        return malformed("Host is given more than once");
      if (!is_host(value))
        return malformed("Host is not the name or address of a host, with or without a port");
      has_host_ = true;
    }
    return true;
  case 6:
    if (same_field_name(name, "expect"))
      expects_continue_ = same_field_name(value, "100-continue");
    return true;
  case 10:
    if (same_field_name(name, "connection"))
      note_connection(value);
    return true;
  case 14:
    return !same_field_name(name, "content-length") || note_content_length(value);
  case 17:
    if (same_field_name(name, "transfer-encoding")) {
      if (chunked_ || !same_field_name(value, "chunked"))
        return malformed("Transfer-Encoding is something else than chunked, once");
      chunked_ = true;
    }
    return true;
  default:
    return true;
  }
}

bool request_parser::note_content_length(std::string_view value) {
  std::uint64_t length = 0;
  const auto [end, error] = std::from_chars(value.data(), value.data() + value.size(), length);
  if (value.empty() || end != value.data() + value.size() || error == std::errc::invalid_argument)
    return malformed("Content-Length is not a number of bytes");
  if (error == std::errc::result_out_of_range)
    return too_large();
  if (has_content_length_ && length != content_length_)
    return malformed("Content-Length is given more than once, with different values");
  has_content_length_ = true;
  content_length_ = length;
  return true;
}

void request_parser::note_connection(std::string_view value) {
  while (!value.empty()) {
    const auto comma = std::min(value.find(','), value.size());
    const auto option = trim(value.substr(0, comma));
    asks_close_ = asks_close_ || same_field_name(option, "close");
    asks_keep_alive_ = asks_keep_alive_ || same_field_name(option, "keep-alive");
    value.remove_prefix(std::min(comma + 1, value.size()));
  }
}

bool request_parser::finish_head() {
  if (!http_1_0_ && !has_host_)
    return malformed("Host is missing; HTTP/1.1 requires it");
  // Two framings are how requests are smuggled past a proxy (RFC 9112 6.3).
  if (chunked_ && has_content_length_)
    return malformed("Content-Length and Transfer-Encoding are both given; send only one of them");
  if (chunked_ && http_1_0_)
    return malformed("Transfer-Encoding is given with HTTP/1.0, which has none; send Content-Length");
  if (content_length_ > limits_.max_body)
    return too_large();
  keep_alive_ = !asks_close_ && (!http_1_0_ || asks_keep_alive_);
  const bool has_body = chunked_ || content_length_ > 0;
  expects_continue_ = expects_continue_ && has_body && !http_1_0_;
  if (!has_body) {
    state_ = state::complete;
    return true;
  }
  state_ = state::body;
  if (!chunked_) {
    remaining_ = content_length_;
    request_.body.reserve(static_cast<std::size_t>(std::min(remaining_, initial_body)));
  }
  return true;
}

std::size_t request_parser::feed_sized(std::string_view input) {
  const auto taken = static_cast<std::size_t>(std::min<std::uint64_t>(remaining_, input.size()));
  request_.body.append(input.substr(0, taken));
  remaining_ -= taken;
  if (remaining_ == 0)
    state_ = state::complete;
  return taken;
}

bool request_parser::refuse(int status, std::string_view code, std::string message) {
  state_ = state::refused;
  status_ = status;
  code_ = code;
  message_ = std::move(message);
  return false;
}

bool request_parser::too_large() {
  return refuse(413, "payload_too_large",
                "the body of the request is larger than the limit of " + format_bytes(limits_.max_body));
}

} // namespace switchyard::http
