#include "server_worker.hpp"

#include <boost/asio/post.hpp>

#include <future>

namespace switchyard::http {

namespace {

// After a failed accept, most likely for want of file descriptors: long enough not to spin, short enough not to be
// noticed.
constexpr std::chrono::milliseconds accept_pause{50};
// How often a waiting caller looks whether the I/O threads were stopped meanwhile.
constexpr std::chrono::milliseconds stop_check{10};

} // namespace

server_worker::server_worker(boost::asio::io_context& context, std::shared_ptr<server_shared> shared,
                             server_acceptor acceptor)
    : context_(context),
      shared_(std::move(shared)),
      options_(shared_->options.load()),
      acceptor_(std::move(acceptor)),
      pause_(context) {}

void server_worker::perform(action what, bool wait) {
  if (on_own_thread())
    return (this->*what)();
  if (wait && perform_here(what))
    return;
  struct errand {
    std::atomic<bool> taken{false}; // by the I/O thread or, when that was stopped, by the waiting one
    std::promise<void> done;
  };
  const auto job = std::make_shared<errand>();
  const auto done = job->done.get_future();
  boost::asio::post(context_, [self = shared_from_this(), what, job] {
    if (job->taken.exchange(true))
      return;
    ((*self).*what)();
    job->done.set_value();
  });
  while (wait && done.wait_for(stop_check) != std::future_status::ready)
    if (context_.stopped() && !job->taken.exchange(true))
      return (this->*what)();
}

bool server_worker::perform_here(action what) {
  const std::lock_guard lock(mutex_);
  if (begun_ && !context_.stopped())
    return false;
  (this->*what)();
  return true;
}

void server_worker::begin() {
  const std::lock_guard lock(mutex_);
  begun_ = true;
  if (acceptor_.is_open())
    accept();
}

void server_worker::stop_accepting() {
  if (!acceptor_.is_open())
    return;
  boost::system::error_code error;
  // To their clients these connections exist; closing the acceptor would reset them.
  if (on_own_thread() && !acceptor_.non_blocking(true, error)) {
    for (;;) {
      server_socket socket(context_);
      if (acceptor_.accept(socket, error))
        break;
      admit(std::move(socket));
    }
  }
  acceptor_.close(error);
  pause_.cancel();
}

// A request may have been received in a read whose callback is still queued: it is seen first. The same may then be
// true of connections that come in between, so these are left alone.
void server_worker::drain() {
  ++drains_;
  if (!on_own_thread())
    return close_idle(drains_);
  boost::asio::post(context_, [self = shared_from_this(), drain = drains_] { self->close_idle(drain); });
}

void server_worker::close_idle(unsigned drain) {
  for (auto next = connections_.begin(); next != connections_.end();) {
    const auto current = *next++;
    // A request that is on its way to be read is still answered.
    if (current->born() < drain && current->is_idle() && !current->has_input())
      current->close(connection::cause::ended);
  }
}

void server_worker::close_all() {
  const auto why = on_own_thread() ? connection::cause::client_left : connection::cause::torn_down;
  while (!connections_.empty()) {
    const auto first = connections_.front();
    first->close(why);
  }
}

void server_worker::shut_down() {
  ended_ = true;
  boost::system::error_code ignored;
  acceptor_.close(ignored);
  pause_.cancel();
  close_all();
}

void server_worker::remove(connection& closed) noexcept {
  connections_.erase(closed.position);
  shared_->connections.fetch_sub(1, std::memory_order_relaxed);
}

std::pair<header_list, std::string> server_worker::format(const refusal& why) noexcept {
  try {
    return shared_->on_refusal(why);
  } catch (...) {
    return {};
  }
}

void server_worker::accept() {
  acceptor_.async_accept([self = shared_from_this()](const boost::system::error_code& error, server_socket socket) {
    self->on_accept(error, std::move(socket));
  });
}

void server_worker::on_accept(const boost::system::error_code& error, server_socket socket) {
  if (ended_)
    return;
  if (!error)
    admit(std::move(socket));
  if (!acceptor_.is_open())
    return;
  if (error)
    pause();
  else
    accept();
}

bool server_worker::take_place() noexcept {
  auto count = shared_->connections.load(std::memory_order_relaxed);
  do {
    if (count >= options().max_connections)
      return false;
  } while (!shared_->connections.compare_exchange_weak(count, count + 1, std::memory_order_relaxed));
  return true;
}

void server_worker::admit(server_socket socket) {
  boost::system::error_code error;
  if (socket.non_blocking(true, error))
    return;
  if (!take_place())
    return turn_away(std::move(socket));
  connections_.push_front(std::make_shared<connection>(shared_from_this(), std::move(socket), options().tls.get()));
  const auto& added = connections_.front();
  added->position = connections_.begin();
  added->start();
}

// What fits into the socket's buffer; this client gets nothing that could cost memory or time, as a handshake would.
void server_worker::turn_away(server_socket socket) {
  if (options().tls)
    return;
  const auto text =
      std::to_string(options().max_connections) + " connections are open, as many as are allowed; try again later";
  const auto [headers, body] = format({503, "overloaded", text});
  std::string answer;
  append_head(answer, {.status = 503, .length = body.size(), .keep_alive = false}, headers, date());
  answer.append(body);
  boost::system::error_code ignored;
  socket.write_some(boost::asio::buffer(answer), ignored);
  socket.shutdown(server_socket::shutdown_send, ignored);
}

void server_worker::pause() {
  pause_.expires_after(accept_pause);
  pause_.async_wait([self = shared_from_this()](const boost::system::error_code& error) {
    if (!error && self->acceptor_.is_open())
      self->accept();
  });
}

} // namespace switchyard::http
