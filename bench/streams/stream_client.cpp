#include "stream_client.hpp"

#include <boost/asio/buffer.hpp>
#include <boost/asio/write.hpp>

#include <utility>

namespace switchyard::bench {

namespace asio = boost::asio;

stream_client::stream_client(asio::io_context& io, asio::ip::tcp::endpoint where, std::string request,
                             std::optional<leaving> leave)
    : socket_(io), timer_(io), where_(std::move(where)), request_(std::move(request)), leave_(leave) {}

void stream_client::start(std::function<void(stream_outcome)> done) {
  done_ = std::move(done);
  socket_.async_connect(where_, [self = shared_from_this()](const error_code& ec) { self->on_connected(ec); });
}

void stream_client::on_connected(const error_code& ec) {
  using when = leaving::moment;
  if (ec)
    return finish("connect: " + ec.message());
  error_code ignored;
  socket_.set_option(asio::ip::tcp::no_delay(true), ignored);
  if (leave_ && leave_->when == when::before_request)
    return leave();
  if (leave_ && leave_->when == when::within_request)
    request_.resize(request_.size() / 2);
  began_ = clock::now();
  asio::async_write(
      socket_, asio::buffer(request_), [self = shared_from_this()](const error_code& failed, std::size_t) {
        if (failed)
          return self->finish("write: " + failed.message());
        if (self->leave_ && (self->leave_->when == when::within_request || self->leave_->when == when::before_head))
          return self->leave();
        if (self->leave_ && self->leave_->when == when::after_time) {
          self->timer_.expires_after(self->leave_->after);
          self->timer_.async_wait([self](const error_code& stopped) {
            if (!stopped)
              self->leave();
          });
        }
        self->read();
      });
}

void stream_client::read() {
  socket_.async_read_some(asio::buffer(buffer_),
                          [self = shared_from_this()](const error_code& ec, std::size_t n) { self->on_read(ec, n); });
}

// The body's chunks hold whole events, so the lines of the chunked framing stand between those of the events.
void stream_client::on_read(const error_code& ec, std::size_t n) {
  if (!done_)
    return;
  if (ec)
    return finish(said_done_ ? std::string{} : "the stream was cut: " + ec.message());
  rest_.append(buffer_.data(), n);
  std::size_t from = 0;
  for (std::size_t end; done_ && (end = rest_.find('\n', from)) != std::string::npos; from = end + 1)
    on_line(std::string_view{rest_}.substr(from, end - from));
  rest_.erase(0, from);
  if (done_)
    read();
}

void stream_client::on_line(std::string_view line) {
  constexpr std::string_view data = "data: ", content = "\"content\":\"";
  if (line.starts_with("HTTP/1.1 ")) {
    ok_ = line.substr(9, 3) == "200";
    if (!ok_)
      finish("answered " + std::string{line});
  } else if (line.starts_with("data: [DONE]")) {
    said_done_ = true;
  } else if (line.starts_with(data)) {
    const auto at = line.find(content);
    if (at != line.npos) {
      const auto text = line.substr(at + content.size());
      if (const auto end = text.find('"'); end > 0)
        on_content(text.substr(0, end));
    } else if (line.find("\"error\"") != line.npos) {
      finish("an error event: " + std::string{line});
    }
  } else if (line == "0\r" && said_done_) {
    outcome_.whole = ok_;
    finish();
  }
}

void stream_client::on_content(std::string_view text) {
  const auto now = clock::now();
  if (!outcome_.first)
    outcome_.first = now - began_;
  else
    outcome_.gaps_us.push_back(
        static_cast<std::uint32_t>(std::chrono::duration_cast<std::chrono::microseconds>(now - last_).count()));
  last_ = now;
  outcome_.content += text;
  ++outcome_.chunks;
  if (leave_ && leave_->when == leaving::moment::after_events && outcome_.chunks > leave_->events)
    leave();
}

void stream_client::leave() {
  error_code ignored;
  if (leave_->reset)
    socket_.set_option(asio::socket_base::linger(true, 0), ignored);
  finish();
}

void stream_client::finish(std::string problem) {
  if (!done_)
    return;
  outcome_.problem = std::move(problem);
  error_code ignored;
  socket_.close(ignored);
  timer_.cancel();
  std::exchange(done_, nullptr)(std::move(outcome_));
}

} // namespace switchyard::bench
