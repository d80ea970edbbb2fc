#pragma once

#include <condition_variable>
#include <cstddef>
#include <cstdint>
#include <functional>
#include <mutex>
#include <utility>

namespace switchyard::test {

/// A reusable barrier. std::barrier of libstdc++ 12 can miss a wake-up under load and leave every thread waiting
/// (seen in these tests: all of them inside wait() with the phase already over).
class rendezvous {
public:
  /// `each_time` is called by the last to arrive, before anybody goes on.
  explicit rendezvous(
      std::size_t count, std::function<void()> each_time = [] {})
      : count_(count), missing_(count), each_time_(std::move(each_time)) {}

  void arrive_and_wait() {
    std::unique_lock lock{mutex_};
    const auto mine = phase_;
    if (--missing_ == 0) {
      each_time_();
      missing_ = count_;
      ++phase_;
      all_here_.notify_all();
      return;
    }
    all_here_.wait(lock, [&] { return phase_ != mine; });
  }

private:
  std::mutex mutex_;
  std::condition_variable all_here_;
  std::size_t count_, missing_;
  std::uint64_t phase_ = 0;
  std::function<void()> each_time_;
};

} // namespace switchyard::test
