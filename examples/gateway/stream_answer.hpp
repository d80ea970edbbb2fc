#pragma once

#include "switchyard/actors/request_result.hpp"
#include "switchyard/actors/stream.hpp"
#include "switchyard/http/server.hpp"
#include "switchyard/openai/body.hpp"

#include <memory>
#include <string>

namespace switchyard::gateway {

/// The answer to a request for a stream: passes its pieces to the client, one at a time, so that a slow client slows
/// its provider and nobody else [S5].
class stream_answer final : public stream_receiver, public std::enable_shared_from_this<stream_answer> {
public:
  stream_answer(std::shared_ptr<http::exchange> x, std::string request_id, openai::operation op)
      : exchange_(std::move(x)), request_id_(std::move(request_id)), operation_(op) {}

  void on_begin(std::shared_ptr<const request_result> so_far) override;
  void on_bytes(std::string_view bytes, std::function<void(bool more)> taken) override;

  /// The request has ended; on the exchange's thread. Ends the stream, with an error event where it broke off [S2]; a
  /// request that never flowed is answered as a whole.
  void finish(const request_result& result);

private:
  void write(std::string_view bytes, std::function<void(bool more)> taken);

  std::shared_ptr<http::exchange> exchange_;
  std::string request_id_;
  openai::operation operation_;
};

} // namespace switchyard::gateway
