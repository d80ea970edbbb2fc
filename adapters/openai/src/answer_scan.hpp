#pragma once

#include "json_places.hpp"

#include "switchyard/engine/telemetry.hpp"

#include <string_view>

namespace switchyard::openai::detail {

/// What an answer's JSON says, whichever operation it belongs to.
struct answer_findings {
  bool error = false;          ///< a non-null `error`
  bool choice_content = false; ///< a choice with a message that has content
  bool choice_text = false;    ///< a choice with a text
  bool telling_finish = false; ///< a choice whose finish_reason says why there may be no content
  bool data = false;           ///< non-empty `data`
  bool output = false;         ///< non-empty `output`
  bool incomplete = false;     ///< `status` is "incomplete"
  token_usage tokens;
  bounded_text<128> code, type; ///< of the error
  bounded_text<1024> message;   ///< of the error; its beginning tells enough
};

/// Reads an answer in one pass, building nothing. Returns false when the text is not JSON; the findings are then
/// incomplete.
bool scan_answer(std::string_view text, answer_findings& out);

/// Whether a finish_reason says why there may be no content.
bool tells_of_content(std::string_view finish_reason) noexcept;

} // namespace switchyard::openai::detail
