#pragma once

// Writing and reading of the primitive values of stored records. The reader checks every bound: whatever the bytes
// are, it never reads outside them, and after a failure it stays failed and yields zeros.

#include <bit>
#include <cstdint>
#include <limits>
#include <string>
#include <string_view>

namespace switchyard::store {

class byte_writer {
public:
  explicit byte_writer(std::string& out) : out_(out) {}

  void u8(std::uint8_t v) { out_.push_back(static_cast<char>(v)); }

  /// Big-endian, so that keys sort by value.
  void u64(std::uint64_t v) {
    for (int shift = 56; shift >= 0; shift -= 8)
      u8(static_cast<std::uint8_t>(v >> shift));
  }

  /// LEB128: seven bits a byte, small values are short.
  void varint(std::uint64_t v) {
    for (; v >= 0x80; v >>= 7)
      u8(static_cast<std::uint8_t>(v | 0x80));
    u8(static_cast<std::uint8_t>(v));
  }

  /// Zigzag, so that small negative values are short too.
  void signed_varint(std::int64_t v) {
    auto u = static_cast<std::uint64_t>(v);
    varint((u << 1) ^ (v < 0 ? ~std::uint64_t{0} : 0));
  }

  void real(double v) { u64(std::bit_cast<std::uint64_t>(v)); }

  void text(std::string_view v) {
    varint(v.size());
    out_.append(v);
  }

  void raw(std::string_view v) { out_.append(v); }

private:
  std::string& out_;
};

class byte_reader {
public:
  explicit byte_reader(std::string_view in) : in_(in) {}

  bool ok() const noexcept { return ok_; }
  /// Everything was read and nothing failed.
  bool done() const noexcept { return ok_ && in_.empty(); }
  std::size_t remaining() const noexcept { return in_.size(); }
  void fail() noexcept {
    ok_ = false;
    in_ = {};
  }

  std::uint8_t u8() noexcept {
    auto b = raw(1);
    return b.empty() ? std::uint8_t{0} : static_cast<std::uint8_t>(b.front());
  }

  std::uint64_t u64() noexcept {
    std::uint64_t v = 0;
    for (char c : raw(8))
      v = (v << 8) | static_cast<std::uint8_t>(c);
    return v;
  }

  std::uint64_t varint() noexcept {
    std::uint64_t v = 0;
    for (unsigned shift = 0; shift < 64; shift += 7) {
      std::uint64_t b = u8();
      if (shift == 63 && b > 1)
        break; // more than 64 bits
      v |= (b & 0x7f) << shift;
      if ((b & 0x80) == 0)
        return v;
    }
    fail();
    return 0;
  }

  std::int64_t signed_varint() noexcept {
    auto u = varint();
    return static_cast<std::int64_t>((u >> 1) ^ (~(u & 1) + 1));
  }

  /// A signed value that must fit in a T; others fail.
  template <class T>
  T narrow() noexcept {
    auto v = signed_varint();
    if (v < std::numeric_limits<T>::min() || v > static_cast<std::int64_t>(std::numeric_limits<T>::max())) {
      fail();
      return 0;
    }
    return static_cast<T>(v);
  }

  double real() noexcept { return std::bit_cast<double>(u64()); }

  std::string_view text() noexcept {
    auto size = varint();
    if (size > in_.size()) {
      fail();
      return {};
    }
    return raw(static_cast<std::size_t>(size));
  }

  /// Exactly `size` bytes, or none after a failure.
  std::string_view raw(std::size_t size) noexcept {
    if (size > in_.size()) {
      fail();
      return {};
    }
    auto v = in_.substr(0, size);
    in_.remove_prefix(size);
    return v;
  }

private:
  std::string_view in_;
  bool ok_ = true;
};

} // namespace switchyard::store
