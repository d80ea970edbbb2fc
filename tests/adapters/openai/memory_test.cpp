// Looking at bodies must not cost memory: counts what passes through operator new.

#include "switchyard/openai/body.hpp"
#include "switchyard/openai/stream.hpp"

#include "support/catch.hpp"
#include "support/counted_allocations.hpp"

#include <cstddef>
#include <string>

namespace {

template <class F>
std::size_t allocations_of(F f) {
  const auto before = switchyard::test::allocations();
  f();
  return switchyard::test::allocations() - before;
}

} // namespace

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
  const std::string comment = ": " + std::string(100'000, 'x') + "\n\n";
  const std::string large = R"(data: {"choices":[{"delta":{"content":")" + std::string(500'000, 'x') + "\"}}]}\n\n";
  const std::string small = R"(data: {"choices":[{"delta":{"content":"x"}}]})"
                            "\n\n";
  std::string out;
  out.reserve(2 * (comment.size() + large.size()));
  const std::size_t before = switchyard::test::live_bytes();
  const auto reader = openai::make_stream_reader(openai::operation::chat_completions, 100);
  CHECK(switchyard::test::live_bytes() - before <= 400);
  reader->feed(comment, out); // held back
  CHECK(switchyard::test::live_bytes() - before >= comment.size());
  for (const char& c : large)
    reader->feed({&c, 1}, out);
  for (const char& c : small)
    reader->feed({&c, 1}, out);
  CHECK(switchyard::test::live_bytes() - before <= 2048);
  CHECK(out == comment + large + small);
}
