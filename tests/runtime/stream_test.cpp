#include "fixture.hpp"

#include "support/chat_stream.hpp"

#include "switchyard/runtime/stream.hpp"

#include <boost/asio/bind_cancellation_slot.hpp>
#include <boost/asio/bind_executor.hpp>
#include <boost/asio/cancellation_signal.hpp>
#include <boost/asio/io_context.hpp>
#include <boost/asio/use_future.hpp>

#include <thread>

using namespace switchyard;
using namespace switchyard::test;
using namespace switchyard::test::chat_stream;
using http::test::scripted_server;
using namespace std::chrono_literals;
namespace asio = boost::asio;

namespace {

config route_to(const std::string& url) {
  auto c = one_route();
  c.providers["p"].base_url = url;
  return c;
}

core_options in_memory() {
  core_options o;
  o.in_memory = true;
  o.io_threads = 2;
  return o;
}

// A request is counted until after its handler was told.
bool comes_to_rest(const runtime& r) {
  const auto end = std::chrono::steady_clock::now() + patience;
  while (r.in_flight() != 0 && std::chrono::steady_clock::now() < end)
    std::this_thread::yield();
  return r.in_flight() == 0;
}

request stream_request() {
  auto r = chat_request();
  r.body = R"({"stream":true,"messages":[]})";
  return r;
}

// A thread for what the sink does, and what it did.
struct listening {
  asio::io_context io;
  asio::executor_work_guard<asio::io_context::executor_type> work{io.get_executor()};
  std::string got;
  std::string provider;
  std::thread thread{[this] { io.run(); }};

  ~listening() {
    work.reset();
    thread.join();
  }
  std::shared_ptr<stream_receiver> sink() {
    return make_sink(
        io.get_executor(), [this](const request_result& so_far) { provider = so_far.served.provider; },
        [this](std::string_view bytes) -> asio::awaitable<void> {
          got += bytes;
          co_return;
        });
  }
};

} // namespace

TEST_CASE("a stream flows to its sink, byte for byte, and the completion tells its end [S5]") {
  const auto events = text(role, hello, stop, done);
  scripted_server server(says(text(head, events)));
  auto runtime = start(route_to(server.url()), in_memory());
  listening to;
  const auto r = value_of(runtime.async_stream(stream_request(), to.sink(), asio::use_future));
  REQUIRE(r);
  CHECK(r->streamed);
  CHECK(r->body.empty());
  CHECK(to.got == events);
  CHECK(to.provider == "p");
  CHECK(comes_to_rest(runtime));
}

TEST_CASE("a keyed stream flows in the same way, through a request actor [I9]") {
  const auto events = text(role, hello, stop, done);
  scripted_server server(says(text(head, events)));
  auto runtime = start(route_to(server.url()), in_memory());
  for (int i = 0; i < 2; ++i) { // it was not stored, and its key is free
    listening to;
    auto r = stream_request();
    r.idempotency_key = "k";
    const auto result = value_of(runtime.async_stream(std::move(r), to.sink(), asio::use_future));
    REQUIRE(result);
    CHECK(to.got == events);
  }
  CHECK(server.connections() == 2);
}

TEST_CASE("a stream that breaks off is an error after what was good [S2]") {
  scripted_server server(says(text(head, role, hello)));
  auto runtime = start(route_to(server.url()), in_memory());
  listening to;
  const auto r = value_of(runtime.async_stream(stream_request(), to.sink(), asio::use_future));
  REQUIRE_FALSE(r);
  CHECK(r.error().code == errc::upstream_cut);
  CHECK(r.error().what == failure_class::connection);
  CHECK(r.error().streamed);
  CHECK(to.got == text(role, hello));
}

TEST_CASE("an error before the stream is the result, and the sink hears nothing [S1]") {
  scripted_server server(says(http::test::answer_with("{}", "Content-Type: application/json\r\n", "401 Unauthorized")));
  auto runtime = start(route_to(server.url()), in_memory());
  listening to;
  const auto r = value_of(runtime.async_stream(stream_request(), to.sink(), asio::use_future));
  REQUIRE_FALSE(r);
  CHECK(r.error().provider_answer->status == 401);
  CHECK_FALSE(r.error().streamed);
  CHECK(to.got.empty());
  CHECK(to.provider.empty());
}

TEST_CASE("cancelling a stream ends it at the provider [S4]") {
  watching_provider server(text(head, role, hello));
  auto runtime = start(route_to(server.url()), in_memory());
  asio::io_context io;
  asio::cancellation_signal signal;
  const auto sink = make_sink(io.get_executor(), {}, [&](std::string_view) -> asio::awaitable<void> {
    signal.emit(asio::cancellation_type::terminal);
    co_return;
  });
  std::optional<submit_result> result;
  asio::post(io, [&] {
    runtime.async_stream(stream_request(), sink,
                         asio::bind_cancellation_slot(
                             signal.slot(), asio::bind_executor(io, [&](submit_result r) { result = std::move(r); })));
  });
  io.run();
  REQUIRE(result);
  CHECK(result->error().code == errc::cancelled);
  CHECK(server.client_has_left());
  CHECK(comes_to_rest(runtime));
}

TEST_CASE("a request that ends while its sink takes a piece completes when that is done") {
  watching_provider server(text(head, role, hello));
  auto runtime = start(route_to(server.url()), in_memory());
  // A sink that the test lets go on.
  struct held : stream_receiver {
    void on_begin(std::shared_ptr<const request_result>) override {}
    void on_bytes(std::string_view, std::function<void(bool)> t) override { taken.set_value(std::move(t)); }
    std::promise<std::function<void(bool)>> taken;
  };
  const auto sink = std::make_shared<held>();
  asio::cancellation_signal signal;
  std::promise<submit_result> result;
  auto completed = result.get_future();
  runtime.async_stream(stream_request(), sink, asio::bind_cancellation_slot(signal.slot(), [&](submit_result r) {
                         result.set_value(std::move(r));
                       }));
  auto taken = value_of(sink->taken.get_future());
  signal.emit(asio::cancellation_type::terminal);
  CHECK(server.client_has_left()); // it has ended at the provider
  CHECK(completed.wait_for(0s) == std::future_status::timeout);
  SECTION("the piece is taken") {
    taken(true);
  }
  SECTION("the sink drops what it was given") {
    taken = nullptr;
  }
  CHECK(value_of(std::move(completed)).error().code == errc::cancelled);
}

TEST_CASE("a receiver that ends its stream from within, at whatever point, ends its request [S4]") {
  struct rude : stream_receiver {
    explicit rude(int w) : when(w) {}
    void on_begin(std::shared_ptr<const request_result>) override {
      if (when == 0)
        throw std::runtime_error("not now");
    }
    void on_bytes(std::string_view, std::function<void(bool)> taken) override {
      if (when == 1)
        throw std::runtime_error("no room");
      taken(false);
    }
    int when;
  };
  const int when = GENERATE(0, 1, 2);
  watching_provider server(text(head, role, hello));
  auto o = in_memory();
  o.io_threads = 1;
  auto runtime = start(route_to(server.url()), std::move(o));
  auto r = stream_request();
  if (GENERATE(true, false))
    r.idempotency_key = "k"; // through a request actor
  const auto result = value_of(runtime.async_stream(std::move(r), std::make_shared<rude>(when), asio::use_future));
  REQUIRE_FALSE(result);
  CHECK(result.error().code == errc::cancelled);
  CHECK(server.client_has_left());
  CHECK(comes_to_rest(runtime));
}

TEST_CASE("what a sink throws ends its request, as if the caller had left [S4]") {
  watching_provider server(text(head, role, hello));
  auto runtime = start(route_to(server.url()), in_memory());
  listening to;
  const auto sink = make_sink(to.io.get_executor(), {}, [](std::string_view) -> asio::awaitable<void> {
    throw std::runtime_error("no room");
    co_return;
  });
  const auto r = value_of(runtime.async_stream(stream_request(), sink, asio::use_future));
  REQUIRE_FALSE(r);
  CHECK(r.error().code == errc::cancelled);
  CHECK(server.client_has_left());
}

TEST_CASE("a body that does not ask for a stream is told apart") {
  auto runtime = start(one_route(), in_memory());
  listening to;
  const auto r = value_of(runtime.async_stream(chat_request(), to.sink(), asio::use_future));
  REQUIRE_FALSE(r);
  CHECK(r.error().code == errc::invalid_request);
  CHECK(r.error().message.find("\"stream\": true") != std::string::npos);
}
