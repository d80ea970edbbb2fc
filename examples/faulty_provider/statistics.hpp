#pragma once

// What the provider saw and did. Not thread-safe.

#include "behaviour.hpp"

#include <boost/json/value.hpp>

#include <array>
#include <cstdint>
#include <map>
#include <string>
#include <string_view>

namespace faulty {

/// How a stream came to its end.
enum class stream_end : std::uint8_t {
  finished, ///< the provider ended the body
  cut,      ///< by the script
  aborted,  ///< its client left
};
inline constexpr std::array<std::string_view, 3> stream_end_names{"finished", "cut", "aborted"};

class statistics {
public:
  /// A request of an operation came in. `authorization` is the field's value; of a key only the last characters are
  /// kept.
  void began(std::string_view authorization, behaviour b);
  /// It was answered, by a status or (0) by a cut connection.
  void completed(int status);
  /// Its client left before that.
  void aborted();

  /// The head of a stream went out. Its request is counted by the functions above, too.
  void stream_began() noexcept;
  void stream_ended(stream_end how) noexcept;
  void stream_wrote(std::size_t bytes) noexcept { stream_bytes_ += bytes; }
  /// A stream has to wait for its client to read.
  void stream_waits() noexcept { ++stream_waits_; }

  /// Counts from zero; requests and streams in flight stay.
  void reset();

  std::uint64_t requests() const noexcept { return requests_; }
  boost::json::object to_json() const;

private:
  void ended() noexcept { --in_flight_; }
  boost::json::object streams_to_json() const;

  std::uint64_t requests_ = 0, completed_ = 0, aborted_ = 0;
  std::uint64_t in_flight_ = 0, max_in_flight_ = 0;
  std::uint64_t streams_begun_ = 0, open_streams_ = 0, max_open_streams_ = 0;
  std::uint64_t stream_bytes_ = 0, stream_waits_ = 0;
  std::array<std::uint64_t, stream_end_names.size()> streams_ended_{};
  std::map<int, std::uint64_t> by_status_;
  std::array<std::uint64_t, 10> by_behaviour_{};
  std::map<std::string, std::uint64_t> keys_;
};

} // namespace faulty
