// Looking at bodies must not cost memory: counts what passes through operator new.

#include "switchyard/openai/body.hpp"
#include "switchyard/openai/stream.hpp"

#include "support/catch.hpp"

#include <atomic>
#include <cstdlib>
#include <new>
#include <string>

namespace {

std::atomic<std::size_t> allocations{0};
std::atomic<std::size_t> allocated{0}; // bytes

template <class F>
std::size_t allocations_of(F f) {
  const auto before = allocations.load();
  f();
  return allocations.load() - before;
}

} // namespace

void* operator new(std::size_t size) {
  ++allocations;
  allocated += size;
  if (void* p = std::malloc(size == 0 ? 1 : size))
    return p;
  throw std::bad_alloc();
}
void* operator new(std::size_t size, const std::nothrow_t&) noexcept {
  ++allocations;
  allocated += size;
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

TEST_CASE("an event that comes whole is read and passed on without an allocation [S5]") {
  const std::string event =
      R"(data: {"id":"chatcmpl-1","object":"chat.completion.chunk","created":1,"model":"gpt-4o","choices":[{"index":0,)"
      R"("delta":{"content":"Hello \u00e9"},"logprobs":null,"finish_reason":null}],"usage":null})"
      "\n\n";
  const auto reader = openai::make_stream_reader(openai::operation::chat_completions, 100);
  std::string out;
  out.reserve(2 * event.size());
  reader->feed(event, out);
  CHECK(allocations_of([&] {
          for (int i = 0; i < 1000; ++i) {
            out.clear();
            reader->feed(event, out);
          }
        }) == 0);
  CHECK(out == event);
  CHECK(reader->where() == stream_reader::state::flowing);
}

TEST_CASE("a stream that waits for its next event needs little memory, whatever came before [S5]") {
  const std::string large = R"(data: {"choices":[{"delta":{"content":")" + std::string(500'000, 'x') + "\"}}]}\n\n";
  const std::string small = R"(data: {"choices":[{"delta":{"content":"x"}}]})"
                            "\n\n";
  std::string out;
  out.reserve(3 * large.size());
  auto before = allocated.load();
  const auto reader = openai::make_stream_reader(openai::operation::chat_completions, 100);
  CHECK(allocated - before <= 400);
  for (const char& c : large)
    reader->feed({&c, 1}, out);
  reader->feed(small, out); // frees what the large one needed
  before = allocated.load();
  for (const char& c : small)
    reader->feed({&c, 1}, out);
  CHECK(allocated - before <= 1024); // so the large buffer was given back; this is a new one
  CHECK(allocated > before);
  CHECK(out == large + small + small);
}
