// Cancelling, many attempts at once, and the order in which things go away.

#include "fixture.hpp"

#include <boost/asio/post.hpp>

namespace switchyard::http::test {

using namespace std::chrono_literals;

namespace {

struct stage {
  const char* name;
  const char* answer;  ///< what the server says before the cancel
  std::size_t request; ///< bytes of the request's body
};

/// Lets everything that is queued on an I/O thread run.
void settle(io_threads& threads) {
  for (std::size_t i = 0; i < threads.size(); ++i) {
    std::promise<void> ran;
    boost::asio::post(threads.at(i), [&] { ran.set_value(); });
    ran.get_future().wait();
  }
}

} // namespace

TEST_CASE("a cancelled attempt closes its connection and tells nobody [F3]") {
  const auto s = GENERATE(stage{"writing", nullptr, 30'000'000}, stage{"waiting", "", 2},
                          stage{"within the head", "HTTP/1.1 200 OK\r\nCont", 2},
                          stage{"within the body", "HTTP/1.1 200 OK\r\nContent-Length: 9\r\n\r\nhalf", 2});
  const bool here = GENERATE(true, false);
  CAPTURE(s.name, here);
  std::promise<void> reached;
  std::promise<bool> ended;
  scripted_server server([&](peer& p) {
    if (s.answer) {
      p.read_request();
      p.write(s.answer);
    }
    reached.set_value();
    ended.set_value(p.sees_end());
  });
  fixture f(server.url());
  auto o = std::make_shared<outcome>();
  const auto handle = f.client().start(request_with(std::string(s.request, 'x')), o);
  reached.get_future().wait();
  if (s.answer && *s.answer)
    CHECK(eventually([&] { return handle->responded(); }));
  if (here) {
    boost::asio::post(f.threads.at(0), [&] { handle->cancel(); });
  } else {
    handle->cancel();
    handle->cancel();
  }
  CHECK(ended.get_future().get());
  settle(f.threads);
  CHECK(f.client().figures().active == 0);
  CHECK(f.client().figures().idle == 0);
  CHECK(o->calls() == 0);
  CHECK(o.use_count() == 1); // forgotten
}

TEST_CASE("an attempt cancelled before it connects reaches nobody") {
  scripted_server server(echo);
  fixture f(server.url());
  auto o = std::make_shared<outcome>();
  std::promise<void> done;
  f.client();
  boost::asio::post(f.threads.at(0), [&] {
    f.client().start(request_with("{}"), o)->cancel();
    done.set_value();
  });
  done.get_future().wait();
  settle(f.threads);
  CHECK(o->calls() == 0);
  CHECK(f.client().figures().active == 0);
}

TEST_CASE("an attempt cancelled while its name is looked up tells nobody, and others go on") {
  scripted_server server(echo);
  fixture f("http://localhost:" + std::to_string(server.port()));
  auto first = std::make_shared<outcome>(), second = std::make_shared<outcome>();
  std::promise<void> done;
  f.client();
  boost::asio::post(f.threads.at(0), [&] {
    const auto handle = f.client().start(request_with("1"), first);
    f.client().start(request_with("2"), second);
    handle->cancel();
    done.set_value();
  });
  done.get_future().wait();
  CHECK(second->get().body == "2");
  CHECK(first->calls() == 0);
}

TEST_CASE("cancelling on a kept connection before the request is written reaches nobody") {
  std::atomic<int> requests{0};
  scripted_server server([&](peer& p) {
    while (p.read_request()) {
      ++requests;
      p.write(answer_with("x"));
    }
  });
  fixture f(server.url());
  CHECK(!f.call().error);
  std::promise<void> done;
  auto o = std::make_shared<outcome>();
  boost::asio::post(f.threads.at(0), [&] {
    f.client().start(request_with("{}"), o)->cancel();
    done.set_value();
  });
  done.get_future().wait();
  settle(f.threads);
  CHECK(!f.call().error);
  CHECK(requests == 2);
  CHECK(o->calls() == 0);
}

TEST_CASE("cancelling what is over does nothing") {
  scripted_server server(echo);
  fixture f(server.url());
  auto o = std::make_shared<outcome>();
  const auto handle = f.client().start(request_with("{}"), o);
  CHECK(!o->get().error);
  handle->cancel();
  settle(f.threads);
  CHECK(f.client().figures().idle == 1); // its connection is not touched
  CHECK(o->calls() == 1);
}

TEST_CASE("many attempts from many threads each get their own answer, once") {
  constexpr int callers = 4, each = 50;
  scripted_server server(echo);
  fixture f(server.url(), 2);
  auto& client = f.client();
  std::vector<std::shared_ptr<outcome>> outcomes(callers * each);
  std::vector<std::thread> threads;
  for (int t = 0; t < callers; ++t)
    threads.emplace_back([&, t] {
      for (int i = t * each; i < (t + 1) * each; ++i) {
        outcomes[static_cast<std::size_t>(i)] = std::make_shared<outcome>();
        client.start(request_with(std::to_string(i)), outcomes[static_cast<std::size_t>(i)]);
      }
    });
  for (auto& t : threads)
    t.join();
  for (std::size_t i = 0; i < outcomes.size(); ++i)
    CHECK(outcomes[i]->get().body == std::to_string(i));
  settle(f.threads);
  CHECK(client.figures().active == 0);
  CHECK(client.figures().idle == static_cast<std::size_t>(server.connections()));
  for (const auto& o : outcomes)
    CHECK(o->calls() == 1);
}

TEST_CASE("attempts raced by cancels end once at most and leave nothing behind") {
  constexpr std::size_t count = 200;
  scripted_server server(echo);
  fixture f(server.url(), 2);
  std::vector<std::shared_ptr<outcome>> outcomes;
  std::vector<std::shared_ptr<attempt_handle>> handles;
  for (std::size_t i = 0; i < count; ++i) {
    outcomes.push_back(std::make_shared<outcome>());
    handles.push_back(f.client().start(request_with("{}"), outcomes.back()));
  }
  std::thread other([&] {
    for (auto& h : handles)
      h->cancel();
  });
  for (auto it = handles.rbegin(); it != handles.rend(); ++it)
    (*it)->cancel();
  other.join();
  settle(f.threads);
  CHECK(f.client().figures().active == 0);
  for (const auto& o : outcomes)
    CHECK(o->calls() <= 1);
}

TEST_CASE("a provider object may go while its attempts run") {
  std::promise<void> asked, go_on;
  std::promise<bool> ended;
  scripted_server server([&](peer& p) {
    p.read_request();
    asked.set_value();
    go_on.get_future().wait_for(patience);
    p.write(answer_with("late"));
    ended.set_value(p.sees_end());
  });
  fixture f(server.url());
  auto o = std::make_shared<outcome>();
  f.client().start(request_with("{}"), o);
  asked.get_future().wait();
  f.drop_client();
  go_on.set_value();
  CHECK(o->get().body == "late");
  CHECK(ended.get_future().get()); // not kept
}

TEST_CASE("I/O threads may go while attempts run: all is closed and nobody told") {
  const auto scheme = GENERATE(as<std::string>{}, "http", "https");
  constexpr std::size_t count = 8;
  std::atomic<std::size_t> reached{0}, ended{0};
  auto f = std::make_unique<fixture>("http://unused/", 2);
  std::vector<std::shared_ptr<attempt_handle>> handles;
  auto o = std::make_shared<outcome>();
  scripted_server server([&](peer& p) {
    if (scheme == "http")
      p.read_request();
    ++reached;
    if (p.sees_end())
      ++ended;
  });
  f->settings.base_url = server.url(scheme);
  f->settings.timeouts.connect = 1min;
  for (std::size_t i = 0; i < count; ++i)
    handles.push_back(f->client().start(request_with("{}"), o));
  CHECK(eventually([&] { return reached == count; }));
  const bool stop_first = GENERATE(true, false);
  if (stop_first) {
    f->threads.stop();
    handles.push_back(f->client().start(request_with("{}"), o)); // never runs
    handles.front()->cancel();
  }
  f.reset();
  CHECK(eventually([&] { return ended == count; }));
  for (auto& h : handles)
    h->cancel();
  CHECK(o->calls() == 0);
  CHECK(o.use_count() == 1);
}

TEST_CASE("attempts that never ran go with their I/O threads") {
  auto threads = std::make_unique<io_threads>(2);
  provider_settings settings;
  settings.base_url = "http://127.0.0.1:1";
  auto client = *make_client(*threads, settings, {});
  auto o = std::make_shared<outcome>();
  const auto handle = client->start(request_with("{}"), o);
  CHECK(client->figures().active == 1);
  client.reset();
  threads.reset();
  handle->cancel();
  CHECK(o->calls() == 0);
  CHECK(o.use_count() == 1);
}

TEST_CASE("I/O threads start again after a stop, and know their own") {
  io_threads threads(0);
  CHECK(threads.size() == 1);
  CHECK(threads.current() == nullptr);
  CHECK(threads.current_index() == threads.size());
  for (int i = 0; i < 2; ++i) {
    threads.start();
    std::promise<bool> own;
    boost::asio::post(threads.at(0), [&] {
      own.set_value(threads.current() == &threads.at(0) && threads.current_index() == 0 &&
                    &threads.pick() == &threads.at(0) && io_threads(1).current() == nullptr);
    });
    auto future = own.get_future();
    REQUIRE(future.wait_for(patience) == std::future_status::ready);
    CHECK(future.get());
    threads.stop();
  }
}

TEST_CASE("work from outside is spread over the I/O threads") {
  io_threads threads(3);
  std::vector<std::size_t> seen(3);
  for (int i = 0; i < 30; ++i)
    ++seen[threads.pick_index()];
  CHECK(seen == std::vector<std::size_t>{10, 10, 10});
}

} // namespace switchyard::http::test
