// The fuzzer's corpus, in every test build.

#include "http_check.hpp"

#include "support/catch.hpp"

#include <filesystem>
#include <fstream>
#include <iterator>

using namespace switchyard::test;

TEST_CASE("the requests of the fuzzer's corpus, and their beginnings, are read alike however they are split") {
  std::size_t files = 0;
  for (const auto& entry : std::filesystem::directory_iterator(SWITCHYARD_HTTP_CORPUS)) {
    std::ifstream file(entry.path(), std::ios::binary);
    const std::string input(std::istreambuf_iterator<char>(file), {});
    INFO(entry.path().filename());
    REQUIRE(input.size() > 2);
    for (std::size_t size = 0; size <= input.size(); ++size)
      REQUIRE(check_requests(std::string_view(input).substr(0, size)).empty());
    for (const char limits : {'0', '1'})
      for (char pieces = '0'; pieces <= '?'; ++pieces)
        REQUIRE(check_requests(std::string{limits, pieces} + input.substr(2)).empty());
    ++files;
  }
  CHECK(files >= 12);
}
