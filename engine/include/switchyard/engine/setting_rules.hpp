#pragma once

// What values a setting accepts. A rule is a small value that can say two things: whether a value keeps it
// (`holds`), and in words what it accepts (`accepted`). The table of settings (settings_fields.hpp) gives every
// field one; reading, validation, the JSON Schema and the documentation all ask the same rule.
// Pure functions, safe from any thread.

#include "switchyard/engine/duration_text.hpp"
#include "switchyard/engine/failure.hpp"

#include <array>
#include <cstdint>
#include <limits>
#include <optional>
#include <string>
#include <string_view>

namespace switchyard {

/// true or false.
struct flag_rule {};

/// A whole number.
struct whole_rule {
  std::uint64_t min = 0;
  std::uint64_t max = std::uint64_t{1} << 53; ///< what every JSON reader holds exactly
};

/// A number of bytes; written as a number or with a unit, `16MiB`.
struct bytes_rule {
  std::uint64_t min = 0;
  std::uint64_t max = std::uint64_t{1} << 40;
};

/// A finite real number.
struct real_rule {
  double min = 0;
  double max = std::numeric_limits<double>::max();
  bool above_min = false; ///< `min` itself is not accepted
};

/// A length of time.
struct span_rule {
  duration min = duration::zero();
  duration max = longest_duration;
  bool above_min = false; ///< `min` itself is not accepted
};

inline constexpr span_rule positive_span{.above_min = true};
inline constexpr span_rule any_span{};

/// One of a few names, which stand for the enumerators in order; for a bool, for false and true.
template <std::size_t N>
struct choice_rule {
  std::array<std::string_view, N> names;
};

template <class... Names>
constexpr choice_rule<sizeof...(Names)> choice(Names... names) {
  return {{std::string_view{names}...}};
}

/// What a text must look like.
enum class text_form : std::uint8_t {
  any,      ///< no control characters
  nonempty, ///< at least one character, no control characters
  id,       ///< a name of a provider, route, tenant, profile or node: see `is_id`
  variable, ///< the name of an environment variable: [A-Za-z_][A-Za-z0-9_]*
  endpoint, ///< HOST:PORT: see `parse_host_port`
  base_url, ///< http:// or https:// and a host; the rest is checked where there is a URL parser
  path,     ///< a URL path that starts with a slash
  file,     ///< the path of a file or folder
  origin,   ///< the origin of a web page: scheme://host[:port], or *
};

/// A text. Empty is accepted where it is the default, which then means "none".
struct text_rule {
  text_form form = text_form::any;
};

/// A set of failure classes.
struct classes_rule {
  failure_set allowed;
};

/// A text that holds a JSON object, which is an object in the file.
struct json_object_rule {};

/// `size` of a window: a whole number of outcomes for a count window, a duration for a time window.
struct window_size_rule {
  whole_rule count{1, 100'000};
  span_rule time{std::chrono::seconds{1}, std::chrono::hours{24}};
};

/// Headers by name: a text, or {"env": NAME}.
struct headers_rule {};

/// Settings inside settings: an object, named objects, or an array of objects.
struct nested_rule {};

bool holds(const whole_rule& rule, std::uint64_t value) noexcept;
bool holds(const bytes_rule& rule, std::uint64_t value) noexcept;
bool holds(const real_rule& rule, double value) noexcept; ///< false for NaN and the infinities
bool holds(const span_rule& rule, duration value) noexcept;
bool holds(const text_rule& rule, std::string_view value) noexcept;
bool holds(const classes_rule& rule, failure_set value) noexcept;

/// In words what the rule accepts, to stand after "accepted: ", e.g. "a whole number from 1 to 1000".
std::string accepted(const flag_rule& rule);
std::string accepted(const whole_rule& rule);
std::string accepted(const bytes_rule& rule);
std::string accepted(const real_rule& rule);
std::string accepted(const span_rule& rule);
std::string accepted(const text_rule& rule);
std::string accepted(const classes_rule& rule);
std::string accepted_entry(const classes_rule& rule); ///< of one class in the array
std::string accepted(const json_object_rule& rule);
std::string accepted(const window_size_rule& rule);
std::string accepted(const headers_rule& rule);
std::string accepted_names(const std::string_view* names, std::size_t count);

template <std::size_t N>
std::string accepted(const choice_rule<N>& rule) {
  return accepted_names(rule.names.data(), N);
}

/// A number as short as it can be written without loss, e.g. "0.2".
std::string format_real(double value);

/// A name by which settings refer to each other: 1 to 128 bytes, no control characters, no white space around it.
bool is_id(std::string_view text) noexcept;

/// The name of an HTTP header: a token (RFC 9110, 5.6.2).
bool is_header_name(std::string_view text) noexcept;

/// The value of an HTTP header: no CR, LF, NUL or other control character but the tab (RFC 9110, 5.5).
bool is_header_value(std::string_view text) noexcept;

/// A key that goes into an `Authorization` header: 0x21 to 0x7E only.
bool is_bearer_key(std::string_view text) noexcept;

/// An address to listen at or to connect to.
struct host_port {
  std::string host; ///< without the brackets of an IPv6 address
  std::uint16_t port = 0;

  friend bool operator==(const host_port&, const host_port&) = default;
};

/// Parses `HOST:PORT`, an IPv6 address in brackets, the port 0 to 65535; nothing for anything else.
std::optional<host_port> parse_host_port(std::string_view text);

/// Whether a host can only be reached from this machine: `localhost`, 127.0.0.0/8 or ::1.
bool is_loopback(std::string_view host) noexcept;

} // namespace switchyard
