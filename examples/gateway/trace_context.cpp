#include "trace_context.hpp"

#include <algorithm>
#include <array>
#include <charconv>

namespace switchyard::gateway {

namespace {

// version "-" trace-id "-" parent-id "-" trace-flags
constexpr std::size_t trace_id_at = 3, trace_id_size = 32;
constexpr std::size_t parent_id_at = 36, parent_id_size = 16;
constexpr std::size_t flags_at = 53, flags_size = 2;
constexpr std::size_t size_of_version_00 = 55;

bool is_hex(std::string_view text) noexcept {
  return std::all_of(text.begin(), text.end(), [](char c) { return (c >= '0' && c <= '9') || (c >= 'a' && c <= 'f'); });
}

bool is_id(std::string_view text) noexcept {
  return is_hex(text) && text.find_first_not_of('0') != std::string_view::npos;
}

bool is_valid(std::string_view t) noexcept {
  if (t.size() < size_of_version_00 || t[2] != '-' || t[35] != '-' || t[52] != '-')
    return false;
  const auto version = t.substr(0, 2);
  if (!is_hex(version) || version == "ff" || (version == "00" && t.size() != size_of_version_00))
    return false;
  if (t.size() > size_of_version_00 && t[size_of_version_00] != '-')
    return false;
  return is_id(t.substr(trace_id_at, trace_id_size)) && is_id(t.substr(parent_id_at, parent_id_size)) &&
         is_hex(t.substr(flags_at, flags_size));
}

bool is_sampled(std::string_view t) noexcept {
  unsigned flags = 0;
  std::from_chars(t.data() + flags_at, t.data() + flags_at + flags_size, flags, 16);
  return (flags & 1u) != 0;
}

std::string hex_of(std::uint64_t id) {
  std::array<char, parent_id_size> digits;
  const auto end = std::to_chars(digits.data(), digits.data() + digits.size(), id, 16).ptr;
  const std::string text(digits.data(), end);
  return std::string(parent_id_size - text.size(), '0') + text;
}

} // namespace

bool is_trace_field(std::string_view name) noexcept {
  return same_field_name(name, "traceparent") || same_field_name(name, "tracestate");
}

std::optional<std::string> continued_traceparent(std::string_view traceparent, std::uint64_t span_id) {
  if (!is_valid(traceparent))
    return std::nullopt;
  return "00-" + std::string{traceparent.substr(trace_id_at, trace_id_size)} + "-" + hex_of(span_id) +
         (is_sampled(traceparent) ? "-01" : "-00");
}

void continue_trace(const header_list& request, std::uint64_t span_id, header_list& forwarded) {
  std::optional<std::string_view> parent;
  for (const auto& f : request) {
    if (!same_field_name(f.name, "traceparent"))
      continue;
    if (parent)
      return;
    parent = f.value;
  }
  const auto continued = parent ? continued_traceparent(*parent, span_id) : std::nullopt;
  if (!continued)
    return;
  forwarded.add("traceparent", *continued);
  for (const auto& f : request) // a list, which may be spread over several fields
    if (same_field_name(f.name, "tracestate") && !f.value.empty())
      forwarded.add("tracestate", f.value);
}

} // namespace switchyard::gateway
