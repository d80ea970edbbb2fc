#pragma once

// Reads one answer from the bytes of a connection: interim answers (1xx), head, pieces of the body, end.

#include "switchyard/actors/provider.hpp"

#include <boost/beast/http/basic_parser.hpp>

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

namespace switchyard::http {

/// Beast's parser, writing straight into a provider_result.
class client_answer_parser final : public boost::beast::http::basic_parser<false> {
public:
  client_answer_parser(provider_result& out, std::uint64_t max_body);

private:
  using string_view = boost::beast::string_view;
  using error_code = boost::beast::error_code;
  using field = boost::beast::http::field;

  void on_request_impl(boost::beast::http::verb, string_view, string_view, int, error_code&) override {}
  void on_response_impl(int code, string_view reason, int version, error_code& ec) override;
  void on_field_impl(field name, string_view name_text, string_view value, error_code& ec) override;
  void on_header_impl(error_code& ec) override;
  void on_body_init_impl(const boost::optional<std::uint64_t>& length, error_code& ec) override;
  std::size_t on_body_impl(string_view piece, error_code& ec) override;
  void on_chunk_header_impl(std::uint64_t, string_view, error_code&) override {}
  std::size_t on_chunk_body_impl(std::uint64_t remain, string_view piece, error_code& ec) override;
  void on_finish_impl(error_code&) override {}

  provider_result& out_;
  std::string connection_; ///< names of fields that end here too
};

class client_answer {
public:
  static constexpr std::size_t max_head = 64 * 1024; ///< bytes of a head; also of a chunk's line or the trailer
  static constexpr int max_interim = 32;             ///< 1xx answers before the answer

  enum class state : std::uint8_t {
    head,   ///< the head of the answer is not there yet
    body,   ///< the head is there
    done,   ///< the answer is whole
    failed, ///< see `error`
  };

  /// Begins an answer; `out` must stay where it is until the end.
  void begin(provider_result& out, std::uint64_t max_body);

  /// Takes bytes in, and says how many it used up; the rest must come again with more behind it, or, once `done`, does
  /// not belong to the answer.
  std::size_t feed(std::string_view bytes);

  /// The connection has ended: the end of the answer, or a failure.
  void feed_end();

  state where() const noexcept { return state_; }
  /// Whether the head of the answer itself is there.
  bool head_done() const noexcept { return parser_ && parser_->is_header_done() && state_ != state::head; }
  /// Whether a byte of the answer itself has come; interim answers are none.
  bool begun() const noexcept { return parser_ && parser_->got_some(); }
  transport_error error() const noexcept { return error_; }
  const std::string& detail() const noexcept { return detail_; }
  /// Whether the connection may be used again: meaningful once done.
  bool keep_alive() const { return parser_ && parser_->keep_alive(); }

private:
  void restart();
  void fail(const boost::system::error_code& ec);

  std::optional<client_answer_parser> parser_;
  provider_result* out_ = nullptr;
  std::uint64_t max_body_ = 0;
  int interim_ = 0;
  state state_ = state::head;
  transport_error error_ = transport_error::other;
  std::string detail_;
};

} // namespace switchyard::http
