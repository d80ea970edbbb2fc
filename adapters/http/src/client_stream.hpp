#pragma once

// What a streamed answer passes through between its connection and its sink, on the attempt's I/O thread:
//
//   connection --body--> reader --whole events--> waiting --sink is free--> sink
//
// The sink has one piece at a time; what comes meanwhile waits. When more than `max_waiting` bytes wait, the connection
// reads no further: the provider is slowed by TCP, and by nothing else [S5]. So a stream holds at most twice
// (`max_waiting` + one read + one event) besides what its reader holds.

#include "switchyard/actors/stream.hpp"

#include <cstddef>
#include <functional>
#include <memory>
#include <string>
#include <string_view>
#include <utility>

namespace switchyard::http {

class client_stream {
public:
  static constexpr std::size_t max_waiting = 64 * 1024;

  explicit client_stream(std::unique_ptr<stream_reader> reader) : reader_(std::move(reader)) {}

  void feed(std::string_view body) { reader_->feed(body, waiting_); }
  void finish() { reader_->finish(waiting_); }
  const stream_reader& reader() const noexcept { return *reader_; }

  /// Whether content has ever come: only then may anything be told or passed on.
  bool content() const noexcept { return content_; }
  void set_content() noexcept { content_ = true; }

  bool waits() const noexcept { return !waiting_.empty(); }
  bool full() const noexcept { return waiting_.size() >= max_waiting; }
  /// Whether everything has gone to the sink and was taken.
  bool drained() const noexcept { return waiting_.empty() && !handed_out_; }

  void set_sink(std::shared_ptr<stream_sink> sink) { sink_ = std::move(sink); }
  /// Lets go of the sink: nothing goes there any more.
  void close() noexcept { sink_.reset(); }
  /// What waits has nowhere to go.
  void discard() noexcept {
    waiting_.clear();
    handed_out_ = false;
    close();
  }

  /// The next piece for the sink; empty when there is none, or the sink has not taken the last one. It stays valid
  /// until the next call that returns one.
  std::string_view take_piece() {
    if (!sink_ || handed_out_ || waiting_.empty())
      return {};
    handed_.clear();
    std::swap(handed_, waiting_);
    handed_out_ = true;
    return handed_;
  }
  const std::shared_ptr<stream_sink>& sink() const noexcept { return sink_; }
  void piece_taken() noexcept {
    handed_out_ = false;
    if (handed_.capacity() > kept)
      handed_ = {};
  }

private:
  static constexpr std::size_t kept = 4 * 1024; ///< an idle stream keeps no larger buffer

  std::unique_ptr<stream_reader> reader_;
  std::shared_ptr<stream_sink> sink_;
  std::string waiting_; ///< for the sink
  std::string handed_;  ///< at the sink
  bool handed_out_ = false;
  bool content_ = false;
};

} // namespace switchyard::http
