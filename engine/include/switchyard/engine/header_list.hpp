#pragma once

#include <cstddef>
#include <optional>
#include <string>
#include <string_view>

namespace switchyard {

/// HTTP header fields in order, kept as the text that goes on the wire: one allocation for all of them. Names
/// compare without case. Not thread-safe.
class header_list {
public:
  struct field {
    std::string_view name, value;
  };

  /// Adds a field. Returns false and adds nothing when the name is not a token or the value has a control character
  /// other than a tab (RFC 9110 5.1, 5.5): nothing that a caller gives can break out of its line.
  bool add(std::string_view name, std::string_view value);

  /// The first field of that name.
  std::optional<std::string_view> find(std::string_view name) const noexcept;

  bool contains(std::string_view name) const noexcept { return find(name).has_value(); }
  bool empty() const noexcept { return text_.empty(); }
  void clear() noexcept { text_.clear(); }
  void reserve(std::size_t bytes) { text_.reserve(bytes); }

  /// The fields as "Name: value\r\n" lines, without the empty line that ends a head.
  const std::string& text() const noexcept { return text_; }

  class iterator {
  public:
    iterator(std::string_view rest) noexcept : rest_(rest) { parse(); }
    const field& operator*() const noexcept { return current_; }
    const field* operator->() const noexcept { return &current_; }
    iterator& operator++() noexcept {
      rest_.remove_prefix(line_);
      parse();
      return *this;
    }
    bool operator==(const iterator& other) const noexcept { return rest_.size() == other.rest_.size(); }

  private:
    void parse() noexcept;
    std::string_view rest_;
    std::size_t line_ = 0;
    field current_;
  };
  iterator begin() const noexcept { return {text_}; }
  iterator end() const noexcept { return {std::string_view{}}; }

private:
  std::string text_;
};

/// Whether two names of fields are the same: ASCII, without case.
bool same_field_name(std::string_view a, std::string_view b) noexcept;

/// The token of an Authorization field of the Bearer scheme, whose name has no case (RFC 9110 11.1, RFC 6750 2.1);
/// nothing for another scheme or none.
std::optional<std::string_view> bearer_token(std::string_view authorization) noexcept;

} // namespace switchyard
