// switchyard-store: looks into a gateway's data directory, and cleans it.

#include "switchyard/admin/row_text.hpp"
#include "switchyard/engine/duration_text.hpp"
#include "switchyard/rocksdb/inspector.hpp"

#include <CLI/CLI.hpp>

#include <unistd.h>

#include <algorithm>
#include <cstdint>
#include <cstdio>
#include <iomanip>
#include <iostream>
#include <optional>
#include <string>

namespace {

using namespace switchyard;

constexpr int exit_ok = 0, exit_failure = 1, exit_usage = 2;

struct command_line {
  std::string data_dir = "data", request_id, older_than;
  bool show_progress = false;
};

int fail(const store_error& e) {
  std::cerr << "switchyard-store: " << e.message << '\n';
  return exit_failure;
}

/// Tells on stderr how far long work has come: on a terminal, or where it was asked for.
store::progress progress_line(const command_line& line, const char* unit) {
  const bool terminal = ::isatty(STDERR_FILENO) != 0;
  if (!line.show_progress && !terminal)
    return {};
  return [unit, terminal](std::uint64_t done, std::uint64_t about) {
    std::cerr << (terminal ? "\r" : "") << done << " of about " << about << ' ' << unit << (terminal ? "  " : "\n")
              << std::flush;
    if (terminal && done == about)
      std::cerr << '\n';
  };
}

std::uint64_t kib(std::uint64_t bytes) {
  return (bytes + 1023) / 1024;
}

std::string time_or_none(const std::optional<wall_time>& t) {
  return t ? admin::time_text(*t) : "none";
}

int check(const command_line& line) {
  const auto opened = store::inspector::open(line.data_dir);
  if (!opened)
    return fail(opened.error());
  const auto found = (*opened)->check(progress_line(line, "entries"));
  if (!found)
    return fail(found.error());
  for (const auto& problem : found->problems)
    std::cout << problem << '\n';
  std::cout << found->entries << " entries can be read, " << found->problems.size() << " problems\n";
  return found->problems.empty() ? exit_ok : exit_failure;
}

int stats(const command_line& line) {
  const auto opened = store::inspector::open(line.data_dir);
  if (!opened)
    return fail(opened.error());
  const auto found = (*opened)->figures(progress_line(line, "keys"));
  if (!found)
    return fail(found.error());
  std::cout << std::left << std::setw(24) << "family" << std::right << std::setw(14) << "about entries" << std::setw(14)
            << "KiB" << std::setw(8) << "files" << '\n';
  for (const auto& f : found->families)
    std::cout << std::left << std::setw(24) << f.name << std::right << std::setw(14) << f.entries << std::setw(14)
              << kib(f.bytes) << std::setw(8) << f.files << '\n';
  std::cout << "telemetry from " << time_or_none(found->oldest_row) << " to " << time_or_none(found->newest_row)
            << "\nidempotency keys: " << found->answers << " answered, " << found->reservations
            << " in flight or interrupted, " << found->expired << " expired\n";
  return exit_ok;
}

int request(const command_line& line) {
  const auto opened = store::inspector::open(line.data_dir);
  if (!opened)
    return fail(opened.error());
  const auto rows = (*opened)->rows_of(line.request_id);
  if (!rows)
    return fail(rows.error());
  for (const auto& row : *rows)
    std::cout << admin::row_text(row) << '\n';
  if (!rows->empty())
    return exit_ok;
  std::cerr << "switchyard-store: there is no row of request " << line.request_id << '\n';
  return exit_failure;
}

int purge(const command_line& line) {
  std::optional<duration> older_than;
  if (!line.older_than.empty()) {
    older_than = parse_duration(line.older_than);
    if (!older_than || *older_than <= duration::zero()) {
      std::cerr << "switchyard-store: --older-than " << line.older_than
                << " is not accepted: give a positive duration with a unit, e.g. 30d or 12h\n";
      return exit_usage;
    }
  }
  const auto done = store::purge(line.data_dir, older_than, progress_line(line, "families"));
  if (!done && done.error().what == store_error::kind::locked)
    return fail({store_error::kind::locked,
                 "the store in " + line.data_dir + " is in use by another process: stop the gateway, then purge"});
  if (!done)
    return fail(done.error());
  const auto dropped = done->entries_before - std::min(done->entries_before, done->entries_after);
  std::cout << "dropped about " << dropped << " entries that were expired, old or overwritten; left are "
            << done->entries_after << " in " << kib(done->bytes_after) << " KiB, before it were "
            << kib(done->bytes_before) << " KiB\n";
  return exit_ok;
}

/// `check, stats, request, purge`.
std::string known_commands(const CLI::App& app) {
  std::string names;
  for (const auto* command : app.get_subcommands([](const CLI::App*) { return true; }))
    names += (names.empty() ? "" : ", ") + command->get_name();
  return names;
}

/// The exit status when the program is to end at once.
std::optional<int> parse(CLI::App& app, int argc, char** argv) {
  try {
    app.parse(argc, argv);
    if (app.get_subcommands().empty())
      throw CLI::RequiredError{"A command"};
    return std::nullopt;
  } catch (const CLI::ParseError& e) {
    if (app.exit(e) == 0)
      return exit_ok;
    if (app.get_subcommands().empty())
      std::cerr << "The commands are " << known_commands(app) << ".\n";
    return exit_usage;
  }
}

} // namespace

int main(int argc, char** argv) {
  CLI::App app{"Looks into the data directory of a gateway, and cleans it", "switchyard-store"};
  command_line line;
  app.fallthrough(); // options may stand behind the command, too
  app.add_option("--data-dir", line.data_dir, "the gateway's data directory (telemetry.path)")
      ->type_name("DIR")
      ->capture_default_str();
  app.add_flag("--progress", line.show_progress, "tell how far long work has come, also where stderr is no terminal");
  app.require_subcommand(0, 1);
  app.footer("check, stats and request only read, also while a gateway runs. Exit status: 0 well, 1 not well, 2 wrong "
             "usage.");
  auto* checking = app.add_subcommand("check", "verify all files and read every entry");
  auto* counting = app.add_subcommand("stats", "about how many entries and bytes by family, age of telemetry, keys by "
                                               "state");
  auto* dumping = app.add_subcommand("request", "all telemetry rows of a request, one JSON object a line");
  dumping->add_option("ID", line.request_id, "the request's id (X-Request-Id)")->required();
  auto* purging =
      app.add_subcommand("purge", "drop what is expired and give its room back; the gateway must be stopped");
  purging->add_option("--older-than", line.older_than, "also telemetry and usage of this age, e.g. 30d")
      ->type_name("DURATION");
  if (const auto status = parse(app, argc, argv))
    return *status;
  if (checking->parsed())
    return check(line);
  if (counting->parsed())
    return stats(line);
  return dumping->parsed() ? request(line) : purge(line);
}
