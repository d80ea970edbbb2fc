// switchyard-gateway: an OpenAI-compatible HTTP server in front of several providers, driven by one JSON file.

#include "answers.hpp"
#include "data_plane.hpp"

#include "switchyard/admin/admin.hpp"
#include "switchyard/engine/validate.hpp"
#include "switchyard/json/load_config.hpp"
#include "switchyard/runtime/core.hpp"

#include <CLI/CLI.hpp>
#include <boost/asio/io_context.hpp>
#include <boost/asio/signal_set.hpp>
#include <boost/asio/steady_timer.hpp>
#include <spdlog/sinks/stdout_color_sinks.h>
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

// The exit statuses of the contract.
constexpr int exit_ok = 0, exit_failure = 1, exit_configuration = 2;

using server_tls_ptr = std::shared_ptr<const http::server_tls>;

struct command_line {
  std::string config_file, listen, admin, data_dir;
  bool check = false;
};

// The exit status when the program is to end at once.
std::optional<int> parse(int argc, char** argv, command_line& line) {
  CLI::App app{"An OpenAI-compatible gateway in front of several providers", "switchyard-gateway"};
  app.add_option("--config", line.config_file, "the configuration, JSON (docs/configuration.md)");
  app.add_flag("--check", line.check, "check the configuration and end");
  app.add_option("--listen", line.listen, "HOST:PORT instead of gateway.listen; port 0 takes a free one")->take_last();
  app.add_option("--admin", line.admin, "HOST:PORT instead of admin.listen")->take_last();
  app.add_option("--data-dir", line.data_dir, "directory instead of telemetry.path")->take_last();
  try {
    app.parse(argc, argv);
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

// The configuration with the command line's changes; the reason on stderr when it is none.
std::optional<config> load(const command_line& line) {
  auto loaded = load_config(line.config_file);
  if (!loaded) {
    std::cerr << loaded.error().text() << '\n';
    return std::nullopt;
  }
  auto c = *std::move(loaded);
  if (!line.listen.empty())
    c.gateway.listen = line.listen;
  if (!line.admin.empty())
    c.admin.listen = line.admin;
  if (!line.data_dir.empty())
    c.telemetry.path = line.data_dir;
  const auto checked = validate(c);
  for (const auto& p : checked.problems)
    std::cerr << "command line: " << p.pointer << ": " << p.value << ": " << p.message << '\n';
  if (!checked.ok())
    return std::nullopt;
  if (line.check)
    for (const auto& w : checked.warnings)
      std::cerr << line.config_file << ": warning: " << w << '\n';
  return c;
}

// The listener's certificate and key, null without TLS; the reason on stderr when they cannot be used.
std::optional<server_tls_ptr> load_tls(const command_line& line, const config& c) {
  if (!c.gateway.tls)
    return server_tls_ptr{};
  auto loaded = http::load_server_tls(c.gateway.tls->certificate, c.gateway.tls->key);
  if (loaded)
    return *std::move(loaded);
  std::cerr << line.config_file << ": /gateway/tls: " << loaded.error() << '\n';
  return std::nullopt;
}

// Both listeners and the way to their end.
class program {
public:
  program(std::shared_ptr<core> engine, server_tls_ptr tls, boost::asio::io_context& main,
          boost::asio::signal_set& signals)
      : engine_(std::move(engine)), tls_(std::move(tls)), signals_(signals), hangup_(main, SIGHUP), timer_(main) {}

  bool listen() {
    const auto& c = engine_->settings();
    http::server_options data;
    data.listen = c.gateway.listen;
    data.max_body = c.gateway.max_body;
    data.header_timeout = c.gateway.header_timeout;
    data.body_timeout = c.gateway.body_timeout;
    data.tls = tls_;
    data.screen = gateway::make_screener(engine_, draining_);
    http::server_options admin;
    admin.listen = c.admin.listen;
    return start(admin, admin::make_handler(engine_), admin::format_refusal, admin_) &&
           start(data, gateway::make_data_plane(engine_, draining_), gateway::make_refusal_formatter(engine_), data_);
  }

  void run(boost::asio::io_context& main) {
    ignore_hangup();
    signals_.async_wait([this](boost::system::error_code failed, int) {
      if (!failed)
        drain();
    });
    std::cout << "ready gateway=" << (tls_ ? "https://" : "http://") << data_->address() << " admin=http://"
              << admin_->address() << std::endl;
    main.run();
  }

  // After the I/O threads have stopped.
  void close() {
    data_.reset();
    admin_.reset();
  }

private:
  bool start(const http::server_options& options, http::handler handler, http::refusal_formatter format,
             std::shared_ptr<http::server>& server) {
    auto listening = http::listen(engine_->threads(), options, std::move(handler), std::move(format));
    if (!listening) {
      spdlog::error("{}", listening.error());
      return false;
    }
    server = *std::move(listening);
    return true;
  }

  // SIGHUP is for reloading, which this version does not have: it must not end the program.
  void ignore_hangup() {
    hangup_.async_wait([this](boost::system::error_code failed, int) {
      if (failed)
        return;
      spdlog::warn("SIGHUP: reloading is not available in this version; restart instead");
      ignore_hangup();
    });
  }

  // New requests are refused, on new connections too; running ones have their grace. A second signal ends it.
  void drain() {
    data_->drain(); // first, so that every refusal carries Connection: close
    draining_->store(true, std::memory_order_release);
    engine_->refuse_new();
    spdlog::info("draining: {} requests are running", engine_->in_flight());
    deadline_ = std::chrono::steady_clock::now() + engine_->settings().gateway.shutdown_grace;
    signals_.async_wait([this](boost::system::error_code failed, int) {
      if (!failed)
        deadline_ = std::chrono::steady_clock::now();
    });
    wait_until_idle();
  }

  void wait_until_idle() {
    if (engine_->in_flight() == 0) {
      data_->stop_accepting();
      data_->drain(); // who connected meanwhile and says nothing
    }
    const bool idle = engine_->in_flight() == 0 && data_->connections() == 0;
    if (idle || std::chrono::steady_clock::now() >= deadline_) {
      signals_.cancel();
      hangup_.cancel();
      return;
    }
    timer_.expires_after(std::chrono::milliseconds{20});
    timer_.async_wait([this](boost::system::error_code) { wait_until_idle(); });
  }

  std::shared_ptr<core> engine_;
  server_tls_ptr tls_;
  std::shared_ptr<std::atomic<bool>> draining_ = std::make_shared<std::atomic<bool>>(false);
  std::shared_ptr<http::server> data_, admin_;
  boost::asio::signal_set& signals_;
  boost::asio::signal_set hangup_;
  boost::asio::steady_timer timer_;
  std::chrono::steady_clock::time_point deadline_{};
};

// Whoever starts the program without standard streams must not find its sockets there.
void open_standard_streams() {
  int fd = 0;
  do
    fd = ::open("/dev/null", O_RDWR);
  while (fd >= 0 && fd <= 2);
  if (fd > 2)
    ::close(fd);
}

sigset_t stop_signals() {
  sigset_t set;
  sigemptyset(&set);
  sigaddset(&set, SIGINT);
  sigaddset(&set, SIGTERM);
  return set;
}

int run(const command_line& line) {
  auto settings = load(line);
  if (!settings)
    return exit_configuration;
  auto tls = load_tls(line, *settings);
  if (!tls)
    return exit_configuration;
  if (line.check) {
    if (const auto problem = core::check(*settings)) {
      std::cerr << line.config_file << ": " << problem->message << '\n';
      return exit_configuration;
    }
    std::cout << line.config_file << ": the configuration is valid\n";
    return exit_ok;
  }
  std::signal(SIGPIPE, SIG_IGN);
  spdlog::set_default_logger(spdlog::stderr_color_mt("switchyard"));
  core_options options;
  options.log = log_line;
  // Never destroyed: a signal that comes while the program ends must not end it otherwise.
  static auto& main = *new boost::asio::io_context;
  static auto& signals = *new boost::asio::signal_set{main, SIGINT, SIGTERM};
  const auto stops = stop_signals();
  pthread_sigmask(SIG_UNBLOCK, &stops, nullptr); // one that came before is told now
  auto started = core::start(*std::move(settings), std::move(options));
  if (!started) {
    spdlog::error("{}", started.error().message);
    return started.error().what == start_error::kind::store ? exit_failure : exit_configuration;
  }
  auto engine = *std::move(started);
  program gateway{engine, *std::move(tls), main, signals};
  const bool listening = gateway.listen();
  if (listening)
    gateway.run(main);
  engine->stop(duration::zero());
  gateway.close();
  return listening ? exit_ok : exit_failure;
}

} // namespace

int main(int argc, char** argv) {
  open_standard_streams();
  const auto stops = stop_signals();
  pthread_sigmask(SIG_BLOCK, &stops, nullptr); // until there is who ends the program in order
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
