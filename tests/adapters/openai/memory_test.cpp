// Looking at bodies must not cost memory: counts what passes through operator new.

#include "switchyard/openai/body.hpp"

#include "support/catch.hpp"

#include <atomic>
#include <cstdlib>
#include <new>
#include <string>

namespace {

std::atomic<std::size_t> allocations{0};

template <class F>
std::size_t allocations_of(F f) {
  const auto before = allocations.load();
  f();
  return allocations.load() - before;
}

} // namespace

void* operator new(std::size_t size) {
  ++allocations;
  if (void* p = std::malloc(size == 0 ? 1 : size))
    return p;
  throw std::bad_alloc();
}
void* operator new(std::size_t size, const std::nothrow_t&) noexcept {
  ++allocations;
  return std::malloc(size == 0 ? 1 : size);
}
void operator delete(void* p) noexcept {
  std::free(p);
}
void operator delete(void* p, std::size_t) noexcept {
  std::free(p);
}
void operator delete(void* p, const std::nothrow_t&) noexcept {
  std::free(p);
}

using namespace switchyard;

TEST_CASE("looking at a request allocates only the list of spans") {
  const std::string body = R"({"model":"gpt-4o","stream":false,"max_tokens":5,"messages":[{"content":")" +
                           std::string(1000, 'x') + R"(\n\u00e9"}],"tools":[[[[[{"a":[1,2.5e3,null]}]]]]]})";
  bool accepted = false;
  CHECK(allocations_of([&] { accepted = openai::inspect_request(body).has_value(); }) == 1);
  CHECK(accepted);
}

TEST_CASE("judging an answer allocates nothing, however large it is") {
  provider_result result;
  result.status = 200;
  result.body = R"({"choices":[{"message":{"content":")";
  result.body += std::string(8u << 20, 'x') + R"(\n"}}],"list":[)";
  for (int i = 0; i < 100'000; ++i)
    result.body += R"({"k":[1,2.5]},)";
  result.body += R"(0],"usage":{"prompt_tokens":3}})";
  CHECK(allocations_of([&] { inspect_answer(openai::operation::chat_completions, result); }) == 0);
  CHECK_FALSE(result.failure);
  CHECK(result.tokens.input == 3u);
}
