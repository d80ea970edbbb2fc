#pragma once

#include <cstddef>
#include <string>
#include <string_view>

namespace switchyard::openai::detail {

inline constexpr std::string_view white_space = " \t\r\n"; // RFC 8259, section 2

/// Walks the members of the top-level object of a text that is known to be JSON (check_json), and steps over their
/// values without looking into them.
class top_level_members {
public:
  /// `text` must be JSON with an object at its top, and outlive the walk.
  explicit top_level_members(std::string_view text) noexcept;

  struct member {
    std::string_view key;   ///< as written, without the quotes
    std::string_view value; ///< as written
    std::size_t offset = 0; ///< of the value within the text
  };

  /// The next member. Returns false at the end of the object.
  bool next(member& out) noexcept;

private:
  void skip_space() noexcept;
  void skip_string() noexcept;
  void skip_nested() noexcept;
  void skip_value() noexcept;
  char peek() const noexcept { return position_ < text_.size() ? text_[position_] : '\0'; }

  std::string_view text_;
  std::size_t position_ = 0;
};

/// The first character of a JSON text that is not white space: it tells the kind of the value.
char first_token(std::string_view text) noexcept;

/// The characters that a valid JSON string stands for. `raw` is without the quotes.
std::string decode_string(std::string_view raw);

/// Whether a key, as written, is that name.
bool is_key(std::string_view raw, std::string_view name);

} // namespace switchyard::openai::detail
