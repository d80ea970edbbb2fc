#pragma once

#include "switchyard/engine/bulkhead.hpp"

#include <cstdint>
#include <memory>
#include <utility>

namespace switchyard {

/// What a message holds until it has been handled.
using mailbox_place = std::shared_ptr<const void>;

/// Bounds what waits for actors that block on a disk. CAF does not, and the number of requests does not either: when
/// the disk hangs they give up, and leave their messages behind. Thread-safe; may go before its places.
class mailbox_credit {
public:
  explicit mailbox_credit(std::uint32_t most) : places_(std::make_shared<bulkhead>(most)) {}

  /// A place for one message; null when so many wait already.
  mailbox_place take() const {
    auto slot = places_->try_acquire();
    return slot ? std::make_shared<held>(held{places_, std::move(slot)}) : nullptr;
  }

  void set_limit(std::uint32_t most) const noexcept { places_->set_limit(most); }

private:
  struct held {
    std::shared_ptr<bulkhead> owner;
    bulkhead::slot slot;
  };
  std::shared_ptr<bulkhead> places_;
};

} // namespace switchyard
