#include "fixture.hpp"

#include "switchyard/actors/messages.hpp"

#include <boost/asio/use_future.hpp>

using namespace switchyard;
using namespace switchyard::test;
namespace asio = boost::asio;

namespace {

/// Answers with a success or a failure in turn, on a thread of its own.
class wavering_provider : public provider {
public:
  ~wavering_provider() override { pool_.join(); }

  std::shared_ptr<attempt_handle> start(provider_request, std::shared_ptr<attempt_listener> listener) override {
    struct handle final : attempt_handle {
      void cancel() noexcept override {}
      bool responded() const noexcept override { return true; }
    };
    const int statuses[] = {200, 500, 200, 429, 200, 400};
    const auto status = statuses[calls_++ % std::size(statuses)];
    asio::post(pool_, [status, listener] {
      auto result = answer_of(status);
      if (status == 429)
        result.failure = failure_class::rate_limit;
      listener->on_attempt_done(std::move(result));
    });
    return std::make_shared<handle>();
  }

private:
  std::atomic<std::size_t> calls_{0};
  asio::thread_pool pool_{1};
};

std::vector<provider_health> health_of(runtime& r) {
  std::promise<std::vector<provider_health>> found;
  r.engine().describe_health([&](const admin_result<std::vector<provider_health>>& h) { found.set_value(h.value()); });
  return value_of(found.get_future());
}

} // namespace

TEST_CASE("after a restart health is what it was before: the log holds all of it [H5]") {
  temp_dir dir;
  auto c = one_route();
  c.circuits["default"].consecutive_failures = 1000;
  c.providers["p"].circuit.reset();
  c.telemetry.path = dir.path().string();
  const auto open = [&] {
    auto options = with_provider(std::make_shared<wavering_provider>());
    options.in_memory = false;
    return start(c, std::move(options));
  };
  std::vector<provider_health> before;
  {
    auto runtime = open();
    for (int i = 0; i < 120; ++i)
      static_cast<void>(value_of(runtime.async_submit(chat_request(), asio::use_future)));
    // A query has the writer write what waits, and the writer tells health.
    std::promise<telemetry_answer> flushed;
    runtime.engine().query_telemetry({}, [&](telemetry_answer a) { flushed.set_value(std::move(a)); });
    REQUIRE(value_of(flushed.get_future()).rows);
    for (const auto end = std::chrono::steady_clock::now() + patience;
         (before = health_of(runtime)).empty() || before[0].figures.samples < 100;)
      REQUIRE(std::chrono::steady_clock::now() < end);
  }
  auto runtime = open();
  const auto after = health_of(runtime);
  REQUIRE(before.size() == 1);
  REQUIRE(after.size() == 1);
  CHECK(after[0].provider == before[0].provider);
  const auto &a = after[0].figures, &b = before[0].figures;
  CHECK(b.samples == 100); // 400 says nothing of the provider
  CHECK(a.samples == b.samples);
  CHECK(a.score == b.score);
  CHECK(a.success_rate == b.success_rate);
  CHECK(a.mean_latency == b.mean_latency);
  CHECK(a.p50 == b.p50);
  CHECK(a.p99 == b.p99);
}
