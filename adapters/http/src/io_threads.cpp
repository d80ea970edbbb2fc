#include "switchyard/http/io_threads.hpp"

#include <algorithm>

namespace switchyard::http {

namespace {

/// What the calling thread runs, if it is an I/O thread of anybody.
struct thread_place {
  const io_threads* owner = nullptr;
  std::size_t index = 0;
};

thread_local thread_place place;

} // namespace

io_threads::io_threads(std::size_t count) {
  count = std::max<std::size_t>(count, 1);
  contexts_.reserve(count);
  for (std::size_t i = 0; i < count; ++i)
    contexts_.push_back(std::make_unique<boost::asio::io_context>(1)); // one thread runs it
}

io_threads::~io_threads() {
  stop();
}

void io_threads::start() {
  if (!threads_.empty())
    return;
  for (std::size_t i = 0; i < contexts_.size(); ++i) {
    contexts_[i]->restart();
    guards_.emplace_back(contexts_[i]->get_executor());
    threads_.emplace_back([this, i] {
      place = {this, i};
      contexts_[i]->run();
      place = {};
    });
  }
}

void io_threads::stop() {
  guards_.clear();
  for (auto& context : contexts_)
    context->stop();
  for (auto& thread : threads_)
    thread.join();
  threads_.clear();
}

boost::asio::io_context* io_threads::current() noexcept {
  return place.owner == this ? contexts_[place.index].get() : nullptr;
}

std::size_t io_threads::current_index() const noexcept {
  return place.owner == this ? place.index : contexts_.size();
}

boost::asio::io_context& io_threads::pick() noexcept {
  return *contexts_[pick_index()];
}

std::size_t io_threads::pick_index() noexcept {
  if (place.owner == this)
    return place.index;
  return next_.fetch_add(1, std::memory_order_relaxed) % contexts_.size();
}

} // namespace switchyard::http
