#include "fixture.hpp"

#include <boost/asio/post.hpp>

#include <thread>

using namespace switchyard;
using namespace switchyard::http;
using namespace switchyard::http::test;
using namespace std::chrono_literals;

namespace {

/// Events of one line each: "c..." is content, "end" the end, "bad" a bad frame, anything else holds no content.
class line_reader : public stream_reader {
public:
  state feed(std::string_view bytes, std::string& out) override {
    rest_ += bytes;
    for (std::size_t end; where_ < state::ended && (end = rest_.find('\n')) != rest_.npos; rest_.erase(0, end + 1)) {
      const auto line = rest_.substr(0, end + 1);
      if (line == "bad\n") {
        where_ = state::failed;
        failure_ = failure_class::soft_failure;
        break;
      }
      held_ += line;
      if (line.front() == 'c') {
        where_ = state::flowing;
        ++contents_;
      }
      finished_ = finished_ || line == "finish\n";
      if (line == "end\n")
        where_ = where_ == state::holding ? state::failed : state::ended;
    }
    if (contents_ > 0)
      out += std::exchange(held_, {});
    return where_;
  }
  state finish(std::string&) override {
    if (finished_ && where_ == state::flowing)
      where_ = state::ended;
    if (where_ != state::ended && where_ != state::failed) {
      failure_ = where_ == state::holding ? failure_class::empty_response : failure_class::connection;
      where_ = state::failed;
    }
    return where_;
  }
  state where() const noexcept override { return where_; }
  bool complete() const noexcept override { return where_ == state::ended || finished_; }
  failure_class failure() const noexcept override { return failure_; }
  token_usage tokens() const noexcept override { return {1, contents_, true}; }

private:
  state where_ = state::holding;
  failure_class failure_ = failure_class::empty_response;
  std::string rest_, held_;
  std::uint64_t contents_ = 0;
  bool finished_ = false;
};

/// Takes a stream as the test says.
class stream_client : public attempt_listener, public stream_sink, public std::enable_shared_from_this<stream_client> {
public:
  void on_content(provider_result&& head) noexcept override {
    std::lock_guard lock(mutex_);
    head_ = std::move(head);
    changed_.notify_all();
  }
  void on_attempt_done(provider_result&& result) noexcept override {
    std::lock_guard lock(mutex_);
    result_ = std::move(result);
    changed_.notify_all();
  }
  void on_bytes(std::string_view bytes, std::function<void(bool)> taken) override {
    bool at_once = false;
    {
      std::lock_guard lock(mutex_);
      if (throws_)
        throw std::runtime_error("full");
      bytes_ += bytes;
      largest_ = std::max(largest_, bytes.size());
      at_once = takes_;
      if (!at_once)
        taken_ = taken;
    }
    changed_.notify_all();
    if (at_once)
      taken(more_);
  }

  template <class Predicate>
  bool wait_until(Predicate holds) {
    std::unique_lock lock(mutex_);
    return changed_.wait_for(lock, patience, holds);
  }
  bool has_content() {
    return wait_until([this] { return head_.has_value(); });
  }
  bool gets(std::string_view text) {
    return wait_until([&] { return bytes_ == text; });
  }
  bool is_done() {
    return wait_until([this] { return result_.has_value(); });
  }
  bool done_already() {
    std::lock_guard lock(mutex_);
    return result_.has_value();
  }
  const provider_result& result() const { return *result_; }
  const provider_result& head() const { return *head_; }
  const std::string& bytes() const { return bytes_; }
  std::size_t largest() const { return largest_; }

  void take_nothing() { takes_ = false; }
  void throw_next() { throws_ = true; }
  void take_the_last() { more_ = false; }
  /// Takes what came, and all that comes.
  void take_all() {
    std::function<void(bool)> taken;
    {
      std::lock_guard lock(mutex_);
      takes_ = true;
      taken = std::move(taken_);
    }
    if (taken)
      taken(more_);
  }
  bool has_piece() {
    return wait_until([this] { return taken_ != nullptr; });
  }

private:
  std::mutex mutex_;
  std::condition_variable changed_;
  std::optional<provider_result> head_, result_;
  std::string bytes_;
  std::size_t largest_ = 0;
  bool takes_ = true, throws_ = false, more_ = true;
  std::function<void(bool)> taken_;
};

struct stream_fixture : fixture {
  explicit stream_fixture(const std::string& url) : fixture(url) {
    read_stream = [](const provider_request&) { return std::make_unique<line_reader>(); };
  }

  std::shared_ptr<attempt_handle> start(const std::shared_ptr<stream_client>& c) {
    auto r = request_with("{}");
    r.stream = true;
    return client().start(std::move(r), c);
  }
};

constexpr std::string_view head = "HTTP/1.1 200 OK\r\nContent-Type: text/event-stream; charset=utf-8\r\nX-A: b\r\n"
                                  "Connection: close\r\n\r\n";

constexpr std::string_view chunked_head =
    "HTTP/1.1 200 OK\r\nContent-Type: text/event-stream\r\nTransfer-Encoding: chunked\r\n\r\n";

std::string events(std::string_view lines) {
  return std::string{head} + std::string{lines};
}

} // namespace

TEST_CASE("a stream flows from its first content on, unchanged, and ends with its end [S1, S5]") {
  scripted_server server(says(events("role\nc1\nother\nc2\nend\n")));
  stream_fixture f(server.url());
  const auto c = std::make_shared<stream_client>();
  const auto attempt = f.start(c);
  REQUIRE(c->has_content());
  CHECK(c->head().status == 200);
  CHECK(c->head().headers.find("X-A") == "b");
  CHECK(c->bytes().empty()); // nobody has said where to
  attempt->stream_to(c);
  REQUIRE(c->is_done());
  CHECK(c->bytes() == "role\nc1\nother\nc2\nend\n");
  CHECK_FALSE(c->result().error);
  CHECK_FALSE(c->result().failure);
  CHECK(c->result().tokens.output == 2);
}

TEST_CASE("content goes on while the provider still thinks about the next [S5]") {
  std::promise<void> go;
  scripted_server server([&](peer& p) {
    p.read_request();
    p.write(events("c1\n"));
    go.get_future().wait_for(patience);
    p.write("end\n");
  });
  stream_fixture f(server.url());
  const auto c = std::make_shared<stream_client>();
  const auto attempt = f.start(c);
  REQUIRE(c->has_content());
  attempt->stream_to(c);
  CHECK(c->gets("c1\n"));
  go.set_value();
  REQUIRE(c->is_done());
  CHECK(c->bytes() == "c1\nend\n");
}

TEST_CASE("before the first content a stream ends like any attempt, and nothing of it is seen [S1]") {
  const auto [lines, expected] = GENERATE(table<std::string, failure_class>({
      {"role\nbad\n", failure_class::soft_failure},
      {"role\n", failure_class::empty_response},
      {"", failure_class::empty_response},
  }));
  scripted_server server(says(events(lines)));
  stream_fixture f(server.url());
  const auto c = std::make_shared<stream_client>();
  f.start(c);
  REQUIRE(c->is_done());
  CHECK(c->result().failure == expected);
  CHECK(c->result().status == 200);
  CHECK(c->bytes().empty());
}

TEST_CASE("a bad frame after content ends the stream with what was good, and closes the connection [S2]") {
  std::promise<bool> closed;
  scripted_server server([&](peer& p) {
    p.read_request();
    p.write(events("c1\nbad\nc2\n"));
    closed.set_value(p.sees_end());
  });
  stream_fixture f(server.url());
  const auto c = std::make_shared<stream_client>();
  const auto attempt = f.start(c);
  REQUIRE(c->has_content());
  attempt->stream_to(c);
  REQUIRE(c->is_done());
  CHECK(c->bytes() == "c1\n");
  CHECK(c->result().failure == failure_class::soft_failure);
  CHECK(closed.get_future().get());
}

TEST_CASE("a stream that breaks off after content is told as what it was [S2]") {
  SECTION("reset") {
    scripted_server server([](peer& p) {
      p.read_request();
      p.write("HTTP/1.1 200 OK\r\nContent-Type: text/event-stream\r\nTransfer-Encoding: chunked\r\n\r\n3\r\nc1\n\r\n");
      p.close();
    });
    stream_fixture f(server.url());
    const auto c = std::make_shared<stream_client>();
    const auto attempt = f.start(c);
    REQUIRE(c->has_content());
    attempt->stream_to(c);
    REQUIRE(c->is_done());
    CHECK(c->result().error == transport_error::early_close);
    CHECK(c->bytes() == "c1\n");
  }
  SECTION("a clean close without the stream's own end") {
    scripted_server server(says(events("c1\n")));
    stream_fixture f(server.url());
    const auto c = std::make_shared<stream_client>();
    const auto attempt = f.start(c);
    REQUIRE(c->has_content());
    attempt->stream_to(c);
    REQUIRE(c->is_done());
    CHECK_FALSE(c->result().error);
    CHECK(c->result().failure == failure_class::connection);
    CHECK(c->result().tokens.output == 1);
  }
}

TEST_CASE("a stream has limits of its own [S2, B8, F3]") {
  std::promise<bool> closed;
  std::string sent = events("role\n");
  scripted_server server([&](peer& p) {
    p.read_request();
    p.write(sent);
    closed.set_value(p.sees_end());
  });
  stream_fixture f(server.url());
  auto& limits = f.settings.timeouts;
  auto expected = transport_error::other;
  SECTION("to its first content") {
    limits.first_content = 100ms;
    expected = transport_error::first_content_timeout;
  }
  SECTION("from piece to piece") {
    sent = events("c1\n");
    limits.first_content = 10s;
    limits.idle = 100ms;
    expected = transport_error::idle_timeout;
  }
  SECTION("for the whole stream, where the attempt's no longer holds") {
    sent = events("c1\n");
    limits.attempt = 5s;
    limits.stream = 100ms;
    expected = transport_error::stream_timeout;
  }
  const auto c = std::make_shared<stream_client>();
  const auto attempt = f.start(c);
  if (expected != transport_error::first_content_timeout) {
    REQUIRE(c->has_content());
    attempt->stream_to(c);
  }
  REQUIRE(c->is_done());
  CHECK(c->result().error == expected);
  CHECK(closed.get_future().get());
}

TEST_CASE("a stream with all that matters is whole, however its connection ends [S2]") {
  const bool reset = GENERATE(true, false);
  scripted_server server([&](peer& p) {
    p.read_request();
    p.write(chunked_head);
    p.write("b\r\nc1\nfinish\n\r\n");
    if (reset)
      p.close();
    else
      p.sees_end();
  });
  stream_fixture f(server.url());
  f.settings.timeouts.idle = 200ms;
  const auto c = std::make_shared<stream_client>();
  const auto attempt = f.start(c);
  REQUIRE(c->has_content());
  attempt->stream_to(c);
  REQUIRE(c->is_done());
  CHECK(c->bytes() == "c1\nfinish\n");
  CHECK_FALSE(c->result().error);
  CHECK_FALSE(c->result().failure);
}

TEST_CASE("what comes after a stream's own end does not keep it open [S3]") {
  std::atomic<bool> over{false};
  scripted_server server([&](peer& p) {
    p.read_request();
    p.write(chunked_head);
    p.write("7\r\nc1\nend\n\r\n");
    std::mutex m;
    std::condition_variable never;
    std::unique_lock lock(m);
    while (!over) { // a comment now and then, without an end
      p.write("3\r\n:p\n\r\n");
      never.wait_for(lock, 20ms);
    }
  });
  stream_fixture f(server.url());
  const auto c = std::make_shared<stream_client>();
  const auto attempt = f.start(c);
  REQUIRE(c->has_content());
  attempt->stream_to(c);
  CHECK(c->is_done());
  over = true;
  CHECK_FALSE(c->result().failure);
}

TEST_CASE("a stream whose own end has come is whole although its connection lingers [S2]") {
  scripted_server server([](peer& p) {
    p.read_request();
    p.write(
        "HTTP/1.1 200 OK\r\nContent-Type: text/event-stream\r\nTransfer-Encoding: chunked\r\n\r\n7\r\nc1\nend\n\r\n");
    p.sees_end();
  });
  stream_fixture f(server.url());
  f.settings.timeouts.idle = 100ms;
  const auto c = std::make_shared<stream_client>();
  const auto attempt = f.start(c);
  REQUIRE(c->has_content());
  attempt->stream_to(c);
  REQUIRE(c->is_done());
  CHECK_FALSE(c->result().error);
  CHECK_FALSE(c->result().failure);
}

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
  const auto attempt = f.start(slow);
  REQUIRE(slow->has_content());
  attempt->stream_to(slow);
  REQUIRE(slow->has_piece());
  for (int i = 0; i < 3; ++i) { // three times as long as the provider may be silent
    const auto timed = std::make_shared<stream_client>();
    const auto other = f.start(timed);
    REQUIRE(timed->has_content());
    other->stream_to(timed);
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
  const auto attempt = f.start(c);
  REQUIRE(c->has_content());
  attempt->stream_to(c);
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
    attempt = f.start(c);
    REQUIRE(c->has_content());
    attempt->stream_to(c);
    REQUIRE(c->has_piece());
    REQUIRE(eventually([&] { return attempt->progress().ended; }));
  }
  attempt->cancel();
  c->take_all();
  CHECK_FALSE(c->done_already());
}

TEST_CASE("a reader that throws fails its attempt alone") {
  struct throwing_reader : line_reader {
    state feed(std::string_view, std::string&) override { throw std::runtime_error("odd"); }
  };
  scripted_server server(says(events("c1\nend\n")));
  stream_fixture f(server.url());
  f.read_stream = [](const provider_request&) { return std::make_unique<throwing_reader>(); };
  const auto c = std::make_shared<stream_client>();
  f.start(c);
  REQUIRE(c->is_done());
  CHECK(c->result().error == transport_error::other);
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
  const auto attempt = f.start(c);
  REQUIRE(c->has_content());
  attempt->stream_to(c);
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
  const auto attempt = f.start(c);
  REQUIRE(c->has_content());
  attempt->stream_to(c);
  REQUIRE(c->has_piece());
  REQUIRE(eventually([&] { return attempt->progress().ended; }));
  CHECK(f.client().figures().active == 1);
  CHECK_FALSE(c->done_already());
  c->take_all(); // on a thread that is not the attempt's
  REQUIRE(c->is_done());
  CHECK_FALSE(c->result().failure);
  CHECK(eventually([&] { return f.client().figures().active == 0; }));
}

TEST_CASE("cancelling a stream closes its connection, and its tokens so far are known [S4]") {
  std::promise<bool> closed;
  scripted_server server([&](peer& p) {
    p.read_request();
    p.write(events("c1\nc2\n"));
    closed.set_value(p.sees_end());
  });
  stream_fixture f(server.url());
  const auto c = std::make_shared<stream_client>();
  const auto attempt = f.start(c);
  REQUIRE(c->has_content());
  attempt->stream_to(c);
  REQUIRE(c->gets("c1\nc2\n"));
  CHECK(attempt->progress().tokens.output == 2);
  attempt->cancel();
  CHECK(closed.get_future().get());
  CHECK(eventually([&] { return f.client().figures().active == 0; }));
  CHECK_FALSE(c->done_already());
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
  const auto attempt = f.start(c);
  REQUIRE(c->has_content());
  attempt->stream_to(c);
  REQUIRE(c->is_done());
  CHECK(c->result().error == transport_error::cancelled);
  CHECK(eventually([&] { return f.client().figures().active == 0; }));
}

TEST_CASE("a whole answer to a request for a stream is taken as a whole") {
  scripted_server server(says(answer_with("{\"c\":1}", "Content-Type: application/json\r\n")));
  stream_fixture f(server.url());
  f.settings.timeouts.first_content = 10s;
  const auto c = std::make_shared<stream_client>();
  f.start(c);
  REQUIRE(c->is_done());
  CHECK(c->result().body == "{\"c\":1}");
}
