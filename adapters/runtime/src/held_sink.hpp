#pragma once

#include "switchyard/actors/stream.hpp"

#include <cstdint>
#include <functional>
#include <memory>
#include <mutex>
#include <utility>

namespace switchyard::detail {

/// Stands between a stream and the sink of a program, so that a request's completion comes when the sink is at rest: a
/// piece that is still being taken when its request ends (cancelled, broken off, stopped) is waited for.
class held_sink final : public stream_receiver, public std::enable_shared_from_this<held_sink> {
public:
  /// `at_once`: nothing had to be waited for.
  using end_function = std::function<void(bool at_once)>;

  explicit held_sink(std::shared_ptr<stream_receiver> to) : to_(std::move(to)) {}

  void on_begin(std::shared_ptr<const request_result> so_far) override { to_->on_begin(std::move(so_far)); }

  void on_bytes(std::string_view bytes, std::function<void(bool more)> taken) override {
    std::uint64_t number = 0;
    {
      std::lock_guard lock{mutex_};
      if (ended_)
        return;
      busy_ = true;
      number = ++piece_;
    }
    const auto self = shared_from_this();
    // Should it be dropped uncalled, the sink is done with the piece as well.
    const auto dropped = std::shared_ptr<void>{nullptr, [self, number](void*) { self->rest(number); }};
    to_->on_bytes(bytes, [self, number, dropped, taken = std::move(taken)](bool more) {
      self->rest(number);
      taken(more);
    });
  }

  /// The request has ended: no further piece begins, and `done` is called as soon as none is being taken.
  void end(end_function done) {
    {
      std::lock_guard lock{mutex_};
      ended_ = true;
      if (busy_) {
        done_ = std::move(done);
        return;
      }
    }
    done(true);
  }

private:
  void rest(std::uint64_t number) {
    end_function done;
    {
      std::lock_guard lock{mutex_};
      if (number != piece_)
        return;
      busy_ = false;
      done = std::exchange(done_, nullptr);
    }
    if (done)
      done(false);
  }

  std::shared_ptr<stream_receiver> to_;
  std::mutex mutex_;
  std::uint64_t piece_ = 0; ///< number of the last one
  bool busy_ = false;       ///< it is being taken
  bool ended_ = false;
  end_function done_;
};

} // namespace switchyard::detail
