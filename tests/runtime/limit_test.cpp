#include "fixture.hpp"

#include <boost/asio/bind_cancellation_slot.hpp>
#include <boost/asio/cancellation_signal.hpp>
#include <boost/asio/use_future.hpp>

using namespace switchyard;
using namespace switchyard::test;
namespace asio = boost::asio;

namespace {

config at_most(std::uint32_t requests) {
  auto c = one_route();
  c.gateway.max_in_flight = requests;
  return c;
}

} // namespace

TEST_CASE("an embedded runtime took more requests than max_in_flight [U4]") {
  const auto provider = std::make_shared<held_provider>();
  auto runtime = start(at_most(2), with_provider(provider));
  auto first = runtime.async_submit(chat_request(), asio::use_future);
  auto second = runtime.async_submit(chat_request(), asio::use_future);
  provider->at(1);
  const auto refused = value_of(runtime.async_submit(chat_request(), asio::use_future));
  REQUIRE_FALSE(refused);
  CHECK(refused.error().code == errc::overloaded);
  CHECK(refused.error().what == failure_class::overloaded);
  CHECK(refused.error().message == "more than 2 requests are running (gateway.max_in_flight)");
  CHECK_FALSE(refused.error().request_id.empty());
  CHECK(provider->attempts() == 2);
  CHECK(runtime.in_flight() == 2);

  provider->answer(0, answer_of(200));
  CHECK(value_of(std::move(first)));
  auto third = runtime.async_submit(chat_request(), asio::use_future);
  provider->answer(2, answer_of(200));
  CHECK(value_of(std::move(third)));
  provider->answer(1, answer_of(200));
  CHECK(value_of(std::move(second)));
}

TEST_CASE("a caller who has his answer has left room for the next request [U4]") {
  auto runtime = start(at_most(1), with_provider(std::make_shared<quick_provider>(answer_of(200))));
  for (int i = 0; i < 200; ++i)
    REQUIRE(value_of(runtime.async_submit(chat_request(), asio::use_future)));
}

TEST_CASE("every way out leaves room for the next request [U4]") {
  const auto provider = std::make_shared<held_provider>();
  auto runtime = start(at_most(1), with_provider(provider));
  asio::cancellation_signal leave;
  std::promise<submit_result> left;
  runtime.async_submit(chat_request(),
                       asio::bind_cancellation_slot(leave.slot(), [&](submit_result r) { left.set_value(r); }));
  provider->at(0);
  leave.emit(asio::cancellation_type::terminal);
  CHECK(value_of(left.get_future()).error().code == errc::cancelled);

  auto timed = chat_request();
  timed.timeout = 1ms;
  CHECK(value_of(runtime.async_submit(timed, asio::use_future)).error().code == errc::deadline_exceeded);

  auto last = runtime.async_submit(chat_request(), asio::use_future);
  provider->at(2);
  runtime.stop(duration::zero());
  CHECK(value_of(std::move(last)).error().code == errc::shutting_down);
}
