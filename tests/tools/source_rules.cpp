#include "tools/source_rules.hpp"

#include <algorithm>
#include <array>
#include <cctype>
#include <fstream>
#include <iterator>
#include <optional>
#include <regex>
#include <span>
#include <stdexcept>

namespace switchyard::test {

namespace {

namespace fs = std::filesystem;

// From the innermost to the outermost: each may include itself and what stands before it.
constexpr std::array<std::string_view, 4> layers{"engine", "actors", "adapters", "examples"};

// Beginnings of what follows #include that the engine may not have.
constexpr std::array<std::string_view, 27> impure_includes{
    "thread>",    "mutex>",      "shared_mutex>", "condition_variable>",
    "future>",    "semaphore>",  "latch>",        "barrier>",
    "fstream>",   "iostream>",   "filesystem>",   "unistd.h>",
    "fcntl.h>",   "pthread.h>",  "netdb.h>",      "sys/",
    "netinet/",   "arpa/",       "caf/",          "boost/json",
    "boost/asio", "boost/beast", "boost/url",     "boost/thread",
    "rocksdb/",   "openssl/",    "prometheus/",
};
// Outside things have adapters; actors see only interfaces.
constexpr std::array<std::string_view, 4> outside_includes{"boost/beast", "boost/json", "rocksdb/", "prometheus/"};
// Too costly to compile for every user of a public header.
constexpr std::array<std::string_view, 2> heavy_includes{"boost/beast", "caf/"};

struct banned_name {
  std::regex pattern;
  std::string_view what;
};

const std::array<banned_name, 4>& impure_names() {
  static const std::array<banned_name, 4> names{{
      {std::regex(R"(::\s*now\s*\()"), "reads a clock"},
      {std::regex(R"(\b(clock_gettime|gettimeofday|timespec_get)\s*\()"), "reads a clock"},
      {std::regex(R"(\btime\s*\(\s*(nullptr|NULL|0)\s*\))"), "reads a clock"},
      {std::regex(R"(\brandom_device\b|\bs?rand\s*\()"), "draws randomness"},
  }};
  return names;
}

struct include_line {
  std::string path;
  bool angled = false;
  // As the lists above have it: angled ones end with ">", so that "mutex>" is not "mutex_like.hpp".
  std::string tail() const { return angled ? path + ">" : path; }
};

std::optional<include_line> parse_include(const std::string& line) {
  static const std::regex form(R"(^\s*#\s*include\s*([<"])([^>"]+)[>"])");
  std::smatch found;
  if (!std::regex_search(line, found, form))
    return std::nullopt;
  return include_line{found[2], found[1] == "<"};
}

bool begins_with_one_of(const include_line& include, std::span<const std::string_view> list) {
  return std::ranges::any_of(list, [tail = include.tail()](std::string_view entry) { return tail.starts_with(entry); });
}

std::size_t layer_of_file(std::string_view file) {
  const auto folder = file.substr(0, file.find('/'));
  return static_cast<std::size_t>(std::ranges::find(layers, folder) - layers.begin());
}

// The layer of an own header; nothing for other people's and for private ones, which stand beside their sources.
std::optional<std::size_t> layer_of_include(std::string_view path) {
  constexpr std::string_view own = "switchyard/";
  if (!path.starts_with(own))
    return std::nullopt;
  path.remove_prefix(own.size());
  const auto part = path.substr(0, path.find('/'));
  return part == "engine" ? 0 : part == "actors" ? 1 : 2; // adapters are named after the outside thing
}

std::string read_file(const fs::path& path) {
  std::ifstream in(path, std::ios::binary);
  if (!in)
    throw std::runtime_error("cannot read " + path.string());
  return {std::istreambuf_iterator<char>(in), {}};
}

std::vector<std::string> split_lines(const std::string& text) {
  std::vector<std::string> lines;
  for (std::size_t begin = 0; begin <= text.size();) {
    const auto end = std::min(text.find('\n', begin), text.size());
    lines.push_back(text.substr(begin, end - begin));
    begin = end + 1;
  }
  return lines;
}

// What is wrong with an #include, if anything.
std::string include_rule_broken(const std::string& file, const include_line& include) {
  const auto layer = layer_of_file(file);
  if (include.path.find("..") != std::string::npos)
    return "includes across folders by a relative path";
  if (const auto other = layer_of_include(include.path); other && *other > layer)
    return std::string(layers[layer]) + " may not include " + std::string(layers[*other]);
  if (layers[layer] == "engine" && begins_with_one_of(include, impure_includes))
    return "the engine is pure";
  if (layers[layer] == "actors" && begins_with_one_of(include, outside_includes))
    return "outside things belong into adapters";
  const bool public_header = layers[layer] == "adapters" && file.find("/include/") != std::string::npos;
  if (public_header && begins_with_one_of(include, heavy_includes))
    return "a public header of an adapter shows neither Beast nor CAF";
  return {};
}

void check_file(const fs::path& root, const std::string& file, std::vector<violation>& violations) {
  const auto text = read_file(root / file);
  const auto with_literals = split_lines(without_comments(text, literals::keep));
  for (std::size_t i = 0; i < with_literals.size(); ++i) {
    const auto include = parse_include(with_literals[i]);
    if (!include)
      continue;
    if (const auto broken = include_rule_broken(file, *include); !broken.empty())
      violations.push_back({file, i + 1, broken + ": " + include->path});
  }
  if (layers[layer_of_file(file)] != "engine")
    return;
  const auto code = split_lines(without_comments(text, literals::blank));
  for (std::size_t i = 0; i < code.size(); ++i) {
    for (const auto& name : impure_names()) {
      if (std::smatch found; std::regex_search(code[i], found, name.pattern))
        violations.push_back({file, i + 1, "the engine " + std::string(name.what) + ": " + found.str()});
    }
  }
}

bool is_source(const fs::path& path) {
  constexpr std::array<std::string_view, 4> extensions{".hpp", ".cpp", ".h", ".ipp"};
  return std::ranges::find(extensions, path.extension().string()) != extensions.end();
}

bool is_word(char c) {
  return std::isalnum(static_cast<unsigned char>(c)) != 0 || c == '_';
}

// Where the literal or comment that begins at `i` ends (one past it); `i` itself if none begins there.
std::size_t end_of_comment(std::string_view text, std::size_t i) {
  const auto rest = text.substr(i);
  if (rest.starts_with("//"))
    return std::min(text.find('\n', i), text.size());
  if (!rest.starts_with("/*"))
    return i;
  const auto end = text.find("*/", i + 2);
  return end == text.npos ? text.size() : end + 2;
}

std::size_t end_of_literal(std::string_view text, std::size_t i) {
  const char before = i == 0 ? ' ' : text[i - 1];
  if (text[i] == '"' && before == 'R') {
    const auto open = text.find('(', i);
    if (open == text.npos)
      return text.size();
    const auto close = ")" + std::string(text.substr(i + 1, open - i - 1)) + "\"";
    const auto end = text.find(close, open);
    return end == text.npos ? text.size() : end + close.size();
  }
  // Inside of a number the mark separates digits.
  if (text[i] != '"' && (text[i] != '\'' || is_word(before)))
    return i;
  for (auto end = i + 1; end < text.size(); ++end) {
    if (text[end] == '\\')
      ++end;
    else if (text[end] == text[i])
      return end + 1;
  }
  return text.size();
}

} // namespace

std::string without_comments(std::string_view text, literals which) {
  std::string result(text);
  const auto blank = [&result](std::size_t begin, std::size_t end) {
    for (; begin < end; ++begin) {
      if (result[begin] != '\n')
        result[begin] = ' ';
    }
  };
  for (std::size_t i = 0; i < text.size();) {
    if (const auto end = end_of_comment(text, i); end != i) {
      blank(i, end);
      i = end;
    } else if (const auto stop = end_of_literal(text, i); stop != i) {
      if (which == literals::blank)
        blank(i, stop);
      i = stop;
    } else {
      ++i;
    }
  }
  return result;
}

tree_report check_source_tree(const fs::path& root) {
  tree_report report;
  for (const auto layer : layers) {
    const auto folder = root / layer;
    if (!fs::is_directory(folder))
      continue;
    for (const auto& entry : fs::recursive_directory_iterator(folder)) {
      if (entry.is_regular_file() && is_source(entry.path()))
        report.files.push_back(entry.path().lexically_relative(root).generic_string());
    }
  }
  std::ranges::sort(report.files);
  for (const auto& file : report.files)
    check_file(root, file, report.violations);
  return report;
}

} // namespace switchyard::test
