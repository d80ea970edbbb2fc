// The fuzzer's corpus, in every test build.

#include "sse_check.hpp"

#include "support/catch.hpp"

#include <filesystem>
#include <fstream>
#include <iterator>

using namespace switchyard::test;

TEST_CASE("the streams of the fuzzer's corpus, and their beginnings, are read alike however they are split [S5]") {
  std::size_t files = 0;
  for (const auto& entry : std::filesystem::directory_iterator(SWITCHYARD_SSE_CORPUS)) {
    std::ifstream file(entry.path(), std::ios::binary);
    const std::string input(std::istreambuf_iterator<char>(file), {});
    INFO(entry.path().filename());
    REQUIRE(input.size() > 2);
    for (std::size_t size = 0; size <= input.size(); ++size)
      REQUIRE(check_stream(std::string_view(input).substr(0, size)).empty());
    for (char op = '0'; op <= '?'; ++op) // every operation with all options
      REQUIRE(check_stream(op + input.substr(1)).empty());
    ++files;
  }
  CHECK(files >= 12);
}
