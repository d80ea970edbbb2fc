#pragma once

#include "json_places.hpp"

#include "switchyard/engine/telemetry.hpp"

#include <cstddef>
#include <cstdint>
#include <string_view>

namespace switchyard::openai::detail {

/// A set of choices, by their index. Those from 64 on are left out.
class choice_set {
public:
  constexpr void insert(std::uint64_t index) noexcept {
    if (index < 64)
      bits_ |= std::uint64_t{1} << index;
  }
  constexpr bool empty() const noexcept { return bits_ == 0; }
  constexpr bool includes(choice_set other) const noexcept { return (other.bits_ & ~bits_) == 0; }
  constexpr choice_set& operator|=(choice_set other) noexcept {
    bits_ |= other.bits_;
    return *this;
  }

private:
  std::uint64_t bits_ = 0;
};

/// What the JSON of one event of a stream says, whichever operation it belongs to.
struct chunk_findings {
  bool error = false;           ///< a non-null `error`, its own or its response's
  bool choice_content = false;  ///< a choice with a delta that has content
  bool choice_text = false;     ///< a choice with a text
  bool telling_finish = false;  ///< a choice whose finish_reason says why there may be no content
  bool response_output = false; ///< a delta, a text or an item with content, or a response with output or incomplete
  bool no_choices = false;      ///< an empty `choices`
  bool usage = false;           ///< a non-null `usage`
  choice_set seen, finished;    ///< the choices there are, and those with a finish_reason
  std::size_t content_bytes = 0;
  token_usage tokens;
  bounded_text<64> type; ///< of an event of a response; a longer one is none that matters
};

/// Reads the data of an event in one pass, building nothing. Returns false when it is not a JSON object; the findings
/// are then incomplete. Ill-formed UTF-8 in texts is let through: event streams are decoded by replacing it.
bool scan_chunk(std::string_view data, chunk_findings& out);

} // namespace switchyard::openai::detail
