// 3_embed_server: an HTTP server of your own with the engine inside.
//
//   embed_server [--once] [PORT] [BASE_URL MODEL]...
//
// A small server on Boost.Beast and coroutines. `POST /ask` takes a question as plain text, submits it to the runtime
// and answers with what the first provider that can says; `POST /ask/stream` passes the provider's events on as they
// come:
//
//   $ embed_server 8000 http://localhost:11434/v1 llama3 https://api.example.com/v1 some-model
//   $ curl -d 'How are you?' localhost:8000/ask
//   $ curl -N -d 'How are you?' localhost:8000/ask/stream
//
// Each BASE_URL MODEL is an OpenAI-compatible provider, the later ones are fallbacks of the first; the key for all of
// them, if one is needed, is taken from the variable API_KEY. Without any, two providers inside this process answer.
// With --once the server asks itself one question in both ways, prints the answers and ends: status 0 when there were
// any.
//
// What to see here: the request is awaited in the session's coroutine like any other operation; its error becomes the
// HTTP answer; the runtime has threads of its own, and results come back to the coroutine's executor. A piece of a
// stream is awaited too: as long as its write is not done, the provider is read no further than a bound.

#include "fake_provider.hpp"
#include "http_session.hpp"

#include "switchyard/runtime/runtime.hpp"
#include "switchyard/runtime/stream.hpp"

#include <boost/asio/co_spawn.hpp>
#include <boost/asio/detached.hpp>
#include <boost/asio/io_context.hpp>
#include <boost/asio/signal_set.hpp>
#include <boost/asio/this_coro.hpp>
#include <boost/asio/use_awaitable.hpp>
#include <boost/json/array.hpp>
#include <boost/json/serialize.hpp>

#include <charconv>
#include <cstdlib>
#include <iostream>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

namespace {

namespace asio = boost::asio;
using asio::ip::tcp;
using namespace std::chrono_literals;

struct command_line {
  bool once = false;
  unsigned short port = 0; ///< 0: a free one
  std::vector<std::pair<std::string, std::string>> providers;
};

std::optional<command_line> parse(const std::vector<std::string>& arguments) {
  command_line line;
  std::size_t i = 0;
  if (i < arguments.size() && arguments[i] == "--once") {
    line.once = true;
    ++i;
  }
  if (i < arguments.size()) {
    const auto& text = arguments[i++];
    const auto [end, failed] = std::from_chars(text.data(), text.data() + text.size(), line.port);
    if (failed != std::errc{} || end != text.data() + text.size())
      return std::nullopt;
  }
  for (; i + 1 < arguments.size(); i += 2)
    line.providers.emplace_back(arguments[i], arguments[i + 1]);
  return i == arguments.size() ? std::optional{line} : std::nullopt;
}

void add_provider(switchyard::config& c, std::size_t number, const std::string& base_url, const std::string& model) {
  const auto name = "provider" + std::to_string(number);
  auto& provider = c.providers[name];
  provider.base_url = base_url;
  if (const auto* key = std::getenv("API_KEY")) {
    provider.api_key_env = "API_KEY";
    provider.api_key = switchyard::secret{key};
  }
  auto& route = c.routes[number == 0 ? "ask" : "ask-" + std::to_string(number)];
  route.provider = name;
  route.model = model;
  route.deadline = 60s;
  if (number > 0)
    c.routes["ask"].fallback.push_back("ask-" + std::to_string(number));
}

boost::system::result<switchyard::runtime, switchyard::start_error> start(const command_line& line) {
  switchyard::config c;
  switchyard::core_options options;
  options.in_memory = true;
  options.io_threads = 1;
  for (const auto& [url, model] : line.providers)
    add_provider(c, c.providers.size(), url, model);
  if (line.providers.empty()) {
    for (const auto* text : {"I am the first of two fakes.", "I am the second of two fakes."}) {
      const auto number = c.providers.size();
      add_provider(c, number, "http://localhost", "fake"); // the URL is not used: the provider is given
      options.providers["provider" + std::to_string(number)] = make_fake_provider(text);
    }
  }
  return switchyard::runtime::start(std::move(c), std::move(options));
}

switchyard::request request_of(std::string question, bool stream) {
  const boost::json::object body{
      {"stream", stream},
      {"messages", boost::json::array{boost::json::object{{"role", "user"}, {"content", std::move(question)}}}}};
  return {"ask", boost::json::serialize(body)};
}

answer answer_of(const switchyard::submit_result& result) {
  if (result)
    return answer{200, result->body};
  const auto& error = result.error();
  return answer{
      switchyard::http_status(error.code),
      boost::json::serialize(boost::json::object{{"error", to_string(error.code)}, {"message", error.message}})};
}

// The whole use of the library: a question in, an answer of some provider out.
asio::awaitable<answer> ask(switchyard::runtime& runtime, std::string question) {
  co_return answer_of(co_await runtime.async_submit(request_of(std::move(question), false), asio::use_awaitable));
}

// The same as a stream. After its first piece an error can only be told as one more event.
asio::awaitable<answer> ask_stream(switchyard::runtime& runtime, std::string question, piece_writer write) {
  const auto sink = switchyard::make_sink(co_await asio::this_coro::executor, {}, write);
  const auto result = co_await runtime.async_stream(request_of(std::move(question), true), sink, asio::use_awaitable);
  auto made = answer_of(result);
  if (!result && result.error().streamed)
    co_await write("event: error\ndata: " + made.body + "\n\n");
  co_return made;
}

asio::awaitable<void> accept(tcp::acceptor& acceptor, switchyard::runtime& runtime) {
  for (;;) {
    auto socket = co_await acceptor.async_accept(asio::use_awaitable);
    asio::co_spawn(acceptor.get_executor(),
                   serve(
                       std::move(socket), [&](std::string body) { return ask(runtime, std::move(body)); },
                       [&](std::string body, piece_writer write) {
                         return ask_stream(runtime, std::move(body), std::move(write));
                       }),
                   asio::detached);
  }
}

// Whether both ways to ask gave an answer, and a way that leads nowhere said so.
asio::awaitable<bool> ask_once(tcp::endpoint server) {
  bool as_expected = true;
  for (const auto& [path, status] : {std::pair{"/ask", 200}, {"/ask/stream", 200}, {"/nowhere", 404}}) {
    const auto a = co_await post(server, path, "How are you?");
    std::cout << path << ": " << a.status << '\n' << a.body << '\n';
    as_expected = as_expected && a.status == status;
  }
  co_return as_expected;
}

int run(const command_line& line) {
  auto started = start(line);
  if (!started) {
    std::cerr << started.error().message << '\n';
    return 2;
  }
  auto runtime = *std::move(started);
  asio::io_context io;
  tcp::acceptor acceptor{io, {asio::ip::address_v4::loopback(), line.port}};
  std::cout << "listening on http://" << acceptor.local_endpoint() << "/ask" << std::endl;
  asio::co_spawn(io, accept(acceptor, runtime), asio::detached);
  int status = 0;
  asio::signal_set signals{io, SIGINT, SIGTERM};
  if (line.once)
    asio::co_spawn(io, ask_once(acceptor.local_endpoint()), [&](std::exception_ptr failed, bool as_expected) {
      status = !failed && as_expected ? 0 : 1;
      io.stop();
    });
  else
    signals.async_wait([&](boost::system::error_code, int) { io.stop(); });
  io.run();
  runtime.stop(1s); // before `io`: what is still running completes there
  return status;
}

} // namespace

int main(int argc, char** argv) {
  const auto line = parse({argv + 1, argv + argc});
  if (!line) {
    std::cerr << "usage: embed_server [--once] [PORT] [BASE_URL MODEL]...\n";
    return 2;
  }
  try {
    return run(*line);
  } catch (const std::exception& e) {
    std::cerr << "embed_server: " << e.what() << '\n';
    return 1;
  }
}
