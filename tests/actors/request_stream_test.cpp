#include "request_fixture.hpp"

using namespace switchyard;
using namespace switchyard::test;

namespace {

class recording_receiver : public stream_receiver {
public:
  void on_begin(std::shared_ptr<const request_result> so_far) override { begun.push_back(std::move(so_far)); }
  void on_bytes(std::string_view bytes, std::function<void(bool)> taken) override {
    text += bytes;
    taken(true);
  }

  std::vector<result_ptr> begun;
  std::string text;
};

class stream_fixture : public request_fixture {
public:
  running stream(const std::string& key = {}) { return submit({.key = key, .receiver = receiver}); }

  void begin_content(std::size_t i = 0) {
    provider(i).begin_content();
    run();
  }

  std::shared_ptr<recording_receiver> receiver = std::make_shared<recording_receiver>();
};

provider_result end_of_stream() {
  provider_result r;
  r.sent = r.responded = true;
  r.status = 200;
  r.tokens = {3, 4};
  return r;
}

} // namespace

TEST_CASE_METHOD(stream_fixture, "the receiver hears who serves, then the stream goes straight to it [S1, S5]") {
  route("a");
  const auto r = stream();
  CHECK(provider().request(0).stream);
  CHECK(receiver->begun.empty());
  begin_content();
  REQUIRE(receiver->begun.size() == 1);
  CHECK(receiver->begun[0]->served.provider == "p-a");
  CHECK(receiver->begun[0]->attempts == 1);
  CHECK(receiver->begun[0]->content->status == 200);
  CHECK(receiver->begun[0]->content->headers.find("Content-Type") == "text/event-stream");
  REQUIRE(provider().sink() == receiver);
  CHECK_FALSE(r.answered());
  end(end_of_stream());
  check_done(r);
  CHECK(r.result().ok());
  CHECK(r.result().streamed);
}

TEST_CASE_METHOD(stream_fixture, "nothing of a route that fails before its content is seen [S1]") {
  route("a", {.max_attempts = 1});
  route("b");
  const auto r = stream();
  end(http_error(200, failure_class::soft_failure));
  begin_content(1);
  REQUIRE(receiver->begun.size() == 1);
  CHECK(receiver->begun[0]->served.provider == "p-b");
  CHECK(receiver->begun[0]->fallbacks == 1);
  CHECK(receiver->begun[0]->attempts == 2);
}

TEST_CASE_METHOD(stream_fixture, "a stream that breaks off is an error of our own, after what has flowed [S2]") {
  route("a");
  route("b");
  const auto r = stream();
  begin_content();
  end(lost_connection());
  check_done(r);
  CHECK(r.result().code == errc::upstream_cut);
  CHECK(r.result().streamed);
  CHECK(provider(1).calls() == 0);
}

TEST_CASE_METHOD(stream_fixture,
                 "a caller that leaves its stream cancels the attempt; what it got is in the row [S4]") {
  route("a");
  const auto r = stream("k");
  begin_content();
  provider().set_tokens({5, 6, true});
  cancel(r);
  CHECK(provider().cancelled(0));
  check_done(r);
  CHECK(events.records().at(0).request.tokens.output == 6u);
  CHECK(ask<std::uint64_t>(environment->shards[0]->get(), count_keys{}) == 0); // [I9]
}

TEST_CASE_METHOD(stream_fixture, "a keyed stream is reserved for its duration and never stored [I9]") {
  route("a");
  const auto first = stream("k");
  begin_content();
  const auto second = stream("k");
  REQUIRE(second.answered());
  CHECK(second.result().code == errc::idempotency_in_flight);
  end(end_of_stream());
  CHECK(first.result().ok());
  stream("k");
  CHECK(provider().calls() == 2);
}

TEST_CASE_METHOD(stream_fixture, "a content that comes late, of an attempt that was cut, is not passed on [F3]") {
  route("a");
  const auto listener = [&] {
    stream();
    return provider().listener_of(0);
  }();
  pass(10min); // the deadline
  provider_result head;
  head.status = 200;
  listener->on_content(std::move(head));
  run();
  CHECK(receiver->begun.empty());
}

TEST_CASE_METHOD(stream_fixture, "a whole answer to a request for a stream is the result [S1]") {
  route("a");
  const auto r = stream();
  end(answer_of("hello"));
  check_done(r);
  CHECK(receiver->begun.empty());
  CHECK(r.result().content->body == "hello");
  CHECK_FALSE(r.result().streamed);
}

namespace {

struct rude_receiver : stream_receiver {
  void on_begin(std::shared_ptr<const request_result>) override { throw 5; }
  void on_bytes(std::string_view, std::function<void(bool)> taken) override { taken(true); }
};

} // namespace

TEST_CASE_METHOD(stream_fixture,
                 "a receiver that throws what is no exception ends its request, as if it had left [S4]") {
  route("a");
  const auto r = submit({.receiver = std::make_shared<rude_receiver>()});
  begin_content();
  check_done(r);
  CHECK(r.result().code == errc::cancelled);
  CHECK(provider().cancelled(0));
}

TEST_CASE_METHOD(stream_fixture, "receivers that throw at every stream flooded the log") {
  route("a");
  for (int i = 0; i < 5; ++i) {
    submit({.receiver = std::make_shared<rude_receiver>()});
    begin_content();
  }
  REQUIRE(log.size() == 1);
  CHECK(log[0].second == "the receiver of a stream failed: it threw something that is no std::exception, request r1");
}
