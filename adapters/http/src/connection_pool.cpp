#include "connection_pool.hpp"

#include "client_connection.hpp"
#include "client_core.hpp"

#include <algorithm>

namespace switchyard::http {

using boost::asio::ip::tcp;

std::shared_ptr<client_connection> connection_pool::take() {
  while (!idle_.empty()) {
    auto c = idle_.back()->shared_from_this();
    idle_.pop_back();
    idle_count_.store(idle_.size(), std::memory_order_relaxed);
    if (c->leave_pool())
      return c;
  }
  return nullptr;
}

bool connection_pool::put(client_connection& c) {
  if (idle_.size() >= max_idle || core_.closing.load(std::memory_order_relaxed))
    return false;
  idle_.push_back(&c);
  idle_count_.store(idle_.size(), std::memory_order_relaxed);
  return true;
}

void connection_pool::close_idle() noexcept {
  while (!idle_.empty())
    idle_.back()->close(); // takes itself out
}

void connection_pool::remove(client_connection& c) noexcept {
  std::erase(idle_, &c);
  std::erase(waiters_, &c);
  idle_count_.store(idle_.size(), std::memory_order_relaxed);
}

const std::vector<tcp::endpoint>* connection_pool::addresses(time_point now) const noexcept {
  return now < addresses_until_ ? &addresses_ : nullptr;
}

void connection_pool::resolve(client_connection& c) {
  if (const auto& address = core_.target.address()) {
    addresses_.assign(1, {*address, core_.target.port()});
    addresses_until_ = time_point::max();
    c.on_addresses({}, addresses_);
    return;
  }
  waiters_.push_back(&c);
  if (std::exchange(resolving_, true))
    return;
  auto resolver = std::make_shared<tcp::resolver>(context_);
  resolver->async_resolve(
      core_.target.host(), std::to_string(core_.target.port()), tcp::resolver::numeric_service,
      [this, resolver, core = core_.shared_from_this()](const auto& ec, const auto& found) { on_resolved(ec, found); });
}

void connection_pool::on_resolved(const boost::system::error_code& ec, const tcp::resolver::results_type& found) {
  resolving_ = false;
  if (!ec) {
    addresses_.clear();
    for (const auto& entry : found)
      addresses_.push_back(entry.endpoint());
    addresses_until_ = plus(clock_now(), address_time);
  }
  // Telling one may close others, or bring new ones: those get the same answer only if they fit in the count.
  for (auto n = waiters_.size(); n > 0 && !waiters_.empty(); --n) {
    auto c = waiters_.front()->shared_from_this();
    waiters_.pop_front();
    c->on_addresses(ec, addresses_);
  }
}

} // namespace switchyard::http
