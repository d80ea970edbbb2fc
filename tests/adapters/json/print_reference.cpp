// Prints what docs/ holds of the configuration reference: `markdown` the tables of docs/configuration.md, `schema`
// docs/switchyard.schema.json. Both are checked against the table of settings by test_json.

#include "reference_text.hpp"

#include <cstring>
#include <iostream>

int main(int argc, char** argv) {
  if (argc == 2 && std::strcmp(argv[1], "markdown") == 0) {
    std::cout << switchyard::test::markdown();
    return 0;
  }
  if (argc == 2 && std::strcmp(argv[1], "schema") == 0) {
    switchyard::test::write_pretty(std::cout, switchyard::config_schema());
    std::cout << '\n';
    return 0;
  }
  std::cerr << "usage: switchyard_config_reference markdown|schema\n";
  return 2;
}
