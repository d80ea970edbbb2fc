#include "settings_source.hpp"

#include "switchyard/engine/validate.hpp"
#include "switchyard/json/load_config.hpp"

#include <boost/algorithm/string/join.hpp>

#include <filesystem>
#include <string_view>
#include <utility>
#include <vector>

namespace switchyard::gateway {

namespace {

using problem_list = std::vector<std::string>;

std::string text_of(const problem_list& problems) {
  return boost::algorithm::join(problems, "\n");
}

// What of the command line is at fault, in place of the setting that it stands for.
std::string_view option_of(std::string_view pointer) {
  if (pointer == "/gateway/listen")
    return "--listen";
  if (pointer == "/admin/listen")
    return "--admin";
  return pointer == "/telemetry/path" ? "--data-dir" : pointer;
}

// Says nothing of a file that can be read without waiting, nor of one that is not there: whoever reads it does.
void check_file(problem_list& problems, const std::string& where, const std::string& file) {
  std::error_code failed;
  const auto found = std::filesystem::status(file, failed);
  if (std::filesystem::is_other(found))
    problems.push_back(where + (where.empty() ? "" : ": ") + file +
                       ": is a pipe, a socket or a device, which a running program does not read; accepted: a "
                       "regular file");
}

// The files that the configuration names and a reload reads.
void check_files(problem_list& problems, const std::string& source, const config& c) {
  if (c.gateway.tls) {
    check_file(problems, source + ": /gateway/tls/certificate", c.gateway.tls->certificate);
    check_file(problems, source + ": /gateway/tls/key", c.gateway.tls->key);
  }
  for (const auto& [name, provider] : c.providers)
    if (!provider.tls_ca.empty())
      check_file(problems, source + ": " + child_pointer("/providers", name) + "/tls/ca", provider.tls_ca);
}

enum class reading { at_start, again };

boost::system::result<loaded_settings, std::string> load(const command_line& line, reading how) {
  problem_list problems;
  if (how == reading::again)
    check_file(problems, {}, line.config_file);
  if (!problems.empty())
    return text_of(problems);
  auto loaded = load_config(line.config_file);
  if (!loaded)
    return loaded.error().text();
  loaded_settings result{*std::move(loaded), nullptr};
  auto& c = result.settings;
  if (!line.listen.empty())
    c.gateway.listen = line.listen;
  if (!line.admin.empty())
    c.admin.listen = line.admin;
  if (!line.data_dir.empty())
    c.telemetry.path = line.data_dir;
  for (const auto& p : validate(c).problems)
    problems.push_back("command line: " + std::string{option_of(p.pointer)} + ": " + p.value + ": " + p.message);
  if (how == reading::again)
    check_files(problems, line.config_file, c);
  if (!problems.empty())
    return text_of(problems);
  if (!c.gateway.tls)
    return result;
  auto tls = http::load_server_tls(c.gateway.tls->certificate, c.gateway.tls->key);
  if (!tls)
    return line.config_file + ": /gateway/tls: " + tls.error();
  result.tls = *std::move(tls);
  return result;
}

} // namespace

boost::system::result<loaded_settings, std::string> load_settings(const command_line& line) {
  return load(line, reading::at_start);
}

boost::system::result<loaded_settings, std::string> load_settings_again(const command_line& line) {
  return load(line, reading::again);
}

std::string needs_restart(const config& in_use, const config& next) {
  problem_list problems;
  const auto check = [&](const char* pointer, const std::string& now, const std::string& then) {
    if (now != then)
      problems.push_back(std::string{pointer} + ": \"" + then +
                         "\": cannot change in a running program, which listens on " + now +
                         "; restart it to use the new value");
  };
  check("/gateway/listen", in_use.gateway.listen, next.gateway.listen);
  check("/admin/listen", in_use.admin.listen, next.admin.listen);
  return text_of(problems);
}

} // namespace switchyard::gateway
