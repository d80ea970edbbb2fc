// The answering half of a connection.

#include "server_connection.hpp"
#include "server_worker.hpp"

#include <boost/asio/post.hpp>

#include <utility>

namespace switchyard::http {

void connection::reply(request_id id, int status, const header_list& headers, std::string body) {
  if (id != current_)
    return;
  if (begun_)
    return abort(id); // two answers: the client must not take the first for whole
  put_head(status, answer_framing::length, body.size(), headers);
  if (!bodyless_)
    output_.add_body(std::move(body));
  finish_answer();
}

void connection::begin(request_id id, int status, const header_list& headers) {
  if (id != current_ || begun_)
    return;
  put_head(status, http_1_0_ ? answer_framing::until_close : answer_framing::chunked, 0, headers);
  // By itself so that a first piece written at once goes out in the same send.
  boost::asio::post(executor_, [self = shared_from_this()] { self->flush(); });
}

bool connection::write(request_id id, std::string_view piece, std::size_t bound) {
  if (id != current_ || !begun_ || broken_)
    return false;
  if (piece.empty() || bodyless_)
    return true;
  // Without a write under way nothing waits for the client.
  const auto waiting = writing_ ? output_.size() : 0;
  if (piece.size() > bound || waiting > bound - piece.size())
    return false;
  if (chunked_)
    append_chunk(output_.tail(), piece);
  else
    output_.tail().append(piece);
  flush();
  return !broken_;
}

void connection::on_room(request_id id, std::function<void()> callback) {
  if (id != current_ || broken_)
    return;
  if (!writing_)
    return callback();
  on_room_ = std::move(callback);
}

void connection::end(request_id id, const http::request& request) {
  if (id != current_)
    return;
  if (!begun_)
    return fail(id, &request);
  if (chunked_ && !bodyless_)
    output_.tail().append("0\r\n\r\n");
  finish_answer();
}

void connection::abort(request_id id) {
  if (id != current_)
    return;
  stream_->reset_on_close();
  close(cause::ended);
}

void connection::end_early(request_id id) {
  if (id != current_)
    return;
  refused_ = true; // bytes that the client has sent ahead must not make the close a reset
  keep_alive_ = false;
  finish_answer();
}

void connection::on_gone(request_id id, std::function<void()> callback) {
  if (id == current_)
    on_gone_ = std::move(callback);
}

void connection::fail(request_id id, const http::request* request, std::string_view thrown) noexcept {
  if (id != current_)
    return;
  try {
    if (begun_)
      return abort(id);
    auto [headers, body] =
        worker_->format({500, "internal", "an internal error: nothing answered the request", request, thrown});
    reply(id, 500, headers, std::move(body));
  } catch (...) {
    close(cause::ended);
  }
}

void connection::put_head(int status, answer_framing framing, std::uint64_t length, const header_list& headers) {
  if (status < 200 || status > 999)
    status = 500; // an interim or impossible status would leave the client waiting for another
  keep_alive_ = keep_alive_ && framing != answer_framing::until_close && !worker_->draining();
  begun_ = true;
  chunked_ = framing == answer_framing::chunked;
  bodyless_ = head_only_ || is_bodyless(status);
  append_head(
      output_.tail(),
      {.status = status, .framing = framing, .length = length, .keep_alive = keep_alive_, .http_1_0 = http_1_0_},
      headers, worker_->date());
}

// The last byte of the answer is queued.
void connection::finish_answer() {
  current_ = 0;
  const auto unused = std::exchange(on_gone_, nullptr); // it may hold the exchange: to be destroyed last
  const auto unused_too = std::exchange(on_room_, nullptr);
  phase_ = phase::sending;
  flush();
  if (phase_ == phase::sending && output_.empty())
    answer_sent();
}

void connection::answer_sent() {
  const bool last = !keep_alive_ || worker_->draining();
  // A close with bytes unread is a reset, which would take the answer from a client that has not read it yet.
  if (refused_ || (last && (!input_.unread().empty() || has_input()))) {
    refused_ = true;
    return linger();
  }
  if (last)
    return close(cause::ended);
  phase_ = phase::reading;
  parser_.reset();
  process();
}

// Most answers fit into the socket's buffer: sent here, without an asynchronous operation.
void connection::flush() {
  if (phase_ == phase::closed || writing_ || broken_ || output_.empty())
    return;
  boost::system::error_code error;
  const auto sent = stream_->send_now(output_.front(), error);
  if (error)
    return lost();
  output_.consume(sent);
  if (!output_.empty())
    send_rest();
}

void connection::send_rest() {
  set_limit(limit::write, worker_->options().write_timeout);
  send_more();
}

void connection::send_more() {
  writing_ = true;
  output_.lock(true);
  stream_->async_write_some(output_.front(),
                            [self = shared_from_this()](const boost::system::error_code& error, std::size_t bytes) {
                              self->on_sent(error, bytes);
                            });
}

void connection::on_sent(const boost::system::error_code& result, std::size_t bytes) {
  writing_ = false;
  if (phase_ == phase::closed)
    return;
  auto error = result;
  if (error == boost::asio::error::would_block)
    bytes = stream_->send_now(output_.front(), error);
  output_.lock(false);
  if (error)
    return close(cause::client_left);
  output_.consume(bytes);
  if (!output_.empty())
    return bytes > 0 ? send_rest() : send_more(); // only progress extends the limit
  limit_ = limit::none;
  if (phase_ == phase::sending)
    return answer_sent();
  update_limit();
  if (const auto callback = std::exchange(on_room_, nullptr))
    callback();
}

// Not closed at once: the caller may be in the middle of `write`, and the callback of `on_gone` must not run within it.
void connection::lost() {
  broken_ = true;
  boost::asio::post(executor_, [self = shared_from_this()] { self->close(cause::client_left); });
}

} // namespace switchyard::http
