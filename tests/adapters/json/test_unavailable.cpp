#include "support.hpp"
#include "switchyard/engine/validate.hpp"

#include <algorithm>
#include <memory>

using namespace switchyard;
using namespace switchyard::test;

namespace {

void check_unavailable(const std::string& text, const std::string& pointer) {
  const auto error = refused(text);
  INFO(error.text());
  REQUIRE(error.problems.size() == 1);
  CHECK(error.problems[0].pointer == pointer);
  CHECK(contains(error.problems[0].message, "not available in this version"));
}

} // namespace

TEST_CASE("what this version does not have is refused by name, not ignored") {
  check_unavailable(
      with(full, "/cluster", R"({"node": "a", "listen": "127.0.0.1:7777", "peers": {"b": "[::1]:7778"}})"), "/cluster");
}

TEST_CASE("what is not available is still checked for its form") {
  const auto at = [](const std::string& pointer, std::string_view value) {
    const auto error = refused(with(full, pointer, value));
    INFO(error.text());
    std::vector<std::string> pointers;
    for (const auto& problem : error.problems) {
      if (!contains(problem.message, "not available"))
        pointers.push_back(problem.pointer);
    }
    return pointers;
  };
  using names = std::vector<std::string>;
  auto budgets = at("/budgets", R"([{}, {"requests": 0, "cost": -1}, {"tokens": 5, "tenant": "x", "route": "y"}, 7])");
  std::ranges::sort(budgets);
  CHECK(budgets == names{"/budgets/0", "/budgets/1/cost", "/budgets/1/requests", "/budgets/2/route",
                         "/budgets/2/tenant", "/budgets/3"});
  CHECK(at("/circuits/llm/canary", R"({"path": "x", "timeout": "0s", "body": "text"})").size() == 3);
  CHECK(at("/circuits/llm/canary", "{}") == names{"/circuits/llm/canary/body"});
  CHECK(at("/providers/fixed", R"({"type": "static"})") == names{"/providers/fixed/body"});
  CHECK(at("/gateway/cors", R"({"origins": ["example.org"]})") == names{"/gateway/cors/origins/0"});
  CHECK(at("/gateway/tls", R"({"certificate": "/no/such/file"})").size() == 2);
  CHECK(at("/cluster",
           R"({"node": "a", "listen": "x", "peers": {"a": "127.0.0.1:1", "b": "y"}, "tls": {"ca": "/no/such"}})")
            .size() == 4);
  CHECK(at("/cluster", R"({"node": "a", "listen": "10.0.0.1:7777"})") == names{"/cluster/tls"});
}

TEST_CASE("a program that builds its configuration is refused the same") {
  const auto conf = std::make_unique<config>(); // on the stack GCC 12 takes the optional's texts for uninitialised
  conf->cluster.emplace();
  const auto problems = unavailable_features(*conf);
  REQUIRE(problems.size() == 1);
  CHECK(problems[0].pointer == "/cluster");
  CHECK(unavailable_features(config{}).empty());
}
