#include "support.hpp"

using namespace switchyard;
using namespace switchyard::test;

namespace {

auto load_in(std::map<std::string, std::string, std::less<>> variables, std::string_view text = full) {
  return load_config_text(text, "test.json", environment_of(std::move(variables)));
}

auto changed(std::string_view name, std::string value) {
  auto variables = secrets;
  variables.find(name)->second = std::move(value);
  return variables;
}

const std::map<std::string, std::string> places{
    {"OPENAI_API_KEY", "/providers/openai/api_key_env"},
    {"AZURE_KEY", "/providers/openai/headers/api-key/env"},
    {"ACME_KEY", "/gateway/tenants/acme/key_env"},
    {"SWITCHYARD_ADMIN_TOKEN", "/admin/token_env"},
};

} // namespace

TEST_CASE("naming a variable that is not set or empty is an error that names it") {
  for (const auto& [name, pointer] : places) {
    auto variables = secrets;
    variables.erase(name);
    for (const auto& result : {load_in(variables), load_in(changed(name, ""))}) {
      REQUIRE(result.has_error());
      INFO(result.error().text());
      REQUIRE(result.error().problems.size() == 1);
      CHECK(result.error().problems[0].pointer == pointer);
      CHECK(contains(result.error().problems[0].message, name));
    }
  }
  const auto none = load_in({});
  REQUIRE(none.has_error());
  CHECK(none.error().problems.size() == 4);
}

TEST_CASE("a key that no header can carry is an error that does not show it") {
  for (const auto* suffix : {"\r\n", " ", "\n", "\t", "\x01", "\x7f", " x", "\xC3\xBC"}) {
    for (const auto* name : {"OPENAI_API_KEY", "ACME_KEY", "SWITCHYARD_ADMIN_TOKEN"}) {
      const auto result = load_in(changed(name, "do-not-tell" + std::string(suffix)));
      REQUIRE(result.has_error());
      INFO(result.error().text());
      REQUIRE(result.error().problems.size() == 1);
      CHECK(result.error().problems[0].pointer == places.at(name));
      CHECK_FALSE(contains(result.error().text(), "do-not-tell"));
    }
  }
  const auto result = load_in(changed("AZURE_KEY", "do-not-tell\r\nX: y"));
  REQUIRE(result.has_error());
  CHECK_FALSE(contains(result.error().text(), "do-not-tell"));
  CHECK(load_in(changed("AZURE_KEY", "a b")).has_value()); // a header may have a space, as in "Bearer x"
}

TEST_CASE("a key pasted where its variable's name belongs is not shown") {
  for (const auto& [name, pointer] : places) {
    for (const auto* pasted : {"\"sk-do-not-tell\"", "[\"sk-do-not-tell\"]", "\"sk do-not-tell\""}) {
      const auto error = refused(with(full, pointer, pasted));
      INFO(error.text());
      CHECK(error.problems.size() == 1);
      CHECK_FALSE(contains(error.text(), "do-not-tell"));
    }
  }
}

TEST_CASE("tenants have keys of their own") {
  const auto text = with(full, "/gateway/tenants/other", R"({"key_env": "OTHER_KEY"})");
  auto variables = secrets;
  variables["OTHER_KEY"] = variables.at("ACME_KEY");
  const auto same = load_in(variables, text);
  REQUIRE(same.has_error());
  REQUIRE(same.error().problems.size() == 1);
  CHECK(same.error().problems[0].pointer == "/gateway/tenants/other/key_env");
  CHECK(contains(same.error().text(), "\"acme\""));
  CHECK_FALSE(contains(same.error().text(), "do-not-tell"));
  variables["OTHER_KEY"] = "another";
  CHECK(load_in(variables, text).has_value());
  CHECK(contains(refused(with(full, "/gateway/tenants/other", "{}")).text(),
                 "/gateway/tenants/other/key_env: is required"));
}

TEST_CASE("the process's environment is looked up by name") {
  const auto env = process_environment();
  CHECK_FALSE(env("SWITCHYARD_TEST_A_NAME_THAT_IS_NOT_SET").has_value());
  CHECK(env("PATH").has_value());
}

TEST_CASE("a query parameter that is refused is not shown, as it may be a key") {
  for (const auto* value : {"\"do-not-tell\\n\"", "[\"do-not-tell\"]", "{\"env\": \"do-not-tell\"}"}) {
    const auto error = refused(with(full, "/providers/openai/query/key", value));
    CHECK(error.problems.size() == 1);
    CHECK_FALSE(contains(error.text(), "do-not-tell"));
  }
}
