// 1_guard: a circuit around an asynchronous operation of your own.
//
// No HTTP, no provider, no configuration file: a runtime made in code has a circuit "payments", and `async_guard` runs
// an operation under it. The operation here is a fake card service, which is a timer that ends well or badly as told.
// The program walks through what a circuit does, and prints it:
//
//   closed     three failures in a row open it (`consecutive_failures`)
//   open       calls are refused at once, with the time that is left (`cooldown`)
//   half-open  one call at a time goes through as a probe; ten at once are one call and nine refusals
//   closed     after the probe's success everything goes through again
//
// It ends by itself, with status 0 when all of that was seen. To guard an operation of yours, pass any Asio initiating
// function: `[&](auto token) { return socket.async_connect(endpoint, std::move(token)); }`. A call that is not
// asynchronous takes a permit instead: `if (auto permit = circuit.try_acquire()) ...`.

#include "switchyard/runtime/runtime.hpp"

#include <boost/asio/as_tuple.hpp>
#include <boost/asio/awaitable.hpp>
#include <boost/asio/bind_executor.hpp>
#include <boost/asio/co_spawn.hpp>
#include <boost/asio/error.hpp>
#include <boost/asio/io_context.hpp>
#include <boost/asio/steady_timer.hpp>
#include <boost/asio/use_awaitable.hpp>

#include <iostream>
#include <memory>
#include <sstream>
#include <variant>

namespace {

namespace asio = boost::asio;
using boost::system::error_code;
using namespace std::chrono_literals;

// Anything with a completion token can be guarded.
class card_service {
public:
  explicit card_service(asio::any_io_executor executor) : executor_(std::move(executor)) {}

  bool broken = false;

  /// Completes with void(error_code) after some time.
  template <class Token>
  auto async_pay(Token&& token) {
    ++calls_;
    return asio::async_initiate<Token, void(error_code)>(
        [this](auto handler) {
          auto timer = std::make_unique<asio::steady_timer>(executor_, 20ms);
          auto& waiting = *timer;
          const error_code result = broken ? error_code{asio::error::connection_refused} : error_code{};
          waiting.async_wait([timer = std::move(timer), result, handler = std::move(handler)](error_code) mutable {
            std::move(handler)(result);
          });
        },
        token);
  }

  int calls() const { return calls_; }

private:
  asio::any_io_executor executor_;
  int calls_ = 0;
};

void print(const char* what, error_code error) {
  std::cout << what << ": " << (error ? error.message() : "paid") << std::endl;
}

// Prints what the circuit does, just after it did it: events come on a thread of their own.
class narrator : public switchyard::event_sink {
public:
  void on_event(const switchyard::event& e) noexcept override {
    if (const auto* change = std::get_if<switchyard::circuit_state_event>(&e)) {
      std::ostringstream line;
      line << "    [" << change->circuit << ": " << to_string(change->from) << " -> " << to_string(change->to) << ", "
           << change->reason << "]\n";
      std::cout << line.str() << std::flush;
    }
  }
};

asio::awaitable<error_code> pay(card_service& cards, switchyard::circuit_guard circuit) {
  auto [error] = co_await circuit.async_guard([&](auto token) { return cards.async_pay(std::move(token)); },
                                              asio::as_tuple(asio::use_awaitable));
  co_return error;
}

// Ten calls at once; how many of them reached the service.
asio::awaitable<int> ten_at_once(card_service& cards, switchyard::circuit_guard circuit) {
  const int before = cards.calls();
  int running = 10;
  asio::steady_timer all_done{co_await asio::this_coro::executor, asio::steady_timer::time_point::max()};
  for (int i = 0; i < 10; ++i)
    circuit.async_guard([&](auto token) { return cards.async_pay(std::move(token)); },
                        asio::bind_executor(co_await asio::this_coro::executor, [&](error_code) {
                          if (--running == 0)
                            all_done.cancel();
                        }));
  if (running > 0)
    co_await all_done.async_wait(asio::as_tuple(asio::use_awaitable));
  co_return cards.calls() - before;
}

asio::awaitable<bool> walk(switchyard::circuit_guard circuit) {
  const auto executor = co_await asio::this_coro::executor;
  card_service cards{executor};
  print("all is well", co_await pay(cards, circuit));

  cards.broken = true;
  for (int i = 0; i < 3; ++i)
    print("the service is down", co_await pay(cards, circuit));
  const auto refused = co_await pay(cards, circuit);
  print("one more call", refused);

  cards.broken = false;
  const auto wait = circuit.retry_after().value_or(0ms);
  std::cout << "waiting " << switchyard::ceil_ms(wait) << " ms for the cooldown" << std::endl;
  asio::steady_timer cooldown{executor, wait + 100ms};
  co_await cooldown.async_wait(asio::use_awaitable);

  const int probes = co_await ten_at_once(cards, circuit);
  std::cout << "ten calls at once: " << probes << " went through, as the probe" << std::endl;
  // The probe's success is counted a moment after it was reported; until then the half-open circuit refuses.
  for (asio::steady_timer moment{executor}; circuit.state() != switchyard::circuit_state::closed;) {
    moment.expires_after(5ms);
    co_await moment.async_wait(asio::use_awaitable);
  }
  const auto last = co_await pay(cards, circuit);
  print("back to normal", last);
  co_return refused == switchyard::errc::circuit_open&& probes == 1 && !last;
}

} // namespace

int main() {
  switchyard::config config;
  auto& profile = config.circuits["default"];
  profile.consecutive_failures = 3;
  profile.cooldown = 1s;

  switchyard::core_options options;
  options.in_memory = true; // no data directory: nothing here is to be kept
  auto started = switchyard::runtime::start(config, options);
  if (!started) {
    std::cerr << started.error().message << '\n';
    return 1;
  }
  auto runtime = *std::move(started);
  const auto watching = runtime.observe(std::make_shared<narrator>());

  asio::io_context io;
  bool seen = false;
  asio::co_spawn(io, walk(runtime.circuit("payments")),
                 [&](std::exception_ptr failed, bool all) { seen = !failed && all; });
  io.run();
  return seen ? 0 : 1;
}
