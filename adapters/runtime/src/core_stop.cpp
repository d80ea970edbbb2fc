#include "core_impl.hpp"
#include "thread_owner.hpp"
#include "visiting_thread.hpp"

#include <boost/asio/post.hpp>
#include <caf/exit_reason.hpp>
#include <caf/scoped_actor.hpp>
#include <caf/send.hpp>

#include <thread>
#include <vector>

namespace switchyard {

namespace {

using std::chrono::seconds;

} // namespace

core_impl::~core_impl() {
  core_impl::stop(duration::zero());
}

void core_impl::dispose(core_impl* c) noexcept {
  if (c->on_own_thread())
    std::thread{[c] { delete c; }}.detach();
  else
    delete c;
}

bool core_impl::on_own_thread() const noexcept {
  return io_.current_index() != io_.size() || detail::thread_owner == this;
}

void core_impl::stop(duration grace) {
  if (!started_.load())
    return;
  refuse_new();
  const bool first = !stopping_.exchange(true);
  if (on_own_thread()) {
    if (first)
      std::thread{[self = shared_from_this(), grace] { self->end(grace); }}.detach();
  } else if (first) {
    end(grace);
  } else {
    std::unique_lock lock{stop_mutex_};
    ended_changed_.wait(lock, [this] { return ended_; });
  }
}

void core_impl::end(duration grace) {
  const visiting_thread visit;
  wait_for_requests(grace);
  end_all_requests();
  wait_for_requests(seconds{5});
  {
    caf::scoped_actor self{*system_};
    self->request(writer_, seconds{10}, flush_telemetry{}).receive([](const done&) {}, [](const caf::error&) {});
  }
  // The actors first: what one of them still answers goes to an I/O thread.
  actors_gate_.close();
  stop_actors();
  system_->await_all_actors_done();
  io_.stop();
  // A request that waits in a stopped context may hold the environment; CAF waits for the last handle of a detached
  // actor.
  environment_->shards.clear();
  environment_->writer = telemetry_writer_actor{};
  environment_.reset();
  system_.reset();
  log_.reset(); // a guard may keep this object for long, and another runtime want the data directory
  answers_.reset();
  const auto until = std::chrono::steady_clock::now() + observer_patience;
  hub_->close(until);
  log_lines_.close(until);
  std::lock_guard lock{stop_mutex_};
  ended_ = true;
  ended_changed_.notify_all();
}

void core_impl::wait_for_requests(duration grace) {
  std::unique_lock lock{stop_mutex_};
  idle_.wait_for(lock, grace, [this] { return in_flight_.load(std::memory_order_seq_cst) == 0; });
}

void core_impl::end_all_requests() {
  for (std::size_t i = 0; i < io_.size(); ++i)
    boost::asio::post(io_.at(i), [this, i] {
      // Ending one takes it out of the list; an actor's ends later.
      std::vector<std::shared_ptr<inline_request>> all;
      for (auto& request : running_[i])
        all.push_back(request.shared_from_this());
      for (const auto& request : all)
        request->force_end();
    });
}

void core_impl::stop_actors() {
  // The directory first and wholly, or it would replace the breakers that end.
  {
    caf::scoped_actor self{*system_};
    self->monitor(directory_);
    caf::anon_send_exit(directory_, caf::exit_reason::user_shutdown);
    bool gone = false;
    self->receive_while([&] { return !gone; })([&](const caf::down_msg&) { gone = true; },
                                               caf::after(seconds{5}) >> [&] { gone = true; });
  }
  for (const auto& handle : registry_->all()) {
    if (auto breaker = handle->breaker())
      caf::anon_send_exit(breaker, caf::exit_reason::user_shutdown);
    handle->set_breaker(breaker_actor{});
  }
  for (const auto& shard : environment_->shards)
    caf::anon_send_exit(shard, caf::exit_reason::user_shutdown);
  caf::anon_send_exit(writer_, caf::exit_reason::user_shutdown);
  caf::anon_send_exit(reader_, caf::exit_reason::user_shutdown);
  caf::anon_send_exit(health_, caf::exit_reason::user_shutdown);
  directory_ = directory_actor{};
  health_ = health_actor{};
  writer_ = telemetry_writer_actor{};
  reader_ = telemetry_reader_actor{};
}

} // namespace switchyard
