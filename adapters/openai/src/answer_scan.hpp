#pragma once

#include "switchyard/engine/telemetry.hpp"

#include <algorithm>
#include <array>
#include <cstddef>
#include <string_view>

namespace switchyard::openai::detail {

/// The first `Capacity` bytes of a text that arrives in pieces.
template <std::size_t Capacity>
class bounded_text {
public:
  void append(std::string_view piece) noexcept {
    const std::size_t n = std::min(piece.size(), Capacity - size_);
    std::copy_n(piece.data(), n, bytes_.data() + size_);
    size_ += n;
  }
  void clear() noexcept { size_ = 0; }
  bool empty() const noexcept { return size_ == 0; }
  std::string_view view() const noexcept { return {bytes_.data(), size_}; }

private:
  std::array<char, Capacity> bytes_; // only the first size_ are ever read
  std::size_t size_ = 0;
};

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

} // namespace switchyard::openai::detail
