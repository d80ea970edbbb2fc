#pragma once

#include "switchyard/actors/provider.hpp"

#include <memory>
#include <utility>

namespace switchyard::http {
class io_threads;
}

namespace switchyard::detail {

/// A program's own provider, whose listener may be called on any thread: results come back to the I/O thread that
/// started the attempt, and one that was cut there in the meantime is dropped.
class own_provider : public provider {
public:
  /// The threads must outlive the attempts.
  own_provider(std::shared_ptr<provider> inner, http::io_threads& threads)
      : inner_(std::move(inner)), threads_(threads) {}

  std::shared_ptr<attempt_handle> start(provider_request request, std::shared_ptr<attempt_listener> listener) override;

private:
  std::shared_ptr<provider> inner_;
  http::io_threads& threads_;
};

} // namespace switchyard::detail
