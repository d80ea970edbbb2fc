// switchyard-gateway: an OpenAI-compatible HTTP server in front of several providers, driven by one JSON file.

#include "gateway_program.hpp"
#include "log_output.hpp"
#include "settings_source.hpp"

#include "switchyard/runtime/core.hpp"

#include <CLI/CLI.hpp>
#include <boost/algorithm/string/join.hpp>
#include <boost/asio/io_context.hpp>
#include <boost/asio/signal_set.hpp>
#include <spdlog/spdlog.h>

#include <fcntl.h>
#include <unistd.h>

#include <csignal>
#include <cstdio>
#include <iostream>
#include <memory>
#include <string>
#include <utility>

namespace {

using namespace switchyard;
using gateway::command_line;

// The exit statuses of the contract.
constexpr int exit_ok = 0, exit_failure = 1, exit_configuration = 2;

// The exit status when the program is to end at once.
std::optional<int> parse(int argc, char** argv, command_line& line) {
  CLI::App app{"An OpenAI-compatible gateway in front of several providers", "switchyard-gateway"};
  app.allow_extras(); // told below, in their order
  app.add_option("--config", line.config_file, "the configuration, JSON (docs/configuration.md)")->type_name("FILE");
  app.add_flag("--check", line.check, "check the configuration and end");
  app.add_option("--listen", line.listen, "address instead of gateway.listen; port 0 takes a free one")
      ->type_name("HOST:PORT")
      ->take_last();
  app.add_option("--admin", line.admin, "address instead of admin.listen")->type_name("HOST:PORT")->take_last();
  app.add_option("--data-dir", line.data_dir, "directory instead of telemetry.path")->type_name("DIR")->take_last();
  app.add_option("--log-format", line.log_format, "text, or json: each line an object")
      ->check(CLI::IsMember({"text", "json"}));
  app.add_option("--log-level", line.log_level, "the least that is logged")
      ->check(CLI::IsMember({"debug", "info", "warning", "error"}));
  try {
    app.parse(argc, argv);
    if (const auto unknown = app.remaining(); !unknown.empty())
      throw CLI::ParseError{"These arguments were not expected: " + boost::algorithm::join(unknown, " "),
                            CLI::ExitCodes::ExtrasError};
    if (line.config_file.empty()) // an option that is not known is told first
      throw CLI::RequiredError{"--config FILE"};
    if (app.count("--data-dir") > 0 && line.data_dir.empty())
      throw CLI::ValidationError{"--data-dir", "needs a directory, not an empty text"};
  } catch (const CLI::ParseError& e) {
    return app.exit(e) == 0 ? exit_ok : exit_configuration;
  }
  return std::nullopt;
}

void log_line(log_level level, std::string_view text) {
  static constexpr spdlog::level::level_enum levels[] = {spdlog::level::debug, spdlog::level::info, spdlog::level::warn,
                                                         spdlog::level::err};
  spdlog::log(levels[static_cast<std::size_t>(level)], "{}", text);
}

// Whoever starts the program without standard streams must not find its sockets there.
void open_standard_streams() {
  int fd = 0;
  do
    fd = ::open("/dev/null", O_RDWR);
  while (fd >= 0 && fd <= 2);
  if (fd > 2)
    ::close(fd);
}

sigset_t all_signals() {
  sigset_t set;
  sigemptyset(&set);
  for (const int signal : {SIGINT, SIGTERM, SIGHUP})
    sigaddset(&set, signal);
  return set;
}

int check(const command_line& line, const config& settings) {
  for (const auto& w : settings.warnings)
    std::cerr << line.config_file << ": warning: " << w << '\n';
  if (const auto problem = core::check(settings)) {
    std::cerr << line.config_file << ": " << problem->message << '\n';
    return exit_configuration;
  }
  std::cout << line.config_file << ": the configuration is valid\n";
  return exit_ok;
}

int run(const command_line& line) {
  auto loaded = gateway::load_settings(line);
  if (!loaded) {
    std::cerr << loaded.error() << '\n';
    return exit_configuration;
  }
  if (line.check)
    return check(line, loaded->settings);
  std::signal(SIGPIPE, SIG_IGN);
  gateway::log_to_stderr(line.log_format == "json" ? gateway::log_format::json : gateway::log_format::text,
                         spdlog::level::from_str(line.log_level));
  core_options options;
  options.log = log_line;
  // Never destroyed: a signal that comes while the program ends must not end it otherwise.
  static auto& main = *new boost::asio::io_context;
  static auto& stops = *new boost::asio::signal_set{main, SIGINT, SIGTERM};
  static auto& reloads = *new boost::asio::signal_set{main, SIGHUP};
  const auto signals = all_signals();
  pthread_sigmask(SIG_UNBLOCK, &signals, nullptr); // one that came before is told now
  auto started = core::start(std::move(loaded->settings), std::move(options));
  if (!started) {
    spdlog::error("{}", started.error().message);
    return started.error().what == start_error::kind::store ? exit_failure : exit_configuration;
  }
  auto engine = *std::move(started);
  gateway::gateway_program program{engine, line, std::move(loaded->tls), main, {stops, reloads}};
  const bool listening = program.listen();
  if (listening)
    program.run();
  engine->stop(duration::zero());
  program.close();
  return listening ? exit_ok : exit_failure;
}

} // namespace

int main(int argc, char** argv) {
  open_standard_streams();
  const auto signals = all_signals();
  pthread_sigmask(SIG_BLOCK, &signals, nullptr); // until there is who does in order what they ask for
  command_line line;
  if (const auto status = parse(argc, argv, line))
    return *status;
  try {
    return run(line);
  } catch (const std::exception& e) {
    std::cerr << "switchyard-gateway: " << e.what() << '\n';
    return exit_failure;
  }
}
