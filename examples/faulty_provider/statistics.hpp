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

class statistics {
public:
  /// A request of an operation came in. `authorization` is the field's value; of a key only the last characters are
  /// kept.
  void began(std::string_view authorization, behaviour b);
  /// It was answered, by a status or (0) by a cut connection.
  void completed(int status);
  /// Its client left before that.
  void aborted();

  /// Counts from zero; requests in flight stay.
  void reset();

  std::uint64_t requests() const noexcept { return requests_; }
  boost::json::object to_json() const;

private:
  void ended() noexcept { --in_flight_; }

  std::uint64_t requests_ = 0, completed_ = 0, aborted_ = 0;
  std::uint64_t in_flight_ = 0, max_in_flight_ = 0;
  std::map<int, std::uint64_t> by_status_;
  std::array<std::uint64_t, 10> by_behaviour_{};
  std::map<std::string, std::uint64_t> keys_;
};

} // namespace faulty
