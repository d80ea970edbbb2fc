#pragma once

// The failure taxonomy [F]: one list of classes, one table of what each class means, one classifier.
// Nothing else in Switchyard decides whether a failure is retried, falls over, trips or counts in health.

#include "switchyard/engine/time.hpp"

#include <cstdint>
#include <initializer_list>
#include <optional>
#include <string_view>

namespace switchyard {

/// Why an attempt, a call or a request failed. The order is that of the table in the semantics.
enum class failure_class : std::uint8_t {
  connection,     ///< DNS, refused, reset, TLS, early close, malformed HTTP
  timeout,        ///< connect, first byte, idle or attempt time-out; HTTP 408
  rate_limit,     ///< HTTP 429
  server_error,   ///< HTTP 5xx
  empty_response, ///< 2xx without usable content
  soft_failure,   ///< 2xx in which the provider reports an error, or which is not what was promised
  auth,           ///< HTTP 401, 403
  context_length, ///< 400/413/422 that says the input is too long
  content_policy, ///< 400/413/422 that says the input was refused by policy
  client_error,   ///< other 4xx
  configuration,  ///< missing key, bad URL, a 3xx
  circuit_open,   ///< refused by a circuit
  overloaded,     ///< refused by a local limit
  budget,         ///< refused by a budget
  cancelled,      ///< the caller went away, or shutdown
  deadline,       ///< the caller's own deadline ran out
  unknown,        ///< anything else
};

inline constexpr int failure_class_count = 17;

/// What a class means [F table].
struct failure_traits {
  std::string_view name;
  bool retried_in_place; ///< rate_limit is retried in place by rule R4 only, and says false here
  bool falls_over;
  bool trips;
  bool counts_in_health;
};

/// The row of the table for a class. `f` must be one of the enumerators.
const failure_traits& traits(failure_class f) noexcept;

/// The class's name as it stands in telemetry, metrics and errors, e.g. "server_error".
inline std::string_view to_string(failure_class f) noexcept {
  return traits(f).name;
}

/// The class of that name, or nothing.
std::optional<failure_class> failure_class_from_string(std::string_view name) noexcept;

/// A set of failure classes.
class failure_set {
public:
  constexpr failure_set() = default;
  constexpr failure_set(std::initializer_list<failure_class> classes) {
    for (auto c : classes)
      insert(c);
  }
  constexpr void insert(failure_class c) noexcept { bits_ |= 1u << static_cast<unsigned>(c); }
  constexpr bool contains(failure_class c) const noexcept { return (bits_ >> static_cast<unsigned>(c)) & 1u; }
  constexpr bool empty() const noexcept { return bits_ == 0; }
  friend constexpr bool operator==(failure_set, failure_set) = default;

private:
  std::uint32_t bits_ = 0;
};

/// The classes whose `trips` column says yes: the default of a provider's `trips`.
failure_set default_trips() noexcept;

/// What went wrong on the wire before a whole HTTP answer was there.
enum class transport_error : std::uint8_t {
  dns,
  refused,
  reset, ///< also any other loss of a connection that was in use
  tls,
  early_close,
  malformed_http,
  connect_timeout,
  first_byte_timeout,
  first_content_timeout, ///< of a stream
  idle_timeout,
  attempt_timeout,
  stream_timeout, ///< the whole of a stream
  response_too_large,
  bad_url,
  cancelled,
  other,
};

/// A short text for a person, e.g. "connection refused". Holds no address and no secret.
std::string_view to_string(transport_error e) noexcept;

/// What can be said of an HTTP answer without its text: the classifier's whole input.
struct answer_facts {
  int status = 0; ///< HTTP status, 100..599
  enum class body_kind : std::uint8_t { empty, json, not_json } body = body_kind::empty;
  bool json_promised = true; ///< false where the operation does not promise JSON
  bool usable = false;       ///< has usable content, by the definition at the top of the semantics
  bool error_object = false; ///< a JSON object with a non-null `error`
  /// The error's code, type and message, if any; only read, to recognise context_length and content_policy.
  std::string_view error_code, error_type, error_message;
};

/// The class of an answer, or nothing for a success. [F table, F4]
/// On a 400, 413 or 422 the code and the type decide before the wording; of the message only its first 1,024 bytes
/// outside of quotation marks are read, so that an echo of the caller's text is not taken for the provider's words.
std::optional<failure_class> classify(const answer_facts& facts) noexcept;

/// The class of a failure on the wire. [F table, F4]
failure_class classify(transport_error e) noexcept;

} // namespace switchyard
