#pragma once

#include "switchyard/actors/provider.hpp"

#include <memory>

namespace switchyard::http {
class io_threads;
}

namespace switchyard::detail {

/// A program's own provider, whose listener may be called on any thread: results come back to the I/O thread that
/// started the attempt, and one that was cut there in the meantime is dropped.
class own_provider : public provider {
public:
  explicit own_provider(std::shared_ptr<provider> inner) : inner_(std::move(inner)) {}

  /// To be called before the first attempt. The threads must outlive the attempts.
  void use(http::io_threads& threads) noexcept { threads_ = &threads; }

  std::shared_ptr<attempt_handle> start(provider_request request, std::shared_ptr<attempt_listener> listener) override;

private:
  std::shared_ptr<provider> inner_;
  http::io_threads* threads_ = nullptr;
};

} // namespace switchyard::detail
