#include "support/counted_allocations.hpp"

#include <atomic>
#include <cstdlib>
#include <malloc.h>
#include <new>

namespace {

std::atomic<std::size_t> count{0};
std::atomic<std::size_t> live{0};

} // namespace

void* operator new(std::size_t size, const std::nothrow_t&) noexcept {
  ++count;
  void* const p = std::malloc(size == 0 ? 1 : size);
  live += malloc_usable_size(p); // 0 of a null pointer
  return p;
}
void* operator new(std::size_t size) {
  if (void* const p = operator new(size, std::nothrow))
    return p;
  throw std::bad_alloc();
}
void operator delete(void* p) noexcept {
  live -= malloc_usable_size(p);
  std::free(p);
}
void operator delete(void* p, std::size_t) noexcept {
  operator delete(p);
}
void operator delete(void* p, const std::nothrow_t&) noexcept {
  operator delete(p);
}

namespace switchyard::test {

std::size_t allocations() noexcept {
  return count;
}
std::size_t live_bytes() noexcept {
  return live;
}

} // namespace switchyard::test
