#include "fixture.hpp"

#include <boost/system/errc.hpp>
#include <boost/system/system_error.hpp>

#include <set>

using namespace switchyard;

namespace {

constexpr int first = static_cast<int>(errc::invalid_request);
constexpr int last = static_cast<int>(errc::cancelled);

} // namespace

TEST_CASE("every error has a message of its own that names its code") {
  std::set<std::string> messages;
  for (int i = first; i <= last; ++i) {
    const boost::system::error_code e = static_cast<errc>(i);
    CAPTURE(e.message());
    CHECK(e.category() == category());
    CHECK(e.message().find(to_string(static_cast<errc>(i))) != std::string::npos);
    CHECK(messages.insert(e.message()).second);
  }
  CHECK(category().message(255).find("unknown") != std::string::npos);
  CHECK(std::string{category().name()} == "switchyard");
}

TEST_CASE("errors compare equal to the generic conditions that they amount to") {
  namespace generic = boost::system::errc;
  const auto code = [](errc e) { return make_error_code(e); };
  CHECK(code(errc::cancelled) == generic::operation_canceled);
  CHECK(code(errc::deadline_exceeded) == generic::timed_out);
  CHECK(code(errc::upstream_timeout) == generic::timed_out);
  CHECK(code(errc::invalid_request) == generic::invalid_argument);
  CHECK(code(errc::circuit_open) == generic::resource_unavailable_try_again);
  CHECK(code(errc::internal) != generic::timed_out);
}

TEST_CASE("value() of a failed submit throws its code and message") {
  request_error e;
  e.code = errc::overloaded;
  e.message = "too much";
  const submit_result failed{e};
  try {
    failed.value();
    FAIL("it did not throw");
  } catch (const boost::system::system_error& thrown) {
    CHECK(thrown.code() == errc::overloaded);
    CHECK(std::string{thrown.what()}.find("too much") != std::string::npos);
  }
  const boost::system::error_code converted = failed.error();
  CHECK(converted == errc::overloaded);
}
