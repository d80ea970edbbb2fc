#pragma once

#include <stdlib.h>

#include <filesystem>
#include <fstream>
#include <iterator>
#include <stdexcept>
#include <string>
#include <string_view>

namespace switchyard::test {

/// A directory of its own, removed at the end with all that is in it.
class temp_dir {
public:
  temp_dir() {
    auto pattern = (std::filesystem::temp_directory_path() / "switchyard-test-XXXXXX").string();
    if (!::mkdtemp(pattern.data()))
      throw std::runtime_error("no temporary directory");
    path_ = pattern;
  }
  ~temp_dir() {
    std::error_code ignored;
    std::filesystem::remove_all(path_, ignored);
  }
  temp_dir(const temp_dir&) = delete;
  temp_dir& operator=(const temp_dir&) = delete;

  const std::filesystem::path& path() const { return path_; }
  /// A place in it that is not there yet.
  std::filesystem::path store() const { return path_ / "store"; }

  /// Writes a file there, in folders that are made for it; its path.
  std::string write(const std::string& name, std::string_view text) const {
    const auto file = path_ / name;
    std::filesystem::create_directories(file.parent_path());
    std::ofstream{file} << text;
    return file.string();
  }
  std::string read(const std::string& name) const {
    std::ifstream in{path_ / name};
    return {std::istreambuf_iterator<char>{in}, {}};
  }

private:
  std::filesystem::path path_;
};

} // namespace switchyard::test
