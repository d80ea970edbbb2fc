#pragma once

#include <cstdint>
#include <string>
#include <string_view>

namespace switchyard {

/// The last `digits` hexadecimal digits of a number.
inline std::string hex(std::uint64_t n, int digits) {
  static constexpr std::string_view alphabet = "0123456789abcdef";
  std::string text(static_cast<std::size_t>(digits), '0');
  for (auto it = text.rbegin(); it != text.rend(); ++it, n >>= 4)
    *it = alphabet[n & 15];
  return text;
}

} // namespace switchyard
