#pragma once

#include "switchyard/engine/failure.hpp"
#include "switchyard/engine/time.hpp"
#include "switchyard/runtime/error_category.hpp"

#include <boost/assert/source_location.hpp>
#include <boost/system/result.hpp>

#include <cstdint>
#include <optional>
#include <string_view>
#include <utility>

namespace switchyard {

namespace detail {
class guarded_circuit;
struct watched_call;

/// Who can make one can make permits.
class permit_key {
  friend class guarded_circuit;
  permit_key() = default;
};
} // namespace detail

/// Leave to make one call, and the duty to say what it came to. Reported once; a permit that goes without a report
/// is released as cancelled [C16]. A second report changes nothing, returns false and is counted [C9].
///
/// Movable; one thread at a time. One of `try_acquire` keeps nothing alive, so that getting and reporting it costs no
/// shared count: it must not outlive the last of its runtime and of the circuit_guards of that runtime. One of
/// `async_acquire`, which may wait in a queue for longer than its asker lives, keeps alive what it needs.
///
/// Nobody watches whether its call hangs: a call counts when the permit is reported, as slow where it took longer than
/// the profile's `slow_call_after`, and a permit that is never let go never counts. Only calls of `async_guard`, and
/// requests, count as slow while they still hang [C17]: watching takes a lock, which a permit costs less than. So give
/// the call a time limit of its own, and report `failure` when it is over.
///
/// A report never waits and never fails; every later caller sees its consequence [C4].
class permit {
public:
  /// For the circuit only. Made where it is to be: to move what was just written is the dearest part of a call.
  permit(detail::permit_key, detail::guarded_circuit& circuit, std::uint32_t generation, std::uint32_t probe) noexcept
      : circuit_(&circuit), generation_(generation), probe_(probe) {}
  permit(detail::permit_key, detail::guarded_circuit& circuit, std::uint32_t generation, std::uint32_t probe,
         time_point started) noexcept
      : circuit_(&circuit), started_(started), generation_(generation), probe_(probe), timed_(true) {}
  permit(permit&& other) noexcept { take_over(other); }
  permit& operator=(permit&& other) noexcept {
    if (this != &other) {
      release();
      take_over(other);
    }
    return *this;
  }
  ~permit() { release(); }

  /// The call went well.
  bool success() noexcept;

  /// The same, by one who knows better than this permit how long the call took: a success slower than the profile's
  /// `slow_call_after` is slow [C1].
  bool success(std::optional<duration> took) noexcept;

  /// The call failed: counts towards a trip. `retry_after` is how long the other side asked to be left alone [C5].
  bool failure(std::optional<duration> retry_after = std::nullopt) noexcept;

  /// The call failed with a class, whose row in the table decides whether it counts [F]: `unknown`, for one, does not.
  bool failure(failure_class why, std::optional<duration> retry_after = std::nullopt) noexcept;

  /// The call came to something that says nothing about the other side: neither counts nor resets [C3].
  bool neutral() noexcept;

  /// The call was not made or its end is unknown: counts as nothing [C8].
  bool cancel() noexcept;

  /// Whether this is one of the probes of a half-open circuit [C7].
  bool is_probe() const noexcept { return probe_ != 0; }

  /// Whether a report is still due.
  explicit operator bool() const noexcept { return circuit_ && (flags_ & reported) == 0; }

private:
  friend class detail::guarded_circuit;

  static constexpr std::uint8_t reported = 1;
  static constexpr std::uint8_t keeps = 2; ///< holds a share in what the circuit belongs to

  void take_over(permit& other) noexcept {
    if (other.watched_)
      other.stop_watching(); // its place in the list does not move with it
    circuit_ = std::exchange(other.circuit_, nullptr);
    started_ = other.started_;
    generation_ = other.generation_;
    probe_ = other.probe_;
    amends_ = other.amends_;
    timed_ = other.timed_;
    flags_ = other.flags_;
  }
  void release() noexcept {
    if (circuit_ && flags_ != reported)
      let_go();
  }
  void let_go() noexcept;
  bool take() noexcept;
  void stop_watching() noexcept;

  detail::guarded_circuit* circuit_ = nullptr; ///< null once moved from
  detail::watched_call* watched_ = nullptr;    ///< in the list of those that may hang [C17]
  time_point started_{};                       ///< only when `timed_`
  std::uint32_t generation_ = 0;
  std::uint32_t probe_ = 0;
  std::uint32_t amends_ = 0; ///< ticket of its hanging report plus 1
  bool timed_ = false;
  std::uint8_t flags_ = 0; ///< in one word, so that the end of an ordinary permit is one comparison
};

/// Why there is no permit.
struct circuit_refusal {
  errc code = errc::circuit_open;      ///< circuit_open, or shutting_down once the runtime has stopped
  std::string_view circuit;            ///< the circuit's id; lives as long as a permit of `try_acquire` may, and for
                                       ///< the length of a handler's call
  std::optional<duration> retry_after; ///< until the next probe may go; nothing when unknown [C6]

  operator boost::system::error_code() const noexcept {
    return make_error_code(code);
  } // NOLINT(google-explicit-constructor)
};

/// A permit or why there is none. `value()` of a refusal throws boost::system::system_error.
using acquisition = boost::system::result<permit, circuit_refusal>;

[[noreturn]] void throw_exception_from_error(const circuit_refusal& refusal, const boost::source_location& where);

} // namespace switchyard
