#include "background_queue.hpp"
#include "kept_event.hpp"

#include "support/catch.hpp"

#include <future>
#include <memory>
#include <mutex>
#include <string>
#include <thread>
#include <variant>
#include <vector>

using namespace switchyard;
using switchyard::detail::background_queue;
using switchyard::detail::kept_event;
using switchyard::detail::push_result;

namespace {

using queue = background_queue<int>;

constexpr std::chrono::seconds patience{60};

std::chrono::steady_clock::time_point in_time() {
  return std::chrono::steady_clock::now() + patience;
}

// A consumer that is stuck in its first call until it is let go. Shared: a thread may outlive its queue.
class stuck_consumer {
public:
  static auto of(const std::shared_ptr<stuck_consumer>& s) {
    return [s](int item, std::uint64_t dropped) { s->take(item, dropped); };
  }
  void wait_until_stuck() { entered_.get_future().wait(); }
  void let_go() { go_on_.set_value(); }
  std::vector<int> seen() const {
    std::lock_guard lock{mutex_};
    return seen_;
  }
  std::vector<std::uint64_t> dropped() const {
    std::lock_guard lock{mutex_};
    return dropped_;
  }

private:
  void take(int item, std::uint64_t dropped) {
    {
      std::lock_guard lock{mutex_};
      seen_.push_back(item);
      dropped_.push_back(dropped);
      if (seen_.size() == 1)
        entered_.set_value();
    }
    released_.wait();
  }

  std::promise<void> entered_, go_on_;
  std::shared_future<void> released_{go_on_.get_future()};
  mutable std::mutex mutex_;
  std::vector<int> seen_;
  std::vector<std::uint64_t> dropped_;
};

} // namespace

TEST_CASE("a full queue drops the newest, counts them and says so once [C15]") {
  const auto consumer = std::make_shared<stuck_consumer>();
  queue q{nullptr, 3, stuck_consumer::of(consumer)};
  CHECK(q.push(0) == push_result::queued);
  consumer->wait_until_stuck(); // 0 waits no more
  for (int i = 1; i <= 3; ++i)
    CHECK(q.push(i) == push_result::queued);
  CHECK(q.push(4) == push_result::first_dropped);
  CHECK(q.push(5) == push_result::dropped);
  CHECK(q.dropped() == 2);
  consumer->let_go();
  q.close(queue::ending::deliver, in_time());
  CHECK(consumer->seen() == std::vector{0, 1, 2, 3});
  CHECK(consumer->dropped() == std::vector<std::uint64_t>{0, 2, 0, 0});
  CHECK(q.push(6) == push_result::closed);
}

TEST_CASE("a queue that closes discards what waits, or delivers it") {
  for (const auto how : {queue::ending::discard, queue::ending::deliver}) {
    const auto consumer = std::make_shared<stuck_consumer>();
    queue q{nullptr, 10, stuck_consumer::of(consumer)};
    q.push(0);
    q.push(1);
    consumer->wait_until_stuck();
    auto closing = std::async(std::launch::async, [&] { q.close(how, in_time()); });
    while (q.push(2) != push_result::closed)
      std::this_thread::yield();
    const auto while_open = consumer->seen().size();
    consumer->let_go();
    closing.get();
    CHECK(while_open == 1);
    CHECK((how == queue::ending::discard ? consumer->seen().size() == 1 : consumer->seen().size() >= 2));
  }
}

TEST_CASE("a stuck consumer is left alone, and is never called again [C15]") {
  const auto consumer = std::make_shared<stuck_consumer>();
  {
    queue q{nullptr, 10, stuck_consumer::of(consumer)};
    q.push(0);
    q.push(1);
    consumer->wait_until_stuck();
    q.close(queue::ending::deliver, std::chrono::steady_clock::now() + std::chrono::milliseconds{10});
  }
  CHECK(consumer.use_count() == 2); // the thread's is the other
  consumer->let_go();
  while (consumer.use_count() != 1)
    std::this_thread::yield();
  CHECK(consumer->seen() == std::vector{0});
}

TEST_CASE("a queue may be closed and destroyed by its own consumer") {
  auto holder = std::make_shared<std::unique_ptr<queue>>();
  std::promise<void> done;
  *holder = std::make_unique<queue>(nullptr, 10, [&, holder](int&, std::uint64_t) {
    (*holder)->close(queue::ending::deliver, in_time());
    holder->reset();
    done.set_value();
  });
  (*holder)->push(1);
  CHECK(done.get_future().wait_for(patience) == std::future_status::ready);
}

TEST_CASE("a consumer that throws goes on with the next item [C15]") {
  std::vector<int> seen;
  queue q{nullptr, 10, [&](int& item, std::uint64_t) {
            seen.push_back(item);
            throw std::runtime_error("no");
          }};
  q.push(1);
  q.push(2);
  q.close(queue::ending::deliver, in_time());
  CHECK(seen == std::vector{1, 2});
}

// ---- kept events -----------------------------------------------------------------------------------------------

namespace {

// An event whose texts and rows have gone when this returns.
std::unique_ptr<kept_event> keep_attempt() {
  attempt_row row;
  row.provider = "a provider whose name is too long for the string itself";
  row.status = 503;
  const std::string id(100, 'r');
  return std::make_unique<kept_event>(attempt_event{id, row, true});
}

std::unique_ptr<kept_event> keep_request() {
  telemetry_record record;
  record.request.request_id = std::string(100, 'q');
  record.attempts.resize(2);
  record.attempts[1].model = std::string(100, 'm');
  return std::make_unique<kept_event>(request_event{record});
}

std::unique_ptr<kept_event> keep_change() {
  const std::string circuit(50, 'c'), provider = "p", model, region(30, 'r'), reason = "failure_rate";
  return std::make_unique<kept_event>(circuit_state_event{circuit,
                                                          provider,
                                                          model,
                                                          region,
                                                          circuit_state::closed,
                                                          circuit_state::open,
                                                          circuit_mode::automatic,
                                                          reason,
                                                          {},
                                                          3s});
}

} // namespace

TEST_CASE("a kept event owns what the event only showed") {
  const auto attempt = keep_attempt();
  const auto& a = std::get<attempt_event>(attempt->view());
  CHECK(a.request_id == std::string(100, 'r'));
  CHECK(a.row.provider == "a provider whose name is too long for the string itself");
  CHECK(a.row.status == 503);
  CHECK(a.retry);

  const auto request = keep_request();
  const auto& r = std::get<request_event>(request->view());
  CHECK(r.record.request.request_id == std::string(100, 'q'));
  REQUIRE(r.record.attempts.size() == 2);
  CHECK(r.record.attempts[1].model == std::string(100, 'm'));

  const auto change = keep_change();
  const auto& c = std::get<circuit_state_event>(change->view());
  CHECK(c.circuit == std::string(50, 'c'));
  CHECK(c.provider == "p");
  CHECK(c.model.empty());
  CHECK(c.region == std::string(30, 'r'));
  CHECK(c.reason == "failure_rate");
  CHECK(c.to == circuit_state::open);
  CHECK(c.retry_after == 3s);
}

TEST_CASE("every kind of event can be kept") {
  const attempt_row row;
  const telemetry_record record;
  const std::vector<event> all{circuit_state_event{},
                               circuit_mode_event{},
                               circuit_rates_event{},
                               circuit_refused_event{},
                               breaker_restarted_event{},
                               attempt_event{"id", row, false},
                               fallback_event{},
                               call_event{},
                               idempotency_event{},
                               request_event{record},
                               telemetry_dropped_event{},
                               reload_event{},
                               health_event{},
                               budget_event{}};
  REQUIRE(all.size() == std::variant_size_v<event>);
  for (const auto& e : all)
    CHECK(kept_event{e}.view().index() == e.index());
}
