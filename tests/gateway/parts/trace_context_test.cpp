#include "trace_context.hpp"

#include "support/catch.hpp"

#include <initializer_list>
#include <utility>

using namespace switchyard;
using namespace switchyard::gateway;

namespace {

// The examples of the Recommendation, section 3.2.3 and 3.3.
constexpr std::string_view parent = "00-0af7651916cd43dd8448eb211c80319c-b7ad6b7169203331-01";

header_list fields(std::initializer_list<std::pair<std::string_view, std::string_view>> all) {
  header_list headers;
  for (const auto& [name, value] : all)
    headers.add(name, value);
  return headers;
}

std::string continued(const header_list& request) {
  header_list forwarded;
  continue_trace(request, 0xb9c7c989f97918e1, forwarded);
  return forwarded.text();
}

} // namespace

TEST_CASE("a trace goes on under a new parent id, with the same trace id and sampling") {
  CHECK(continued_traceparent(parent, 0xb9c7c989f97918e1) == "00-0af7651916cd43dd8448eb211c80319c-b9c7c989f97918e1-01");
  CHECK(continued_traceparent("00-0af7651916cd43dd8448eb211c80319c-b7ad6b7169203331-00", 1) ==
        "00-0af7651916cd43dd8448eb211c80319c-0000000000000001-00");
}

TEST_CASE("flags that are not known here are not sent on, and a later version is read as far as 00 goes") {
  CHECK(continued_traceparent("00-0af7651916cd43dd8448eb211c80319c-b7ad6b7169203331-ff", 1) ==
        "00-0af7651916cd43dd8448eb211c80319c-0000000000000001-01");
  CHECK(continued_traceparent("01-0af7651916cd43dd8448eb211c80319c-b7ad6b7169203331-01-more", 1) ==
        "00-0af7651916cd43dd8448eb211c80319c-0000000000000001-01");
}

TEST_CASE("what is no valid traceparent is not sent on") {
  for (const auto* bad : {
           "",
           "00",
           "ff-0af7651916cd43dd8448eb211c80319c-b7ad6b7169203331-01",
           "00-00000000000000000000000000000000-b7ad6b7169203331-01",
           "00-0af7651916cd43dd8448eb211c80319c-0000000000000000-01",
           "00-0AF7651916CD43DD8448EB211C80319C-b7ad6b7169203331-01",
           "00-0af7651916cd43dd8448eb211c80319c-b7ad6b7169203331-01-more",
           "00-0af7651916cd43dd8448eb211c80319c-b7ad6b7169203331-0g",
           "00-0af7651916cd43dd8448eb211c80319c_b7ad6b7169203331-01",
           "01-0af7651916cd43dd8448eb211c80319c-b7ad6b7169203331-01.more",
           "0x-0af7651916cd43dd8448eb211c80319c-b7ad6b7169203331-01",
       }) {
    CAPTURE(bad);
    CHECK_FALSE(continued_traceparent(bad, 1));
    CHECK(continued(fields({{"traceparent", bad}, {"tracestate", "a=1"}})).empty());
  }
}

TEST_CASE("tracestate goes on as it is, in order, and only with its traceparent") {
  CHECK(continued(fields(
            {{"tracestate", "rojo=00f067aa0ba902b7"}, {"Traceparent", parent}, {"tracestate", "congo=t61rcWkgMzE"}})) ==
        "traceparent: 00-0af7651916cd43dd8448eb211c80319c-b9c7c989f97918e1-01\r\n"
        "tracestate: rojo=00f067aa0ba902b7\r\ntracestate: congo=t61rcWkgMzE\r\n");
  CHECK(continued(fields({{"tracestate", "a=1"}})).empty());
  CHECK(continued(fields({{"traceparent", parent}, {"traceparent", parent}, {"tracestate", "a=1"}})).empty());
}
