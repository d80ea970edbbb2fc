#pragma once

// How records are written down. Every value begins with one byte that names its layout; a layout never changes, a new
// one gets a new byte. Decoding yields nothing for an unknown layout, a value cut short and one with bytes left over,
// and never reads outside its input.

#include "switchyard/engine/budget.hpp"
#include "switchyard/engine/idempotency_ledger.hpp"
#include "switchyard/engine/telemetry.hpp"
#include "switchyard/engine/usage.hpp"

#include <optional>
#include <string>
#include <string_view>

namespace switchyard::store {

/// The first byte of a value.
enum class layout : std::uint8_t {
  record = 1,       ///< a whole telemetry_record
  late_attempt = 2, ///< one attempt that began well after its request, see telemetry_store.hpp
  answer = 3,       ///< a stored_answer
  reservation = 4,  ///< a stored_answer that is reserved; without what only an answer has
  rerun_answer = 5, ///< as `answer`, of unknown outcome
  budget = 6,       ///< a stored_budget without its name
  usage = 7,        ///< usage_totals
};

/// The layout of a value; whatever its first byte says, also if no enumerator has that value. Zero when empty.
layout layout_of(std::string_view value) noexcept;

std::string encode(const telemetry_record& r);
std::optional<telemetry_record> decode_record(std::string_view value);

/// An attempt together with the id of its request.
struct late_attempt {
  std::string request_id;
  attempt_row row;
};
std::string encode(std::string_view request_id, const attempt_row& late);
std::optional<late_attempt> decode_late_attempt(std::string_view value);

std::string encode(const stored_answer& a);
std::optional<stored_answer> decode_answer(std::string_view value);

/// Without its name, which is the key.
std::string encode(const stored_budget& b);
std::optional<stored_budget> decode_budget(std::string_view value);

std::string encode(const usage_totals& u);
std::optional<usage_totals> decode_usage(std::string_view value);

/// Only when an answer was stored and for how long it lives; reads none of its body.
struct answer_age {
  wall_time stored_at{};
  duration ttl{};
};
std::optional<answer_age> decode_answer_age(std::string_view value) noexcept;

} // namespace switchyard::store
