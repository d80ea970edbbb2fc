// An OpenAI-compatible provider that fails on command. See README.md.

#include "service.hpp"

#include "switchyard/engine/setting_rules.hpp"
#include "switchyard/http/io_threads.hpp"
#include "switchyard/http/server.hpp"

#include <CLI/CLI.hpp>
#include <boost/asio/io_context.hpp>
#include <boost/asio/signal_set.hpp>

#include <cerrno>
#include <csignal>
#include <cstring>
#include <fstream>
#include <iostream>

namespace {

constexpr int bad_usage = 2;

struct arguments {
  std::string listen = "127.0.0.1:0";
  std::string script_file;
  std::string name = "faulty-provider";
  std::uint64_t seed = 1;
};

// The script, or nothing after having said what is wrong.
std::optional<faulty::script> load_script(const std::string& file) {
  if (file.empty())
    return faulty::script{};
  std::ifstream in(file, std::ios::binary);
  std::string text;
  char piece[4096];
  while (in.read(piece, sizeof piece), in.gcount() > 0)
    text.append(piece, static_cast<std::size_t>(in.gcount()));
  if (!in.eof()) {
    std::cerr << file << ": cannot be read: " << std::strerror(errno) << '\n';
    return std::nullopt;
  }
  auto read = faulty::read_script(text);
  if (read)
    return std::move(*read);
  for (const auto& e : read.error())
    std::cerr << file << ": " << to_string(e) << '\n';
  return std::nullopt;
}

// What CLI11 is to say of a bad address; empty for a good one. The host is judged when it is bound.
std::string check_address(const std::string& text) {
  if (switchyard::parse_host_port(text))
    return {};
  return "\"" + text + "\": HOST:PORT or [IPv6]:PORT is expected, with a port from 0 to 65535";
}

std::pair<switchyard::header_list, std::string> format_refusal(const switchyard::http::refusal& r) {
  switchyard::header_list headers;
  headers.add("Content-Type", "application/json");
  return {std::move(headers), faulty::error_body(r.message, "invalid_request_error", r.code)};
}

void wait_for_signal() {
  boost::asio::io_context context;
  boost::asio::signal_set signals(context, SIGINT, SIGTERM);
  signals.async_wait([](const boost::system::error_code&, int) {});
  context.run();
}

int serve(const arguments& args, faulty::script script) {
  switchyard::http::io_threads threads(1); // one thread: the service has no locks
  faulty::service service(args.name, std::move(script), args.seed);
  switchyard::http::server_options options;
  options.listen = args.listen;
  auto server = switchyard::http::listen(
      threads, options, [&service](auto exchange) { service.handle(std::move(exchange)); }, format_refusal);
  if (!server) {
    std::cerr << server.error() << '\n';
    return 1;
  }
  threads.start();
  std::cout << "ready provider=http://" << (*server)->address() << std::endl;
  wait_for_signal();
  threads.stop();
  server->reset();
  return 0;
}

} // namespace

int main(int argc, char** argv) {
  arguments args;
  CLI::App app("An OpenAI-compatible provider that fails on command: latency, errors, faults and outages by script.");
  app.add_option("--listen", args.listen, "HOST:PORT; port 0 takes a free one")
      ->capture_default_str()
      ->check(CLI::Validator(check_address, ""));
  app.add_option("--script", args.script_file, "JSON file that says how to behave");
  app.add_option("--name", args.name, "said in answers that have nothing to echo")->capture_default_str();
  app.add_option("--seed", args.seed, "of the random draws")->capture_default_str()->check(CLI::NonNegativeNumber);
  try {
    app.parse(argc, argv);
  } catch (const CLI::ParseError& e) {
    return app.exit(e) == 0 ? 0 : bad_usage;
  }
  auto script = load_script(args.script_file);
  if (!script)
    return bad_usage;
  return serve(args, std::move(*script));
}
