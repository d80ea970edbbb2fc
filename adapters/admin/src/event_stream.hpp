#pragma once

#include "switchyard/http/server.hpp"
#include "switchyard/runtime/core.hpp"

#include <cstddef>
#include <memory>
#include <mutex>
#include <string>
#include <vector>

namespace switchyard::admin {

class event_stream;

/// The subscribers of /admin/events. Each event is written down once for all of them; one that does not read is cut
/// once its backlog is full. So subscribers cost a call little, and never delay it [C15]. Thread-safe.
class event_streams : public event_sink, public std::enable_shared_from_this<event_streams> {
public:
  static constexpr std::size_t most_subscribers = 64;

  explicit event_streams(std::shared_ptr<core> engine) : engine_(std::move(engine)) {}

  /// Answers with the stream of events until the client leaves. False when there are as many as are allowed.
  bool add(const std::shared_ptr<http::exchange>& x);
  void remove(const event_stream* gone);

  void on_event(const event& e) noexcept override;

private:
  std::shared_ptr<core> engine_;
  std::mutex mutex_; ///< short: the list only
  std::vector<std::shared_ptr<event_stream>> streams_;
  std::shared_ptr<void> subscription_; ///< while there is a stream
};

} // namespace switchyard::admin
