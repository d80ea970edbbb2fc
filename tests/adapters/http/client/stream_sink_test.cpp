// What a sink does to its stream.

#include "stream_fixture.hpp"

using namespace switchyard;
using namespace switchyard::http;
using namespace switchyard::http::test;

TEST_CASE("a sink's pause is not the provider's silence [S2, S5]") {
  // More than a stream may wait with, and than the sockets hold: the provider's writing waits for the sink.
  const std::string all = "c" + std::string(200'000, 'x') + "\n";
  scripted_server server([&](peer& p) {
    if (p.number() == 0) {
      p.read_request();
      p.write(head);
      for (int i = 0; i < 100; ++i)
        p.write(all);
      p.write("end\n");
    } else { // tells by its own end that time has passed
      p.read_request();
      p.write(events("c1\n"));
      p.sees_end();
    }
  });
  stream_fixture f(server.url());
  f.settings.timeouts.idle = 200ms;
  f.settings.max_response = 64 << 20;
  const auto slow = std::make_shared<stream_client>();
  slow->take_nothing();
  const auto attempt = f.flow(slow);
  REQUIRE(slow->has_piece());
  for (int i = 0; i < 3; ++i) { // three times as long as the provider may be silent
    const auto timed = std::make_shared<stream_client>();
    const auto other = f.flow(timed);
    REQUIRE(timed->is_done());
    REQUIRE(timed->result().error == transport_error::idle_timeout);
  }
  CHECK_FALSE(slow->done_already());
  slow->take_all();
  REQUIRE(slow->is_done());
  CHECK_FALSE(slow->result().error);
  CHECK(slow->bytes().size() == 100 * all.size() + 4);
}

TEST_CASE("the limit of a whole stream holds for a sink that takes nothing, too [S3, B8]") {
  const bool provider_is_done = GENERATE(true, false);
  scripted_server server([&](peer& p) {
    p.read_request();
    p.write(events(provider_is_done ? "c1\nend\n" : "c1\n"));
    if (!provider_is_done)
      p.sees_end();
  });
  stream_fixture f(server.url());
  f.settings.timeouts.stream = 300ms;
  const auto c = std::make_shared<stream_client>();
  c->take_nothing();
  const auto attempt = f.flow(c);
  REQUIRE(c->is_done());
  CHECK(c->result().error == transport_error::stream_timeout);
  CHECK(eventually([&] { return f.client().figures().active == 0; }));
}

TEST_CASE("a handle whose stream waits for its sink outlives the I/O threads") {
  scripted_server server(says(events("c1\nend\n")));
  const auto c = std::make_shared<stream_client>();
  c->take_nothing();
  std::shared_ptr<attempt_handle> attempt;
  {
    stream_fixture f(server.url());
    attempt = f.flow(c);
    REQUIRE(c->has_piece());
    REQUIRE(eventually([&] { return attempt->progress().ended; }));
  }
  attempt->cancel();
  c->take_all();
  CHECK_FALSE(c->done_already());
}

TEST_CASE("a sink that takes nothing slows the provider, within a bound, and loses nothing [S5]") {
  std::string all;
  for (int i = 0; i < 40'000; ++i)
    all += "c" + std::string(500, static_cast<char>('a' + i % 26)) + "\n";
  all += "end\n";
  std::atomic<bool> written{false};
  scripted_server server([&](peer& p) {
    p.read_request();
    p.write(head);
    p.write(all);
    written = true;
  });
  stream_fixture f(server.url());
  f.settings.max_response = 64 << 20;
  const auto c = std::make_shared<stream_client>();
  c->take_nothing();
  const auto attempt = f.flow(c);
  REQUIRE(c->has_piece());
  CHECK_FALSE(written.load());
  CHECK_FALSE(c->done_already());
  c->take_all();
  REQUIRE(c->is_done());
  CHECK(c->bytes() == all);
  CHECK_FALSE(c->result().error);
  CHECK(c->largest() < 256 * 1024);
}

TEST_CASE("the end is told when the last piece was taken, not before [S5]") {
  scripted_server server(says(events("c1\nend\n")));
  stream_fixture f(server.url());
  const auto c = std::make_shared<stream_client>();
  c->take_nothing();
  const auto attempt = f.flow(c);
  REQUIRE(c->has_piece());
  REQUIRE(eventually([&] { return attempt->progress().ended; }));
  CHECK(f.client().figures().active == 1);
  CHECK_FALSE(c->done_already());
  c->take_all(); // on a thread that is not the attempt's
  REQUIRE(c->is_done());
  CHECK_FALSE(c->result().failure);
  CHECK(eventually([&] { return f.client().figures().active == 0; }));
}

TEST_CASE("a sink that throws, or takes no more, ends its stream alone") {
  scripted_server server(says(events("c1\nend\n")));
  stream_fixture f(server.url());
  const auto c = std::make_shared<stream_client>();
  SECTION("throws") {
    c->throw_next();
  }
  SECTION("takes no more") {
    c->take_the_last();
  }
  const auto attempt = f.flow(c);
  REQUIRE(c->is_done());
  CHECK(c->result().error == transport_error::cancelled);
  CHECK(eventually([&] { return f.client().figures().active == 0; }));
}
