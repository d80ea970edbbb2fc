#include "tools/source_rules.hpp"

#include "support/catch.hpp"
#include "support/temp_dir.hpp"

#include <algorithm>

using namespace switchyard::test;

namespace {

// A source tree of its own in the temporary folder, removed at the end.
class planted_tree {
public:
  planted_tree& file(const std::string& path, const std::string& text) {
    root_.write(path, text);
    return *this;
  }
  tree_report check() const { return check_source_tree(root_.path()); }

private:
  temp_dir root_;
};

// The violations of a tree of one file that holds, in its second line, this text.
std::vector<violation> found_in(const std::string& path, const std::string& line) {
  return planted_tree().file(path, "#pragma once\n" + line + "\n").check().violations;
}

std::string describe(const std::vector<violation>& violations) {
  std::string text;
  for (const auto& v : violations)
    text += "\n" + v.file + ":" + std::to_string(v.line) + ": " + v.rule;
  return text;
}

} // namespace

TEST_CASE("the source tree keeps to its layers and the engine is pure") {
  const auto report = check_source_tree(SWITCHYARD_SOURCE_DIR);
  // The test has looked at something.
  CHECK(std::ranges::find(report.files, "engine/include/switchyard/engine/failure.hpp") != report.files.end());
  CHECK(std::ranges::find(report.files, "engine/src/failure.cpp") != report.files.end());
  INFO(describe(report.violations));
  CHECK(report.violations.empty());
}

TEST_CASE("an include against the arrows is found") {
  struct row {
    const char* file;
    const char* include;
  };
  for (auto [file, include] : {
           row{"engine/src/a.cpp", "switchyard/actors/breaker.hpp"},
           row{"engine/include/switchyard/engine/a.hpp", "switchyard/http/client.hpp"},
           row{"engine/src/a.cpp", "switchyard/runtime/runtime.hpp"},
           row{"actors/src/a.cpp", "switchyard/json/load_config.hpp"},
           row{"actors/include/switchyard/actors/a.hpp", "switchyard/rocksdb/database.hpp"},
           row{"adapters/http/src/a.cpp", "../../json/src/source_text.hpp"},
       }) {
    CAPTURE(file, include);
    for (const auto& line :
         {"#include \"" + std::string(include) + "\"", "  #  include <" + std::string(include) + ">"}) {
      const auto found = found_in(file, line);
      REQUIRE(found.size() == 1);
      CHECK(found.front().file == file);
      CHECK(found.front().line == 2);
    }
  }
}

TEST_CASE("an include along the arrows is allowed") {
  const auto report =
      planted_tree()
          .file("engine/src/a.cpp", "#include \"switchyard/engine/a.hpp\"\n#include <chrono>\n")
          .file("actors/src/a.cpp", "#include \"switchyard/engine/a.hpp\"\n"
                                    "#include \"switchyard/actors/a.hpp\"\n#include <caf/actor.hpp>\n")
          .file("adapters/http/src/a.cpp", "#include \"switchyard/actors/a.hpp\"\n"
                                           "#include \"switchyard/json/load_config.hpp\"\n"
                                           "#include <boost/beast/http.hpp>\n#include <caf/actor.hpp>\n")
          .file("adapters/http/include/switchyard/http/a.hpp", "#include <boost/asio/io_context.hpp>\n")
          .file("examples/a.cpp", "#include \"switchyard/runtime/runtime.hpp\"\n#include <iostream>\n")
          .check();
  CHECK(report.files.size() == 5);
  INFO(describe(report.violations));
  CHECK(report.violations.empty());
}

TEST_CASE("an engine that is not pure is found") {
  for (const char* line : {
           "#include <thread>",
           "#include <mutex>",
           "#include <condition_variable>",
           "#include <fstream>",
           "#include <iostream>",
           "#include <filesystem>",
           "#include <sys/socket.h>",
           "#include <unistd.h>",
           "#include <caf/all.hpp>",
           "#include \"caf/all.hpp\"",
           "#include <boost/json.hpp>",
           "#include <boost/json/value.hpp>",
           "#include <boost/asio/post.hpp>",
           "#include <boost/beast/core.hpp>",
           "auto t = std::chrono::steady_clock::now();",
           "auto t = clock:: now ();",
           "int r = clock_gettime(CLOCK_REALTIME, &t);",
           "auto t = std::time(nullptr);",
           "auto t = time( NULL );",
           "std::random_device seed;",
           "int r = rand();",
           "auto n = 1'000; auto t = clock::now(); auto m = 2'000;",
           R"(auto s = "\""; auto t = clock::now();)",
           "/* */ auto t = clock::now();",
       }) {
    CAPTURE(line);
    const auto found = found_in("engine/src/a.cpp", line);
    REQUIRE(found.size() == 1);
    CHECK(found.front().line == 2);
    CHECK(found_in("examples/a.cpp", line).empty());
  }
}

TEST_CASE("a comment, a literal and a longer name are no violation") {
  for (const char* line : {
           "// std::chrono::steady_clock::now()",
           "/* #include <thread>\n#include <mutex> */",
           R"x(auto s = "clock::now()";)x",
           R"x(auto s = R"(" clock::now())";)x",
           "auto t = snow();",
           "auto b = operand();",
           "auto t = lifetime(0);",
           "int now(int);",
           "#include <threads_of_a_story>",
           "#include \"mutex_free.hpp\"",
       }) {
    CAPTURE(line);
    INFO(describe(found_in("engine/src/a.cpp", line)));
    CHECK(found_in("engine/src/a.cpp", line).empty());
  }
}

TEST_CASE("a public header of an adapter that shows Beast or CAF is found") {
  for (const char* line : {"#include <boost/beast/http/message.hpp>", "#include <caf/actor_system.hpp>"}) {
    CAPTURE(line);
    CHECK(found_in("adapters/http/include/switchyard/http/a.hpp", line).size() == 1);
    CHECK(found_in("adapters/http/src/a.hpp", line).empty());
  }
}

TEST_CASE("an actor that reaches for the outside world is found") {
  for (const char* line : {"#include <boost/beast/http.hpp>", "#include <boost/json/value.hpp>",
                           "#include <rocksdb/db.h>", "#include <prometheus/registry.h>"}) {
    CAPTURE(line);
    CHECK(found_in("actors/src/a.cpp", line).size() == 1);
    CHECK(found_in("adapters/rocksdb/src/a.cpp", line).empty());
  }
}

TEST_CASE("blanking keeps every line where it was") {
  const std::string text = "a /* b\nc */ d // e\n\"f\n\" 'g' R\"x(\n)\")x\" h";
  const auto kept = without_comments(text, literals::keep);
  const auto blanked = without_comments(text, literals::blank);
  CHECK(kept == "a     \n     d     \n\"f\n\" 'g' R\"x(\n)\")x\" h");
  CHECK(blanked.size() == text.size());
  CHECK(std::ranges::count(blanked, '\n') == std::ranges::count(text, '\n'));
  CHECK(blanked.find_first_of("bcefgx") == std::string::npos);
  CHECK(blanked.back() == 'h');
}
