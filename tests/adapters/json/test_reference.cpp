#include "reference_text.hpp"
#include "support.hpp"

#include <fstream>
#include <iterator>
#include <set>
#include <sstream>

using namespace switchyard;
using namespace switchyard::test;

namespace json = boost::json;

namespace {

std::string read_file(const std::string& path) {
  std::ifstream file(path);
  REQUIRE(file.is_open());
  return {std::istreambuf_iterator<char>(file), {}};
}

/// The keys of a schema, as pointers like those of the reference, with their properties.
void collect(const json::value& schema, const std::string& pointer, std::map<std::string, const json::object*>& out) {
  const auto* object = schema.if_object();
  if (object == nullptr)
    return;
  if (const auto* alternatives = object->if_contains("anyOf")) {
    for (const auto& alternative : alternatives->as_array())
      collect(alternative, pointer, out);
  }
  if (const auto* properties = object->if_contains("properties")) {
    for (const auto& property : properties->as_object()) {
      const auto place = pointer + "/" + std::string(property.key());
      out[place] = &property.value().as_object();
      collect(property.value(), place, out);
    }
  }
  if (const auto* named = object->if_contains("additionalProperties"))
    collect(*named, pointer + "/*", out);
  if (const auto* items = object->if_contains("items"))
    collect(*items, pointer + "/-", out);
}

} // namespace

TEST_CASE("the published schema is the loader's") {
  const auto published = json::parse(read_file(SWITCHYARD_DOCS "/switchyard.schema.json"));
  std::ostringstream generated;
  write_pretty(generated, config_schema());
  // Through the text, because numbers may differ in kind between a built and a parsed document.
  CHECK(published == json::parse(generated.str()));
}

TEST_CASE("every key that loads is in the schema with its default and sentence, and no other") {
  const json::value schema = config_schema();
  std::map<std::string, const json::object*> properties;
  collect(schema, "", properties);
  properties.erase("/providers/*/headers/*/env"); // the form of a value rather than a setting
  std::set<std::string> known;
  for (const auto& key : config_reference()) {
    INFO(key.pointer);
    known.insert(key.pointer);
    REQUIRE(properties.contains(key.pointer));
    const auto& property = *properties.at(key.pointer);
    CHECK(property.at("description") == key.doc.c_str());
    if (const auto* value = property.if_contains("default"))
      CHECK(*value == json::parse(key.default_value));
    else
      CHECK((key.required || key.default_value.empty() || key.default_value == "{}"));
  }
  for (const auto& [pointer, property] : properties) {
    INFO(pointer);
    CHECK(known.contains(pointer));
  }
}

TEST_CASE("the documentation has every key with what it accepts and its default, and no other") {
  std::multiset<std::string> expected, written;
  for (const auto& key : config_reference())
    expected.insert(markdown_row(key));
  std::istringstream document(read_file(SWITCHYARD_DOCS "/configuration.md"));
  for (std::string line; std::getline(document, line);) {
    if (line.starts_with("| `/"))
      written.insert(line);
  }
  for (const auto& row : expected) {
    INFO(row);
    CHECK(written.contains(row));
  }
  for (const auto& row : written) {
    INFO(row);
    CHECK(expected.contains(row));
  }
}

TEST_CASE("the examples in the documentation load") {
  std::istringstream document(read_file(SWITCHYARD_DOCS "/configuration.md"));
  std::string example;
  int examples = 0;
  bool inside = false;
  for (std::string line; std::getline(document, line);) {
    if (line == "```jsonc") {
      inside = true;
      example.clear();
    } else if (line == "```" && inside) {
      inside = false;
      ++examples;
      loaded(example);
    } else if (inside) {
      example += line + "\n";
    }
  }
  CHECK(examples >= 2);
}

TEST_CASE("what is documented is what loading yields") {
  // Each default of a section that has one value, given by hand, changes nothing.
  for (const auto& key : config_reference()) {
    const bool is_section = key.pointer.find('*') == std::string::npos && key.pointer.find('-') == std::string::npos;
    const bool is_inside_absent = key.pointer.starts_with("/cluster/") || key.pointer.starts_with("/gateway/tls/");
    if (!is_section || is_inside_absent || key.default_value.empty() || key.required)
      continue;
    INFO(key.pointer << " = " << key.default_value);
    loaded(with(smallest, key.pointer, key.default_value));
  }
}
