#pragma once

// Heads of answers, and the bytes that wait to be sent. No socket here.

#include "switchyard/engine/header_list.hpp"
#include "switchyard/engine/time.hpp"

#include <boost/asio/buffer.hpp>

#include <array>
#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>

namespace switchyard::http {

/// The value of Date (RFC 9110 5.6.7), made anew once a second. Not thread-safe.
class date_text {
public:
  std::string_view at(wall_time now);

private:
  std::int64_t second_ = -1;
  std::string text_;
};

/// How the end of an answer's body is told.
enum class answer_framing {
  length,     ///< Content-Length
  chunked,    ///< Transfer-Encoding: chunked
  until_close ///< by the end of the connection (HTTP/1.0)
};

struct answer_head {
  int status = 200;
  answer_framing framing = answer_framing::length;
  std::uint64_t length = 0;
  bool keep_alive = true;
  bool http_1_0 = false;
};

/// Whether an answer of that status never has a body (RFC 9110 6.4.1).
bool is_bodyless(int status) noexcept;

/// Appends status line, fields and the empty line. Fields of `headers` that frame the message are left out, and a Date
/// among them replaces `date`.
void append_head(std::string& out, const answer_head& head, const header_list& headers, std::string_view date);

/// Appends a piece of a chunked body; an empty one would end it and is not allowed.
void append_chunk(std::string& out, std::string_view piece);

/// Bytes to send, in order. While a write is under way its bytes stay where they are and new ones gather behind them.
class output_queue {
public:
  /// Where to append. Never touches what a write under way sends.
  std::string& tail() noexcept { return locked_ || !body_.empty() || !later_.empty() ? later_ : head_; }
  /// Adds a body without copying it when nothing is queued behind the tail.
  void add_body(std::string body);

  bool empty() const noexcept { return size() == 0; }
  std::size_t size() const noexcept { return head_.size() + body_.size() + later_.size() - sent_; }

  /// What to send next. Valid until `consume`.
  std::array<boost::asio::const_buffer, 2> front() const noexcept;
  /// Whether a write of `front` is under way.
  void lock(bool under_way) noexcept { locked_ = under_way; }
  /// Removes sent bytes of `front`. Not while locked.
  void consume(std::size_t bytes);

private:
  std::string head_, body_; ///< sent first, from `sent_` on
  std::string later_;
  std::size_t sent_ = 0;
  bool locked_ = false;
};

} // namespace switchyard::http
