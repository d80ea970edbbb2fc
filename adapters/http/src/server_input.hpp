#pragma once

#include <boost/asio/buffer.hpp>

#include <algorithm>
#include <cassert>
#include <cstddef>
#include <cstring>
#include <memory>
#include <string_view>

namespace switchyard::http {

/// Bytes received and not yet parsed. A read into `space` may be under way while `unread` is consumed; `fit` moves
/// bytes and must not be called then.
class input_buffer {
public:
  std::string_view unread() const noexcept { return {data_.get() + begin_, end_ - begin_}; }
  void consume(std::size_t bytes) noexcept {
    assert(bytes <= end_ - begin_);
    begin_ += bytes;
  }
  void clear() noexcept { begin_ = end_; }

  /// Moves what is unread to the front, of a new block when the capacity is to change. Unread bytes are never lost.
  void fit(std::size_t capacity) {
    const auto size = end_ - begin_;
    capacity = std::max(capacity, size);
    if (capacity != capacity_) {
      auto block = std::make_unique_for_overwrite<char[]>(capacity);
      if (size > 0)
        std::memcpy(block.get(), data_.get() + begin_, size);
      data_ = std::move(block);
      capacity_ = capacity;
    } else if (begin_ > 0) {
      std::memmove(data_.get(), data_.get() + begin_, size);
    }
    begin_ = 0;
    end_ = size;
  }

  std::size_t capacity() const noexcept { return capacity_; }
  boost::asio::mutable_buffer space() noexcept { return {data_.get() + end_, capacity_ - end_}; }
  void commit(std::size_t bytes) noexcept {
    assert(bytes <= capacity_ - end_);
    end_ += bytes;
  }

private:
  std::unique_ptr<char[]> data_;
  std::size_t capacity_ = 0;
  std::size_t begin_ = 0, end_ = 0;
};

} // namespace switchyard::http
