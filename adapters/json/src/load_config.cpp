#include "switchyard/json/load_config.hpp"

#include "read_config.hpp"
#include "resolve.hpp"
#include "source_text.hpp"

#include "switchyard/engine/validate.hpp"

#include <boost/throw_exception.hpp>

#include <algorithm>
#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <map>
#include <set>
#include <stdexcept>
#include <utility>

namespace switchyard {
namespace {

using detail::reading;
using detail::source_document;

config_error file_error(const std::string& file, std::string message) {
  config_problem problem;
  problem.message = std::move(message);
  return {file, {std::move(problem)}};
}

/// A text without control characters, which a key or a file name may hold, so that a problem stays one line of a log.
std::string one_line(std::string_view text) {
  constexpr std::string_view hex = "0123456789abcdef";
  std::string line;
  for (const char c : text) {
    const auto byte = static_cast<unsigned char>(c);
    if (byte < 0x20 || byte == 0x7F)
      line.append("\\x").append(1, hex[byte >> 4]).append(1, hex[byte & 15]);
    else
      line.push_back(c);
  }
  return line;
}

/// Places at which a problem has been found while reading.
class known_places {
public:
  explicit known_places(const std::vector<config_problem>& problems) {
    for (const auto& problem : problems)
      places_.insert(problem.pointer);
  }

  /// Whether something at this place, around it or inside it was not read: a further problem there only follows.
  bool touch(const std::string& pointer) const {
    const auto inside = places_.lower_bound(pointer + "/");
    if (inside != places_.end() && inside->starts_with(pointer + "/"))
      return true;
    for (std::string place = pointer;; place.resize(place.rfind('/'))) {
      if (places_.contains(place))
        return true;
      if (place.empty())
        return false;
    }
  }

  /// Whether there is a problem at this very place.
  bool has(const std::string& pointer) const { return places_.contains(pointer); }

private:
  std::set<std::string> places_;
};

/// Recognises problems of a profile that are its base's, inherited with the value.
class inherited_problems {
public:
  inherited_problems(const reading& read, const std::vector<setting_problem>& all) {
    for (const auto& [profile, base] : read.bases)
      bases_.emplace(child_pointer("/circuits", profile), child_pointer("/circuits", base));
    for (const auto& problem : all)
      all_.emplace(problem.pointer, problem.message);
  }

  bool contains(const setting_problem& problem) const {
    constexpr std::string_view circuits = "/circuits/";
    if (!problem.pointer.starts_with(circuits))
      return false;
    const auto end = std::min(problem.pointer.find('/', circuits.size()), problem.pointer.size());
    const auto base = bases_.find(problem.pointer.substr(0, end));
    return base != bases_.end() && all_.contains({base->second + problem.pointer.substr(end), problem.message});
  }

private:
  std::map<std::string, std::string> bases_; // by the pointer of the profile, the pointer of its base
  std::set<std::pair<std::string, std::string>> all_;
};

/// Adds what `validate` found, as far as reading has not said it already; what this version does not have is always
/// said, so that nobody mends a section which is refused as a whole.
void add_validation(const validation& found, const reading& read, const source_document& document,
                    std::vector<config_problem>& problems) {
  const known_places known{problems};
  const inherited_problems inherited{read, found.problems};
  std::set<std::pair<std::string, std::string>> unavailable;
  for (auto& problem : unavailable_features(read.settings))
    unavailable.emplace(std::move(problem.pointer), std::move(problem.message));
  for (const auto& problem : found.problems) {
    const bool always = unavailable.contains({problem.pointer, problem.message});
    // Where a whole section could not be read, nothing is missing from it.
    const bool follows = known.touch(problem.pointer) || (!problem.looked_in.empty() && known.has(problem.looked_in));
    const bool is_given = document.find(problem.pointer) != nullptr;
    if ((follows && !always && !problem.of_name) || (!is_given && inherited.contains(problem)))
      continue;
    // The value as the file has it, rather than as it was understood; what is hidden stays so.
    auto value = is_given && !problem.value.empty() ? detail::shown_value(document, problem.pointer) : problem.value;
    problems.push_back({problem.pointer, 0, 0, std::move(value), problem.message});
  }
}

boost::system::result<config, config_error> load(source_document& document, const std::string& name,
                                                 const environment& env) {
  auto read = detail::read_config(document);
  auto problems = std::move(read.problems);
  std::ranges::move(detail::resolve(read.settings, env), std::back_inserter(problems));
  complete(read.settings);
  auto found = validate(read.settings);
  add_validation(found, read, document, problems);
  for (auto& problem : problems)
    problem.line = document.line_of(problem.pointer);
  std::ranges::move(document.problems, std::back_inserter(problems));
  if (problems.empty()) {
    read.settings.warnings = std::move(found.warnings);
    return std::move(read.settings);
  }
  std::ranges::stable_sort(problems, {}, &config_problem::line);
  return config_error{name, std::move(problems)};
}

} // namespace

std::string config_error::text() const {
  std::string lines;
  for (const auto& problem : problems) {
    if (!lines.empty())
      lines += '\n';
    lines += one_line(file);
    if (problem.line != 0)
      lines += ":" + std::to_string(problem.line);
    if (problem.column != 0)
      lines += ":" + std::to_string(problem.column);
    for (const auto* part : {&problem.pointer, &problem.value, &problem.message}) {
      if (!part->empty())
        lines += ": " + one_line(*part);
    }
  }
  return lines;
}

void throw_exception_from_error(const config_error& error, const boost::source_location& location) {
  boost::throw_exception(std::runtime_error("configuration refused:\n" + error.text()), location);
}

environment process_environment() {
  return [](std::string_view name) -> std::optional<std::string> {
    const char* value = std::getenv(std::string(name).c_str());
    return value == nullptr ? std::nullopt : std::optional<std::string>{value};
  };
}

boost::system::result<config, config_error> load_config_text(std::string_view text, const std::string& name,
                                                             const environment& env) {
  if (text.size() > longest_config_text)
    return file_error(name, "longer than " + std::to_string(longest_config_text) + " bytes");
  source_document document;
  detail::parse_source(text, document);
  if (!document.parsed)
    return config_error{name, std::move(document.problems)};
  return load(document, name, env);
}

boost::system::result<config, config_error> load_config(const std::string& path, const environment& env) {
  std::error_code error;
  if (!std::filesystem::exists(path, error))
    return file_error(path, error ? "cannot read this file: " + error.message() : "there is no such file");
  if (std::filesystem::is_directory(path, error))
    return file_error(path, "this is a folder; accepted: a configuration file");
  std::ifstream file(path, std::ios::binary);
  if (!file)
    return file_error(path, "cannot read this file");
  std::string text(longest_config_text + 1, '\0');
  file.read(text.data(), static_cast<std::streamsize>(text.size()));
  if (file.bad())
    return file_error(path, "cannot read this file to its end");
  text.resize(static_cast<std::size_t>(file.gcount()));
  return load_config_text(text, path, env);
}

} // namespace switchyard
