#include "client_answer.hpp"

#include "client_fields.hpp"

#include <boost/asio/buffer.hpp>
#include <boost/beast/core/string.hpp>
#include <boost/beast/http/error.hpp>

#include <algorithm>

namespace switchyard::http {

namespace bhttp = boost::beast::http;

namespace {

/// How much memory a Content-Length alone can claim before any byte of the body has come.
constexpr std::uint64_t max_reserve = 1 << 20;

std::string_view view(boost::beast::string_view s) noexcept {
  return {s.data(), s.size()};
}

bool is_interim(int status) noexcept {
  return status / 100 == 1;
}

} // namespace

client_answer_parser::client_answer_parser(provider_result& out, std::uint64_t max_body) : out_(out) {
  header_limit(client_answer::max_head);
  body_limit(max_body);
  eager(true);
}

void client_answer_parser::on_response_impl(int code, string_view, int, error_code& ec) {
  if (code < 100 || code > 599 || code == 101) // no upgrade was asked for
    ec = bhttp::error::bad_status;
  out_.status = code;
}

void client_answer_parser::on_field_impl(field name, string_view name_text, string_view value, error_code& ec) {
  if (is_header_done()) // a trailer
    return;
  if (name == field::transfer_encoding && !boost::beast::iequals(value, "chunked")) {
    ec = bhttp::error::bad_transfer_encoding; // a framing that is not understood
    return;
  }
  if (name == field::connection)
    connection_.append(connection_.empty() ? "" : ",").append(view(value));
  if (may_be_returned(view(name_text)))
    out_.headers.add(view(name_text), view(value));
}

void client_answer_parser::on_header_impl(error_code&) {
  if (connection_.empty())
    return;
  bool any = false;
  header_list kept;
  for (const auto& f : out_.headers) {
    if (names_field(connection_, f.name))
      any = true;
    else
      kept.add(f.name, f.value);
  }
  if (any)
    out_.headers = std::move(kept);
}

void client_answer_parser::on_body_init_impl(const boost::optional<std::uint64_t>& length, error_code&) {
  if (length)
    out_.body.reserve(static_cast<std::size_t>(std::min(*length, max_reserve)));
}

std::size_t client_answer_parser::on_body_impl(string_view piece, error_code&) {
  out_.body.append(piece.data(), piece.size());
  return piece.size();
}

std::size_t client_answer_parser::on_chunk_body_impl(std::uint64_t, string_view piece, error_code& ec) {
  return on_body_impl(piece, ec);
}

void client_answer::begin(provider_result& out, std::uint64_t max_body) {
  out_ = &out;
  max_body_ = max_body;
  interim_ = 0;
  detail_.clear();
  restart();
}

void client_answer::restart() {
  state_ = state::head;
  out_->status = 0;
  out_->headers.clear();
  parser_.emplace(*out_, max_body_);
}

std::size_t client_answer::feed(std::string_view bytes) {
  std::size_t used = 0;
  while (used < bytes.size() && state_ != state::done && state_ != state::failed) {
    boost::system::error_code ec;
    const auto n = parser_->put(boost::asio::const_buffer(bytes.data() + used, bytes.size() - used), ec);
    used += n;
    if (ec && ec != bhttp::error::need_more) {
      fail(ec);
    } else if (parser_->is_done() && is_interim(out_->status)) {
      if (++interim_ > max_interim)
        fail(bhttp::error::bad_status);
      else
        restart();
    } else if (parser_->is_done()) {
      state_ = state::done;
    } else {
      if (parser_->is_header_done())
        state_ = state::body;
      if (ec || n == 0) // more is needed
        break;
    }
  }
  return used;
}

void client_answer::feed_end() {
  boost::system::error_code ec = bhttp::error::partial_message;
  if (parser_->got_some())
    parser_->put_eof(ec);
  if (ec)
    fail(ec);
  else
    state_ = state::done;
}

void client_answer::fail(const boost::system::error_code& ec) {
  state_ = state::failed;
  if (ec == bhttp::error::body_limit) {
    error_ = transport_error::response_too_large;
    detail_ = "the answer is larger than " + std::to_string(max_body_) + " bytes";
  } else if (ec == bhttp::error::partial_message) {
    error_ = transport_error::early_close;
  } else {
    error_ = transport_error::malformed_http;
    detail_ = ec.message();
  }
}

} // namespace switchyard::http
