#include "support/actor_fixture.hpp"
#include "support/memory_stores.hpp"

#include "switchyard/actors/health.hpp"
#include "switchyard/actors/telemetry.hpp"

using namespace switchyard;
using namespace switchyard::test;
using texts = std::vector<std::string>;

namespace {

std::unique_ptr<const telemetry_record> record(std::size_t attempts = 0) {
  auto made = std::make_unique<telemetry_record>();
  made->request.request_id = "r";
  made->attempts.resize(attempts);
  for (auto& a : made->attempts) {
    a.provider = "p";
    a.time = wall_start;
    a.success = true;
  }
  return made;
}

class telemetry_fixture : public actor_fixture {
public:
  explicit telemetry_fixture(bool with_log = true) {
    health = own(spawn_health(system, {}, {}, shared));
    writer = own(spawn_telemetry_writer(system, queue, with_log ? log_ : nullptr,
                                        std::make_shared<actor_slot<health_actor>>(health), shared, false));
    run();
  }

  // As a request does.
  bool push(std::size_t attempts = 0) {
    const bool wake = queue->push(record(attempts));
    if (wake)
      caf::anon_send(writer, drain_telemetry{});
    return wake;
  }

  bool flush() { return ask<done>(writer, flush_telemetry{}).ok; }

  std::shared_ptr<telemetry_queue> queue = std::make_shared<telemetry_queue>();
  std::shared_ptr<memory_telemetry_log> log_ = std::make_shared<memory_telemetry_log>();
  health_actor health;
  telemetry_writer_actor writer;
};

class without_log : public telemetry_fixture {
public:
  without_log() : telemetry_fixture(false) {}
};

} // namespace

TEST_CASE_METHOD(telemetry_fixture, "the first record wakes the writer, the following ones do not") {
  CHECK(push());
  CHECK_FALSE(push());
  run();
  CHECK(log_->size() == 2);
  CHECK_FALSE(push()); // the writer looks by itself
  run();
  CHECK(log_->size() == 2);
  pass(20ms);
  CHECK(log_->size() == 3);
}

TEST_CASE_METHOD(telemetry_fixture, "a quiet writer stops looking and is woken again") {
  push();
  run();
  pass(20ms);
  CHECK_FALSE(timer_pending());
  CHECK(push());
  run();
  CHECK(log_->size() == 2);
}

TEST_CASE_METHOD(telemetry_fixture, "no record is left lying, whenever it comes [H4]") {
  std::size_t pushed = 0;
  for (int gap = 0; gap < 60; ++gap) {
    push();
    ++pushed;
    if (gap % 3 == 0)
      run();
    pass(std::chrono::milliseconds{gap});
    if (gap % 5 == 0)
      flush();
  }
  pass(20ms);
  CHECK(log_->size() == pushed);
}

TEST_CASE_METHOD(telemetry_fixture, "records are written in batches of a bounded size") {
  for (int i = 0; i < 1'100; ++i)
    push();
  run();
  CHECK(log_->batches() == std::vector<std::size_t>{512, 512, 76});
}

TEST_CASE_METHOD(telemetry_fixture, "a full queue drops records and counts their rows [H7]") {
  for (std::size_t i = 0; i < telemetry_queue::capacity; ++i)
    queue->push(record());
  push(2);
  push(1);
  CHECK(flush() == false);
  CHECK(log_->size() == telemetry_queue::capacity);
  CHECK(events.dropped_rows() == 5);
  REQUIRE(log.size() == 1);
  CHECK(log[0].second == "telemetry: 5 rows lost: the queue is full");
  CHECK(flush()); // nothing was lost since
}

TEST_CASE_METHOD(telemetry_fixture, "a failing log drops rows, counts each and logs once a minute [H7]") {
  log_->fail = true;
  push(1);
  CHECK_FALSE(flush());
  push(2);
  CHECK_FALSE(flush());
  CHECK(events.dropped_rows() == 5);
  CHECK(log.size() == 1);
  CHECK(log[0].second == "telemetry: 2 rows lost: the disk is full");
  pass(1min);
  push();
  flush();
  REQUIRE(log.size() == 2);
  CHECK(log[1].second == "telemetry: 4 rows lost: the disk is full"); // those in between too
  log_->fail = false;
  push();
  CHECK(flush());
  CHECK(log_->size() == 1);
}

TEST_CASE_METHOD(telemetry_fixture, "attempts go on to health in batches, even while the log fails [H5]") {
  log_->fail = true;
  push(3);
  push(0);
  run();
  const auto figures = ask<std::vector<provider_health>>(health, describe_health{});
  REQUIRE(figures.size() == 1);
  CHECK(figures[0].figures.samples == 3);
  CHECK(events.lines("health").size() == 1);
}

TEST_CASE_METHOD(without_log, "without a log nothing is lost, and health is fed all the same") {
  push(1);
  CHECK(flush());
  CHECK(ask<std::vector<provider_health>>(health, describe_health{}).size() == 1);
  CHECK(events.dropped_rows() == 0);
}

TEST_CASE("a queue that goes frees its records") {
  telemetry_queue queue;
  CHECK(queue.push(record(3)));
  CHECK_FALSE(queue.push(record(3)));
  CHECK(queue.take_dropped().rows == 0);
}

TEST_CASE_METHOD(telemetry_fixture, "the reader answers rows, or a problem") {
  const auto reader = own(spawn_telemetry_reader(system, log_, false));
  push();
  flush();
  CHECK(ask<telemetry_answer>(reader, query_telemetry{}).rows->size() == 1);
  log_->fail = true;
  const auto failed = ask<telemetry_answer>(reader, query_telemetry{});
  CHECK(failed.rows == nullptr);
  CHECK(failed.problem == "the disk is gone");
}

TEST_CASE_METHOD(actor_fixture, "a reader without a log has no rows") {
  const auto reader = own(spawn_telemetry_reader(system, nullptr, false));
  const auto answer = ask<telemetry_answer>(reader, query_telemetry{});
  REQUIRE(answer.rows);
  CHECK(answer.rows->empty());
  CHECK(answer.problem.empty());
}

namespace {

std::unique_ptr<const telemetry_record> served() {
  auto made = std::make_unique<telemetry_record>();
  made->request.time = wall_start;
  made->request.success = true;
  made->request.tenant = "acme";
  return made;
}

std::uint64_t requests_in(memory_telemetry_log& log) {
  std::uint64_t all = 0;
  const auto sums = log.usage({}, wall_time::max());
  for (const auto& [key, totals] : sums.value())
    all += totals.requests;
  return all;
}

} // namespace

TEST_CASE_METHOD(telemetry_fixture, "usage is written with its rows, once [U2]") {
  for (int i = 0; i < 1000; ++i)
    queue->push(served());
  CHECK(flush());
  CHECK(flush());
  CHECK(requests_in(*log_) == 1000);
}

TEST_CASE_METHOD(telemetry_fixture, "rows that could not be written are lost, their usage is not [U2, H7]") {
  log_->fail = true;
  for (int i = 0; i < 10; ++i)
    queue->push(served());
  CHECK_FALSE(flush());
  log_->fail = false;
  queue->push(served());
  CHECK(flush());
  CHECK(log_->size() == 1);
  CHECK(requests_in(*log_) == 11);
}

TEST_CASE_METHOD(telemetry_fixture, "rows that found the queue full are lost, their usage is not [U2, H7]") {
  const auto more = telemetry_queue::capacity + 100;
  for (std::size_t i = 0; i < more; ++i)
    queue->push(served());
  flush();
  queue->push(served());
  flush();
  CHECK(log_->size() <= telemetry_queue::capacity + 1);
  CHECK(requests_in(*log_) == more + 1);
}

TEST_CASE_METHOD(telemetry_fixture, "usage of lost rows was forgotten when the end came before the next row [U2, H7]") {
  log_->fail = true;
  queue->push(served());
  CHECK_FALSE(flush());
  log_->fail = false;
  CHECK(flush());
  CHECK(log_->size() == 0);
  CHECK(requests_in(*log_) == 1);
  CHECK(flush());
  CHECK(requests_in(*log_) == 1);
}

TEST_CASE_METHOD(telemetry_fixture, "usage of lost rows waited for the next row, however long that took [U2, H7]") {
  log_->fail = true;
  if (queue->push(served()))
    caf::anon_send(writer, drain_telemetry{});
  run();
  pass(20ms); // the writer has nothing more to do
  for (int i = 0; i < 100; ++i)
    pass(1s);
  CHECK(events.dropped_rows() == 1);
  CHECK(requests_in(*log_) == 0);
  push(); // still wakes it, and is lost, too
  run();
  CHECK(events.dropped_rows() == 2);
  log_->fail = false;
  pass(20ms);
  pass(1s);
  CHECK(requests_in(*log_) == 1);
  pass(1s);
  CHECK_FALSE(timer_pending());
}

TEST_CASE_METHOD(telemetry_fixture, "usage of lost rows was lost with the writer [U2]") {
  log_->fail = true;
  queue->push(served());
  CHECK_FALSE(flush());
  caf::anon_send_exit(writer, caf::exit_reason::kill);
  run();
  log_->fail = false;
  const auto successor = own(
      spawn_telemetry_writer(system, queue, log_, std::make_shared<actor_slot<health_actor>>(health), shared, false));
  caf::anon_send(successor, drain_telemetry{});
  run();
  CHECK(requests_in(*log_) == 1);
}

TEST_CASE("the reader answers with the usage, or says why not [U2]") {
  actor_fixture f;
  const auto log = std::make_shared<memory_telemetry_log>();
  usage_sums sums;
  sums.add({wall_start, "acme", "r", "p", "m"}, {1, 2, 3, 0, 0, 0.5});
  REQUIRE(log->append({}, sums).has_value());
  const auto reader = f.own(spawn_telemetry_reader(f.system, log, false));
  const auto found = f.ask<usage_answer>(reader, query_usage{wall_start, wall_start + 1h});
  REQUIRE(found.sums);
  CHECK(found.sums->begin()->second.cost == 0.5);
  CHECK(f.ask<usage_answer>(reader, query_usage{wall_start + 1h, wall_start + 2h}).sums->empty());
  const auto none = f.own(spawn_telemetry_reader(f.system, nullptr, false));
  CHECK(f.ask<usage_answer>(none, query_usage{}).sums->empty());
}
