#include "driven_circuit.hpp"

#include "switchyard/engine/circuit_cell.hpp"

#include "support/catch.hpp"

using namespace switchyard;
using namespace switchyard::test;

namespace {

using kind = fast_admission::kind;

/// A cell and its circuit, with the breaker's part done when the test says so.
struct celled_circuit {
  explicit celled_circuit(const circuit_settings& s, std::uint32_t capacity = 64)
      : cell({"p", "", ""}, s.window.has_value(), capacity), it(s) {
    cell.publish(it, now);
  }

  report_receipt report(outcome what, std::uint32_t amends = 0) { return report_of(it.generation(), what, amends); }

  report_receipt report_of(std::uint32_t generation, outcome what, std::uint32_t amends = 0, std::uint32_t probe = 0) {
    outcome_report r;
    r.generation = generation;
    r.what = what;
    r.amends = amends;
    r.probe = probe;
    r.at = now;
    // Every other plain success goes the short way: both must come to the same.
    const bool plain = what == outcome::success && amends == 0 && probe == 0;
    return plain && (short_way = !short_way) ? cell.report_success(generation) : cell.report(r);
  }

  void drain() {
    it.advance(now);
    do {
      cell.begin_drain();
      while (auto r = cell.pop(now))
        it.report(*r, now);
      cell.publish(it, now);
    } while (cell.unfinished());
  }

  admission_verdict ask() {
    drain();
    const auto verdict = it.ask(now);
    cell.publish(it, now);
    return verdict;
  }

  /// A report that came by message.
  void receive(const outcome_report& r) {
    drain();
    it.report(r, now);
    cell.overflow_counted(r.ticket);
    cell.publish(it, now);
  }

  void trip() {
    while (it.state() == circuit_state::closed) {
      report(outcome::failure);
      drain();
    }
  }

  void pass(duration d) {
    now += d;
    drain();
  }

  kind admits() const { return cell.try_admit(now).what; }

  circuit_cell cell;
  circuit it;
  time_point now = start;
  bool short_way = false;
};

circuit_settings window_of(std::uint32_t size, std::optional<double> failure_rate = {}) {
  window_settings w;
  w.size = size;
  w.failure_rate = failure_rate;
  return window_profile(w);
}

} // namespace

TEST_CASE("a circuit's id joins its parts, percent-encoded [C12]") {
  CHECK(circuit_id{"openai", "", ""}.str() == "openai");
  CHECK(circuit_id{"openai", "gpt-4o", ""}.str() == "openai/gpt-4o");
  CHECK(circuit_id{"azure", "gpt-4o", "eu"}.str() == "azure/gpt-4o/eu");
  CHECK(circuit_id{"a/b", "meta/llama 100%", "x%2Fy"}.str() == "a%2Fb/meta%2Fllama 100%25/x%252Fy");
  CHECK(circuit_id{"p", "", "eu"}.str() == "p//eu"); // another circuit than p/eu
  CHECK(circuit_cell({"p", "m", ""}, false).id() == "p/m");
}

TEST_CASE("a cell nobody has published to shows a new closed circuit [C14]") {
  const circuit_cell cell({"p", "", ""}, false);
  CHECK(cell.state() == circuit_state::closed);
  CHECK(cell.mode() == circuit_mode::automatic);
  const auto answer = cell.try_admit(start);
  CHECK(answer.what == kind::admitted);
  CHECK(answer.generation == circuit(streak_profile(1)).generation());
}

TEST_CASE("callers are admitted while what is pending cannot have tripped, then they ask [C4]") {
  celled_circuit c(streak_profile(5));
  for (int i = 0; i < 4; ++i) {
    c.report(outcome::failure);
    REQUIRE(c.admits() == kind::admitted);
  }
  c.report(outcome::failure);
  CHECK(c.admits() == kind::ask);
  CHECK(c.cell.state() == circuit_state::closed); // nobody has counted yet
  CHECK(c.ask().what == admission_verdict::kind::refused);
  CHECK(c.admits() == kind::refused);
  CHECK(c.cell.state() == circuit_state::open);
}

TEST_CASE("what is counted shortens the distance of what follows [C4]") {
  celled_circuit c(streak_profile(5));
  c.report(outcome::failure);
  c.report(outcome::failure);
  c.report(outcome::failure);
  c.drain();
  CHECK(c.admits() == kind::admitted);
  c.report(outcome::failure);
  CHECK(c.admits() == kind::admitted);
  c.report(outcome::failure);
  CHECK(c.admits() == kind::ask);
}

TEST_CASE("pending outcomes are not reckoned with beyond the time for which the distance holds [C2][C4]") {
  window_settings w;
  w.type = window_settings::kind::time;
  w.span = 32s;
  w.failure_rate = 0.5;
  celled_circuit c(window_profile(w));
  c.report(outcome::success);
  c.drain();
  CHECK(c.cell.try_admit(start + 1h).what == kind::admitted); // nothing pending: nothing can have tripped
  c.report(outcome::success);
  CHECK(c.cell.try_admit(start + 32s - 1ns).what == kind::admitted);
  CHECK(c.cell.try_admit(start + 32s).what == kind::ask);
  c.pass(32s);
  CHECK(c.admits() == kind::admitted);
}

TEST_CASE("an open circuit's refusal has the wait, and needs no message [C6][C11]") {
  celled_circuit c(streak_profile(1));
  c.trip();
  CHECK(c.cell.try_admit(start).wait == 30s);
  CHECK(c.cell.try_admit(start + 29s).wait == 1s);
  CHECK(c.cell.try_admit(start + 29s).what == kind::refused);
  CHECK(c.cell.try_admit(start + 30s).what == kind::ask); // the timer may be late, the probe is due
}

TEST_CASE("a half-open circuit's callers ask while a slot is free [C7]") {
  auto s = streak_profile(1);
  s.probes = 2;
  celled_circuit c(s);
  c.trip();
  c.pass(30s);
  CHECK(c.admits() == kind::ask);
  CHECK(c.ask().what == admission_verdict::kind::probe);
  CHECK(c.admits() == kind::ask);
  const auto second = c.ask();
  CHECK(c.admits() == kind::refused);
  CHECK_FALSE(c.cell.try_admit(c.now).wait.has_value()); // unknown [C6]
  CHECK(c.report_of(second.generation, outcome::neutral, 0, second.probe).wake);
  CHECK(c.admits() == kind::ask); // not counted yet
  c.drain();
  CHECK(c.admits() == kind::ask);
}

TEST_CASE("while a canary runs the cell refuses without a wait [C6][C13]") {
  auto s = streak_profile(1);
  s.canary = canary_settings{};
  celled_circuit c(s);
  c.trip();
  CHECK(c.cell.try_admit(c.now).wait == 30s);
  c.pass(30s);
  CHECK(c.admits() == kind::refused);
  CHECK_FALSE(c.cell.try_admit(c.now).wait.has_value());
  c.it.canary_result(c.it.generation(), false, c.now);
  c.drain();
  CHECK(c.cell.try_admit(c.now).wait == 30s);
}

TEST_CASE("forced_open refuses and disabled admits in every state [C6]") {
  const auto state = GENERATE(circuit_state::closed, circuit_state::open, circuit_state::half_open);
  celled_circuit c(streak_profile(1));
  if (state != circuit_state::closed)
    c.trip();
  if (state == circuit_state::half_open)
    c.pass(30s);
  c.it.set_mode(circuit_mode::forced_open);
  c.drain();
  CHECK(c.admits() == kind::refused);
  CHECK_FALSE(c.cell.try_admit(c.now).wait.has_value());
  CHECK_FALSE(c.cell.still_admits(c.it.generation()));
  c.it.set_mode(circuit_mode::disabled);
  c.drain();
  CHECK(c.admits() == kind::admitted);
  CHECK(c.cell.still_admits(c.it.generation() - 1));
  CHECK(c.cell.mode() == circuit_mode::disabled);
  CHECK(c.cell.state() == state);
}

TEST_CASE("a call may be retried until its circuit has changed [R3]") {
  celled_circuit c(streak_profile(1));
  const auto mine = c.cell.try_admit(c.now).generation;
  CHECK(c.cell.still_admits(mine));
  c.trip();
  CHECK_FALSE(c.cell.still_admits(mine));
}

TEST_CASE("what changes nothing takes no ticket [C3][C9]") {
  celled_circuit c(streak_profile(2));
  const auto first = c.it.generation();
  const auto nothing_taken = [&](const report_receipt& r) { return !r.wake && r.queued && !c.cell.unfinished(); };
  CHECK(nothing_taken(c.report(outcome::success)));
  CHECK(nothing_taken(c.report(outcome::neutral)));
  CHECK(nothing_taken(c.report(outcome::cancelled)));
  c.trip();
  for (const auto what : all_outcomes) {
    CHECK(nothing_taken(c.report_of(first, what)));             // stale
    CHECK(nothing_taken(c.report_of(c.it.generation(), what))); // of a disabled circuit
  }
}

TEST_CASE("a success is sent where it may end a streak or fill a window [C1]") {
  SECTION("after a failure that nobody has counted") {
    celled_circuit c(streak_profile(2));
    c.report(outcome::failure);
    c.report(outcome::success);
    c.report(outcome::failure);
    c.drain();
    CHECK(c.it.state() == circuit_state::closed);
    CHECK(c.it.snapshot(c.now).consecutive_failures == 1);
  }
  SECTION("after a counted failure") {
    celled_circuit c(streak_profile(2));
    c.report(outcome::failure);
    c.drain();
    c.report(outcome::success);
    c.drain();
    CHECK(c.it.snapshot(c.now).consecutive_failures == 0);
  }
  SECTION("into a window") {
    celled_circuit c(window_of(10));
    c.report(outcome::success);
    c.drain();
    CHECK(c.it.snapshot(c.now).window_calls == 1u);
  }
}

TEST_CASE("the first pending report wakes the breaker, further successes do not [C4]") {
  celled_circuit c(window_of(100));
  CHECK(c.report(outcome::success).wake);
  CHECK_FALSE(c.report(outcome::success).wake);
  c.drain();
  CHECK(c.report(outcome::success).wake);
}

TEST_CASE("one wake-up is on its way at a time, and every report after a drain's begin may send the next [C4]") {
  celled_circuit c(window_of(100));
  CHECK(c.report(outcome::failure).wake);
  CHECK_FALSE(c.report(outcome::failure).wake);
  c.cell.begin_drain();
  CHECK(c.report(outcome::failure).wake);
  c.drain();
  CHECK(c.it.snapshot(c.now).window_calls == 3u);
}

TEST_CASE("while lazy, successes wake the breaker only where they could trip the circuit [C4]") {
  SECTION("no number of them could") {
    celled_circuit c(window_of(100, 0.5), 16);
    c.cell.set_lazy(true);
    for (int i = 0; i < 1'000; ++i)
      REQUIRE_FALSE(c.report(outcome::success).wake);
    CHECK(c.admits() == kind::admitted);
    CHECK_FALSE(c.cell.unfinished()); // the timer will count them
    c.drain();
    CHECK(c.it.snapshot(c.now).window_calls == 100u);
  }
  SECTION("one of them completes the minimum of calls [C1]") {
    celled_circuit c(window_of(100, 0.5)); // 10 calls at the least
    for (int i = 0; i < 5; ++i)
      c.report(outcome::failure);
    c.drain();
    c.cell.set_lazy(true);
    for (int i = 1; i < 5; ++i)
      REQUIRE_FALSE(c.report(outcome::success).wake);
    CHECK(c.admits() == kind::admitted);
    CHECK(c.report(outcome::success).wake);
    CHECK(c.admits() == kind::ask);
    CHECK(c.cell.unfinished());
    CHECK(c.ask().what == admission_verdict::kind::refused);
  }
  SECTION("anything but a success wakes at once") {
    celled_circuit c(window_of(100));
    c.cell.set_lazy(true);
    CHECK_FALSE(c.report(outcome::success).wake);
    CHECK(c.report(GENERATE(outcome::failure, outcome::slow_success, outcome::hanging)).wake);
  }
}

TEST_CASE("a report comes out as it went in [C4]") {
  celled_circuit c(streak_profile(100));
  outcome_report r;
  r.generation = c.it.generation();
  r.what = outcome::failure;
  r.at = start + 123ns;
  SECTION("of a probe, with a hint") {
    r.probe = 0xFFFF'FFFF;
    r.retry_after = 7s;
  }
  SECTION("an amendment, without") {
    r.amends = 0x8000'0000;
  }
  SECTION("with a hint of zero") {
    r.retry_after = 0s;
  }
  const auto receipt = c.cell.report(r);
  c.cell.begin_drain();
  const auto out = c.cell.pop(c.now);
  REQUIRE(out.has_value());
  CHECK(out->generation == r.generation);
  CHECK(out->what == r.what);
  CHECK(out->probe == r.probe);
  CHECK(out->amends == r.amends);
  CHECK(out->at == r.at);
  CHECK(out->retry_after == r.retry_after);
  CHECK(out->ticket == receipt.ticket);
  CHECK_FALSE(c.cell.pop(c.now).has_value());
}

TEST_CASE("the queue is reused lap after lap, in order [C4]") {
  celled_circuit c(window_of(100'000), 4);
  std::uint32_t expected = 0;
  for (int lap = 0; lap < 10'000; ++lap) {
    for (int i = 0; i < 1 + lap % 4; ++i)
      REQUIRE(c.report(outcome::slow_success).queued);
    c.cell.begin_drain();
    while (const auto r = c.cell.pop(c.now)) {
      REQUIRE(r->ticket == expected++);
      c.it.report(*r, c.now);
    }
    c.cell.publish(c.it, c.now);
    REQUIRE_FALSE(c.cell.unfinished());
  }
  CHECK(c.it.snapshot(c.now).window_calls == expected);
}

TEST_CASE("plain successes leave only their ticket, and come out as runs in their place [C2][C4]") {
  celled_circuit c(window_of(100'000), 4);
  std::string handed_in, counted;
  for (int lap = 0; lap < 2'000; ++lap) {
    for (int i = 0; i < lap % 7; ++i) {
      c.report(outcome::success);
      handed_in += 'S';
    }
    for (int i = 0; i < lap % 3; ++i) {
      c.report(outcome::slow_success);
      handed_in += 's';
    }
    if (lap % 2 == 0)
      continue;
    c.cell.begin_drain();
    while (const auto r = c.cell.pop(c.now)) {
      counted.append(r->repeat, r->what == outcome::success ? 'S' : 's');
      REQUIRE(r->generation == c.it.generation());
      c.it.report(*r, c.now);
    }
    c.cell.publish(c.it, c.now);
    REQUIRE_FALSE(c.cell.unfinished());
  }
  CHECK(counted == handed_in);
  CHECK(c.it.snapshot(c.now).window_calls == handed_in.size());
}

TEST_CASE("a success of an earlier generation is not counted in the next, handed in before or after the change [C9]") {
  celled_circuit c(window_of(100));
  const auto old = c.it.generation();
  c.report_of(old, outcome::success);
  c.drain();
  c.report_of(old, outcome::success); // pending when the generation changes
  c.it.reset(c.now);
  c.cell.publish(c.it, c.now);
  c.report_of(old, outcome::success);
  c.report(outcome::success);
  c.drain();
  CHECK(c.it.snapshot(c.now).window_calls == 1u);
}

TEST_CASE("a drain ends with what was handed in before it began, however many go on [C4]") {
  celled_circuit c(window_of(100));
  c.report(outcome::success);
  c.cell.begin_drain();
  c.report(outcome::success);
  c.report(outcome::failure);
  const auto run = c.cell.pop(c.now);
  REQUIRE(run.has_value());
  CHECK(run->repeat == 1);
  CHECK_FALSE(c.cell.pop(c.now).has_value());
  CHECK(c.cell.unfinished());
}

TEST_CASE("a hanging call's entry is amended through the cell [C17]") {
  celled_circuit c(window_of(100));
  const auto hanging = c.report(outcome::hanging);
  c.report(outcome::success);
  c.report(outcome::failure, hanging.ticket + 1);
  c.drain();
  const auto shown = c.it.snapshot(c.now);
  CHECK(shown.window_calls == 2u);
  CHECK(shown.failure_rate == 0.5);
  CHECK(shown.slow_call_rate == 0.0);
}

TEST_CASE("a neutral end of a hanging call reaches the circuit, which forgets it [C17]") {
  celled_circuit c(window_of(100));
  const auto hanging = c.report(outcome::hanging);
  c.drain();
  c.report(outcome::cancelled, hanging.ticket + 1);
  CHECK(c.cell.unfinished());
}

TEST_CASE("a full queue sends reports by message, in order with what follows, and callers ask [C4]") {
  celled_circuit c(streak_profile(3), 2);
  outcome_report by_message;
  by_message.generation = c.it.generation();
  by_message.what = outcome::failure;
  by_message.at = c.now;
  CHECK(c.report(outcome::failure).queued);
  CHECK(c.admits() == kind::admitted);
  CHECK(c.report(outcome::failure).queued);
  CHECK_FALSE(c.cell.report(by_message).queued);
  CHECK(c.admits() == kind::ask);
  c.drain(); // a wake-up that was sent earlier
  CHECK(c.it.snapshot(c.now).consecutive_failures == 2);
  // The queue has room again, but this success came after the third failure and must not overtake it.
  CHECK_FALSE(c.report(outcome::success).queued);
  CHECK(c.admits() == kind::ask);
  c.receive(by_message);
  CHECK(c.it.state() == circuit_state::open);
  CHECK(c.admits() == kind::refused);
}

TEST_CASE("a queue of the largest capacity never looked full, and overwrote what was not counted [C4]") {
  celled_circuit c(window_of(100'000), circuit_cell::max_capacity);
  for (std::uint32_t i = 0; i < circuit_cell::max_capacity; ++i)
    REQUIRE(c.report(outcome::slow_success).queued);
  CHECK_FALSE(c.report(outcome::slow_success).queued);
  CHECK(c.admits() == kind::ask);
}

TEST_CASE(
    "what does not fit in a disabled circuit's queue is dropped: nobody asks there, so messages would pile up [U4]") {
  celled_circuit c(streak_profile(100), 2);
  c.it.set_mode(circuit_mode::disabled);
  c.drain();
  for (int i = 0; i < 10; ++i)
    CHECK(c.report(outcome::failure).queued);
  c.drain();
  CHECK(c.it.snapshot(c.now).consecutive_failures == 2);
  CHECK_FALSE(c.cell.unfinished());
}

TEST_CASE("once all that came by message is counted the queue is used again [C4]") {
  celled_circuit c(window_of(100), 2);
  outcome_report r;
  r.generation = c.it.generation();
  r.what = outcome::slow_success;
  r.at = c.now;
  for (const bool queued : {true, true, false, false})
    REQUIRE(c.cell.report(r).queued == queued);
  c.receive(r);
  CHECK(c.admits() == kind::ask);
  c.receive(r);
  CHECK(c.admits() == kind::admitted);
  CHECK(c.cell.report(r).queued);
  c.drain();
  CHECK(c.it.snapshot(c.now).window_calls == 5u);
}

TEST_CASE("a hanging call reported by message has a name of its own [C17]") {
  celled_circuit c(window_of(100), 2);
  const auto queued = c.report(outcome::hanging);
  c.report(outcome::failure);
  outcome_report r;
  r.generation = c.it.generation();
  r.what = outcome::hanging;
  r.at = c.now;
  const auto sent = c.cell.report(r);
  REQUIRE_FALSE(sent.queued);
  CHECK(sent.ticket != queued.ticket);
  r.ticket = sent.ticket;
  c.receive(r);
  c.report(outcome::failure, sent.ticket + 1);
  c.report(outcome::failure, queued.ticket + 1);
  c.drain();
  const auto shown = c.it.snapshot(c.now);
  CHECK(shown.window_calls == 3u);
  CHECK(shown.failure_rate == 1.0);
  CHECK(shown.slow_call_rate == 0.0);
}

TEST_CASE("a successor gives up the reports whose messages died with its predecessor [C14]") {
  celled_circuit c(window_of(100), 2);
  for (int i = 0; i < 5; ++i)
    c.report(outcome::failure);
  CHECK(c.admits() == kind::ask);
  c.it = circuit(window_of(100), 0, c.it.generation() + 1);
  c.cell.take_over();
  c.drain();
  CHECK(c.admits() == kind::admitted);
  CHECK(c.it.snapshot(c.now).window_calls == 0u); // the queued ones are of the generation before
  CHECK(c.report(outcome::success).queued);
  CHECK(c.admits() == kind::admitted);
}

TEST_CASE("a message to a dead breaker that its successor gets does not stand for one of the successor's [C4, C14]") {
  celled_circuit c(streak_profile(3), 2);
  const auto fail = [&] {
    outcome_report r;
    r.generation = c.it.generation();
    r.what = outcome::failure;
    r.at = c.now;
    r.ticket = c.cell.report(r).ticket;
    return r;
  };
  fail();
  fail();
  const auto late = fail();
  c.it = circuit(streak_profile(3), 0, c.it.generation() + 1);
  c.cell.take_over();
  c.drain();
  fail();
  fail();
  const auto third = fail();
  c.receive(late);
  CHECK(c.admits() == kind::ask); // the third is still on its way
  c.receive(third);
  CHECK(c.admits() == kind::refused);
}

TEST_CASE("a caller that begins after a probe's success was handed in is not refused for it [C4, C8]") {
  celled_circuit c(streak_profile(1));
  c.trip();
  c.now += 1h;
  const auto probe = c.ask();
  REQUIRE(probe.what == admission_verdict::kind::probe);
  CHECK(c.admits() == kind::refused);
  outcome_report r;
  r.generation = probe.generation;
  r.probe = probe.probe;
  r.what = outcome::success;
  r.at = c.now;
  REQUIRE(c.cell.report(r).queued);
  CHECK(c.admits() == kind::ask);
  CHECK(c.ask().what == admission_verdict::kind::admitted);
}

TEST_CASE("refusals are counted apart [C11]") {
  circuit_cell cell({"p", "", ""}, false);
  cell.count_refusal();
  cell.count_refusal();
  CHECK(cell.refusals() == 2);
}

TEST_CASE("a cell's own size is bounded; its queue adds 32 bytes a report [C2]") {
  CHECK(sizeof(circuit_cell) <= 512);
}
