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

// Ends an actor and waits until it has gone.
template <class Actor>
void end_and_wait(caf::actor_system& system, const Actor& actor) {
  caf::scoped_actor self{system};
  self->monitor(actor);
  caf::anon_send_exit(actor, caf::exit_reason::user_shutdown);
  bool gone = false;
  self->receive_while([&] { return !gone; })([&](const caf::down_msg&) { gone = true; },
                                             caf::after(seconds{5}) >> [&] { gone = true; });
}

template <class Actor>
void end_actor(actor_slot<Actor>& slot) {
  if (const auto actor = slot.get())
    caf::anon_send_exit(actor, caf::exit_reason::user_shutdown);
  slot.set(Actor{});
}

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
  if (const auto writer = writer_->get()) {
    caf::scoped_actor self{*system_};
    self->request(writer, seconds{10}, flush_telemetry{}).receive([](const done&) {}, [](const caf::error&) {});
  }
  // The actors first: what one of them still answers goes to an I/O thread.
  actors_gate_.close();
  stop_actors();
  system_->await_all_actors_done();
  wait_for_requests(seconds{5}); // what they answered last is on its way through the I/O threads
  io_.stop();
  // A request that waits in a stopped context may hold the environment; CAF waits for the last handle of a detached
  // actor.
  environment_.reset();
  system_.reset();
  log_.reset(); // a guard may keep this object for long, and another runtime want the data directory
  answers_.reset();
  budget_store_.reset();
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
  // Those who replace what dies first, and wholly.
  end_and_wait(*system_, directory_);
  end_and_wait(*system_, supervisor_);
  auto circuits = registry_->all();
  {
    const std::lock_guard lock{reload_mutex_};
    for (const auto& retired : retired_)
      if (auto handle = retired.lock())
        circuits.push_back(std::move(handle));
  }
  for (const auto& handle : circuits) {
    if (auto breaker = handle->breaker())
      caf::anon_send_exit(breaker, caf::exit_reason::user_shutdown);
    handle->set_breaker(breaker_actor{});
  }
  for (const auto& shard : shards_)
    end_actor(*shard);
  end_actor(*cache_);
  end_actor(*budgets_);
  end_actor(*writer_);
  end_actor(*reader_);
  end_actor(*health_);
  directory_ = directory_actor{};
  supervisor_ = supervisor_actor{};
}

} // namespace switchyard
