#include "support.hpp"
#include "switchyard/json/config_to_json.hpp"

#include <random>

using namespace switchyard;
using namespace switchyard::test;

namespace {

/// One seeded source of changes to a text.
class mutator {
public:
  explicit mutator(std::uint64_t seed) : random_(seed) {}

  std::string mutate(std::string text) {
    for (std::size_t changes = 1 + below(4); changes > 0 && !text.empty(); --changes)
      change(text);
    return text;
  }

private:
  void change(std::string& text) {
    const std::size_t at = below(text.size());
    switch (below(6)) {
    case 0: // a byte becomes any byte
      text[at] = static_cast<char>(below(256));
      break;
    case 1: // some bytes go
      text.erase(at, 1 + below(20));
      break;
    case 2: // some bytes come twice
      text.insert(at, text.substr(at, 1 + below(200)));
      break;
    case 3: // something that means something comes in
      text.insert(at, pick());
      break;
    case 4: // something is replaced
      text.replace(at, below(12), pick());
      break;
    default: // the end goes, rarely
      if (below(8) == 0)
        text.resize(at);
      break;
    }
  }

  std::string pick() {
    static const std::vector<std::string> pieces{"{",
                                                 "}",
                                                 "[",
                                                 "]",
                                                 ",",
                                                 ":",
                                                 "\"",
                                                 "null",
                                                 "true",
                                                 "0",
                                                 "-1",
                                                 "1e999",
                                                 "NaN",
                                                 "/*",
                                                 "*/",
                                                 "//",
                                                 "\n",
                                                 "\\",
                                                 "\\u0000",
                                                 "\\ud800",
                                                 "\"base\": \"llm\",",
                                                 "\"env\"",
                                                 "\"\"",
                                                 "\xFF",
                                                 "99999999999999999999",
                                                 "~0",
                                                 "~1",
                                                 "\"0s\"",
                                                 "\"circuits\":"};
    return pieces[below(pieces.size())];
  }

  std::size_t below(std::size_t bound) { return static_cast<std::size_t>(random_() % bound); }

  std::mt19937_64 random_;
};

void check_outcome(std::string_view text) {
  const auto result = load_text(text);
  if (result.has_value()) {
    CHECK_FALSE(contains(boost::json::serialize(config_to_json(result.value())), "do-not-tell"));
    return;
  }
  const auto& error = result.error();
  REQUIRE_FALSE(error.problems.empty());
  REQUIRE_FALSE(contains(error.text(), "do-not-tell"));
  for (const auto& problem : error.problems) {
    REQUIRE_FALSE(problem.message.empty());
    REQUIRE(problem.line >= 1);
    REQUIRE((problem.pointer.empty() || problem.pointer.front() == '/'));
    REQUIRE(problem.value.size() <= 84);
  }
}

} // namespace

TEST_CASE("a configuration changed at random loads or is refused with reasons, and tells no secret") {
  for (std::uint64_t seed = 0; seed < 4'000; ++seed) {
    INFO("seed " << seed);
    check_outcome(mutator{seed}.mutate(std::string(full)));
  }
}

TEST_CASE("every value of the configuration replaced by every kind of value loads or is refused at its place") {
  const std::vector<boost::json::value> values{nullptr,
                                               true,
                                               0,
                                               -1,
                                               1.5,
                                               HUGE_VAL,
                                               "",
                                               "text",
                                               "1s",
                                               boost::json::array{},
                                               boost::json::object{},
                                               boost::json::array{1},
                                               {{"k", 1}}};
  std::size_t places = 0;
  // Walks the document, and puts each value in the place of each member in turn.
  const auto walk = [&](const auto& self, boost::json::value& root, boost::json::value& node,
                        const std::string& pointer) -> void {
    if (!node.is_object())
      return;
    for (auto& member : node.get_object()) {
      const auto place = pointer + "/" + std::string(member.key());
      ++places;
      for (const auto& value : values) {
        auto old = std::exchange(member.value(), value);
        auto text = std::string(boost::json::serialize(root));
        if (value.is_double() && value.get_double() == HUGE_VAL) // which is not JSON
          text.replace(text.find("Infinity"), 8, "1e999");
        INFO(place << " = " << boost::json::serialize(value));
        check_outcome(text);
        member.value() = std::move(old);
      }
      self(self, root, member.value(), place);
    }
  };
  auto root = parse(full);
  walk(walk, root, root, "");
  CHECK(places > 100);
}
