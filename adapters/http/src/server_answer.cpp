#include "server_answer.hpp"

#include <boost/beast/http/status.hpp>

#include <algorithm>
#include <cassert>
#include <charconv>
#include <ctime>
#include <utility>

namespace switchyard::http {

namespace {

constexpr std::size_t kept_capacity = 16 * 1024;

template <class Integer>
void append_number(std::string& out, Integer value, int base = 10) {
  std::array<char, 24> digits;
  const auto end = std::to_chars(digits.data(), digits.data() + digits.size(), value, base).ptr;
  out.append(digits.data(), end);
}

void append_two_digits(std::string& out, int value) {
  out.push_back(static_cast<char>('0' + value / 10 % 10));
  out.push_back(static_cast<char>('0' + value % 10));
}

bool is_framing(std::string_view name) noexcept {
  switch (name.size()) {
  case 10:
    return same_field_name(name, "connection") || same_field_name(name, "keep-alive");
  case 14:
    return same_field_name(name, "content-length");
  case 17:
    return same_field_name(name, "transfer-encoding");
  default:
    return false;
  }
}

bool is_date(std::string_view name) noexcept {
  return name.size() == 4 && same_field_name(name, "date");
}

// Returns whether there is a Date among them.
bool append_fields(std::string& out, const header_list& headers) {
  bool has_date = false, has_framing = false;
  for (const auto& field : headers) {
    has_date = has_date || is_date(field.name);
    has_framing = has_framing || is_framing(field.name);
  }
  if (!has_framing) {
    out.append(headers.text());
    return has_date;
  }
  for (const auto& field : headers)
    if (!is_framing(field.name))
      out.append(field.name).append(": ").append(field.value).append("\r\n");
  return has_date;
}

} // namespace

std::string_view date_text::at(wall_time now) {
  const auto second = std::chrono::floor<std::chrono::seconds>(now.time_since_epoch()).count();
  if (second == second_)
    return text_;
  constexpr std::array<std::string_view, 7> days = {"Sun", "Mon", "Tue", "Wed", "Thu", "Fri", "Sat"};
  constexpr std::array<std::string_view, 12> months = {"Jan", "Feb", "Mar", "Apr", "May", "Jun",
                                                       "Jul", "Aug", "Sep", "Oct", "Nov", "Dec"};
  const auto seconds = static_cast<std::time_t>(second);
  std::tm parts{};
  ::gmtime_r(&seconds, &parts);
  second_ = second;
  text_.assign(days[static_cast<std::size_t>(parts.tm_wday)]).append(", ");
  append_two_digits(text_, parts.tm_mday);
  text_.append(" ").append(months[static_cast<std::size_t>(parts.tm_mon)]).append(" ");
  append_number(text_, parts.tm_year + 1900);
  text_.push_back(' ');
  append_two_digits(text_, parts.tm_hour);
  text_.push_back(':');
  append_two_digits(text_, parts.tm_min);
  text_.push_back(':');
  append_two_digits(text_, parts.tm_sec);
  text_.append(" GMT");
  return text_;
}

bool is_bodyless(int status) noexcept {
  return status < 200 || status == 204 || status == 304;
}

void append_head(std::string& out, const answer_head& head, const header_list& headers, std::string_view date) {
  out.append("HTTP/1.1 ");
  append_number(out, head.status);
  const auto reason =
      boost::beast::http::obsolete_reason(boost::beast::http::int_to_status(static_cast<unsigned>(head.status)));
  out.append(" ").append(reason.data(), reason.size()).append("\r\n");
  if (!append_fields(out, headers))
    out.append("Date: ").append(date).append("\r\n");
  if (!is_bodyless(head.status)) {
    if (head.framing == answer_framing::length) {
      out.append("Content-Length: ");
      append_number(out, head.length);
      out.append("\r\n");
    } else if (head.framing == answer_framing::chunked) {
      out.append("Transfer-Encoding: chunked\r\n");
    }
  }
  if (!head.keep_alive)
    out.append("Connection: close\r\n");
  else if (head.http_1_0)
    out.append("Connection: keep-alive\r\n");
  out.append("\r\n");
}

void append_chunk(std::string& out, std::string_view piece) {
  assert(!piece.empty());
  append_number(out, piece.size(), 16);
  out.append("\r\n").append(piece).append("\r\n");
}

void output_queue::add_body(std::string body) {
  if (locked_ || !body_.empty() || !later_.empty())
    later_.append(body);
  else
    body_ = std::move(body);
}

std::array<boost::asio::const_buffer, 2> output_queue::front() const noexcept {
  const auto of_head = std::min(sent_, head_.size());
  return {boost::asio::buffer(head_) + of_head, boost::asio::buffer(body_) + (sent_ - of_head)};
}

void output_queue::consume(std::size_t bytes) {
  assert(!locked_ && sent_ + bytes <= head_.size() + body_.size());
  sent_ += bytes;
  if (sent_ < head_.size() + body_.size())
    return;
  // The capacity of a head is reused by the next answer, that of something large is not kept.
  head_.clear();
  if (head_.capacity() > kept_capacity)
    head_ = {};
  if (!later_.empty())
    std::swap(head_, later_);
  body_ = {};
  sent_ = 0;
}

} // namespace switchyard::http
