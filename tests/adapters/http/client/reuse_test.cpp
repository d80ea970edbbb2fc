// Connections that are kept.

#include "fixture.hpp"

#include <boost/asio/post.hpp>

namespace switchyard::http::test {

namespace {

/// Starts its next attempt when one is done, on the I/O thread.
class chain : public attempt_listener, public std::enable_shared_from_this<chain> {
public:
  chain(client_provider& client, int count) : client_(client), left_(count) {}

  void next() {
    inside_start_ = true;
    client_.start(request_with(std::to_string(left_)), shared_from_this());
    inside_start_ = false;
  }
  void on_attempt_done(provider_result&& r) noexcept override {
    good_ = good_ && !r.error && r.body == std::to_string(left_) && !inside_start_ &&
            (thread_ == std::thread::id{} || thread_ == std::this_thread::get_id());
    thread_ = std::this_thread::get_id();
    if (--left_ > 0)
      next();
    else
      done_.set_value(good_);
  }
  bool get() {
    auto f = done_.get_future();
    REQUIRE(f.wait_for(patience) == std::future_status::ready);
    return f.get();
  }

private:
  client_provider& client_;
  int left_;
  bool good_ = true;
  bool inside_start_ = false;
  std::thread::id thread_;
  std::promise<bool> done_;
};

} // namespace

TEST_CASE("a connection is kept and used again") {
  scripted_server server(echo);
  fixture f(server.url());
  for (int i = 0; i < 10; ++i)
    CHECK(f.call(request_with(std::to_string(i))).body == std::to_string(i));
  CHECK(server.connections() == 1);
  CHECK(f.client().figures().idle == 1);
  CHECK(f.client().figures().active == 0);
}

TEST_CASE("attempts started on an I/O thread run there, one after the other on one connection") {
  scripted_server server(echo);
  fixture f(server.url(), 2);
  auto c = std::make_shared<chain>(f.client(), 500);
  boost::asio::post(f.threads.at(1), [c] { c->next(); });
  CHECK(c->get());
  CHECK(server.connections() == 1);
}

TEST_CASE("Connection: close is honoured") {
  scripted_server server([](peer& p) {
    p.read_request();
    p.write(answer_with("x", "Connection: close\r\n"));
    p.sees_end();
  });
  fixture f(server.url());
  CHECK(!f.call().error);
  CHECK(f.client().figures().idle == 0);
  CHECK(!f.call().error);
  CHECK(server.connections() == 2);
}

TEST_CASE("a kept connection that the provider has closed is replaced silently [R7]") {
  std::promise<void> closed;
  std::atomic<int> requests{0};
  scripted_server server([&](peer& p) {
    while (p.read_request()) {
      ++requests;
      p.write(answer_with("x"));
      if (p.number() == 0) {
        p.close();
        closed.set_value();
      }
    }
  });
  fixture f(server.url());
  CHECK(!f.call().error);
  closed.get_future().wait();
  const auto r = f.call();
  CHECK(!r.error);
  CHECK(r.sent);
  CHECK(requests == 2);
  CHECK(server.connections() == 2);
}

TEST_CASE("many kept connections that the provider has closed are replaced by one [R7]") {
  constexpr int count = 20;
  std::promise<void> all_asked, all_closed;
  std::atomic<int> asked{0}, closed{0};
  auto gate = all_asked.get_future().share();
  scripted_server server([&](peer& p) {
    while (p.read_request()) {
      if (p.number() < count) {
        if (++asked == count)
          all_asked.set_value();
        gate.wait_for(patience);
      }
      p.write(answer_with("x"));
      if (p.number() < count) {
        p.reset();
        if (++closed == count)
          all_closed.set_value();
        return;
      }
    }
  });
  fixture f(server.url());
  std::vector<std::shared_ptr<outcome>> outcomes;
  for (int i = 0; i < count; ++i) {
    outcomes.push_back(std::make_shared<outcome>());
    f.client().start(request_with("{}"), outcomes.back());
  }
  all_closed.get_future().wait_for(patience);
  for (auto& o : outcomes)
    o->get(); // may be the answer or a reset
  CHECK(!f.call().error);
  CHECK(server.connections() == count + 1);
  CHECK(f.client().figures().idle == 1);
}

TEST_CASE("a kept connection that the provider closes is noticed without a request [R7]") {
  scripted_server server(says(answer_with("x")));
  fixture f(server.url());
  CHECK(!f.call().error);
  CHECK(eventually([&] { return f.client().figures().idle == 0; }));
}

TEST_CASE("a kept connection is watched and yet checked before it is used [R7]") {
  std::promise<void> close_it, closed;
  scripted_server server([&](peer& p) {
    if (p.number() == 0) {
      p.read_request();
      p.write(answer_with("x"));
      close_it.get_future().wait_for(patience);
      p.close();
      closed.set_value();
    } else {
      echo(p);
    }
  });
  fixture f(server.url());
  CHECK(!f.call().error);
  const auto began = std::chrono::steady_clock::now();
  CHECK(eventually([&] { return std::chrono::steady_clock::now() - began > std::chrono::milliseconds(1100); }));
  // The I/O thread is kept from seeing the end by itself.
  auto o = std::make_shared<outcome>();
  boost::asio::post(f.threads.at(0), [&] {
    close_it.set_value();
    closed.get_future().wait();
    f.client().start(request_with("{}"), o);
  });
  CHECK(!o->get().error);
  CHECK(server.connections() == 2);
}

TEST_CASE("a kept connection is used again after it has been watched") {
  scripted_server server(echo);
  fixture f(server.url());
  CHECK(!f.call().error);
  const auto began = std::chrono::steady_clock::now();
  CHECK(eventually([&] { return std::chrono::steady_clock::now() - began > std::chrono::milliseconds(1100); }));
  CHECK(f.call(request_with("again")).body == "again");
  CHECK(server.connections() == 1);
}

TEST_CASE("what a provider says unasked is nobody's answer") {
  const bool at_once = GENERATE(true, false);
  const std::string unasked = answer_with("", "Connection: close\r\n", "408 Request Timeout");
  std::promise<void> said;
  scripted_server server([&](peer& p) {
    if (p.number() > 0)
      return echo(p);
    p.read_request();
    if (at_once) {
      p.write(answer_with("x") + unasked);
    } else {
      p.write(answer_with("x"));
      p.write(unasked);
    }
    said.set_value();
    p.sees_end();
  });
  fixture f(server.url());
  CHECK(f.call().body == "x");
  said.get_future().wait();
  CHECK(f.call(request_with("mine")).body == "mine");
  CHECK(server.connections() == 2);
}

TEST_CASE("a kept connection lost after the request was written is an attempt, never sent again [R7]") {
  const bool by_reset = GENERATE(true, false);
  std::atomic<int> requests{0};
  scripted_server server([&](peer& p) {
    p.read_request();
    ++requests;
    p.write(answer_with("x"));
    p.read_request();
    ++requests;
    if (by_reset)
      p.reset();
  });
  fixture f(server.url());
  CHECK(!f.call().error);
  const auto r = f.call();
  CHECK(r.error == (by_reset ? transport_error::reset : transport_error::early_close));
  CHECK(r.sent);
  CHECK(!r.responded);
  CHECK(server.connections() == 1);
  CHECK(requests == 2);
}

TEST_CASE("idle connections are closed when the provider object goes") {
  std::promise<bool> ended;
  scripted_server server([&](peer& p) {
    p.read_request();
    p.write(answer_with("x"));
    ended.set_value(p.sees_end());
  });
  fixture f(server.url());
  CHECK(!f.call().error);
  f.drop_client();
  CHECK(ended.get_future().get());
}

} // namespace switchyard::http::test
