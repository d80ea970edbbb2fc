// The assembled engine where it is used without the embedding API, as by the gateway and the admin plane.

#include "fixture.hpp"

#include "switchyard/actors/messages.hpp"
#include "switchyard/actors/request_result.hpp"
#include "switchyard/admin/admin.hpp"

#include <boost/asio/io_context.hpp>

using namespace switchyard;
using namespace switchyard::test;
namespace asio = boost::asio;

namespace {

submission chat_submission() {
  submission s;
  s.route = "chat";
  s.operation = "/v1/chat/completions";
  s.path = "/chat/completions";
  s.body = std::make_shared<const std::string>(R"({"model":"chat","messages":[]})");
  s.view = *openai::inspect_request(*s.body);
  return s;
}

// Answers before `start` returns, as a provider of the program's own may.
class immediate_provider : public provider {
public:
  std::shared_ptr<attempt_handle> start(provider_request, std::shared_ptr<attempt_listener> listener) override {
    struct ended : attempt_handle {
      void cancel() noexcept override {}
      bool responded() const noexcept override { return true; }
    };
    listener->on_attempt_done(answer_of(200));
    return std::make_shared<ended>();
  }
};

// A core whose actors do not answer in time.
class silent_core : public core {
public:
  explicit silent_core(std::shared_ptr<core> inner) : inner_(std::move(inner)) {}

  void list_circuits(std::function<void(admin_result<std::vector<circuit_description>>)> on_done) override {
    on_done(silence());
  }
  void change_circuit(switchyard::change_circuit, std::function<void(admin_result<void>)> on_done) override {
    on_done(silence());
  }
  void describe_health(std::function<void(admin_result<std::vector<provider_health>>)> on_done) override {
    on_done(silence());
  }
  void describe_budgets(std::function<void(admin_result<std::vector<budget_figures>>)> on_done) override {
    on_done(silence());
  }
  void query_usage(switchyard::query_usage, std::function<void(usage_answer)> on_done) override {
    on_done({nullptr, "silence"});
  }
  void query_telemetry(telemetry_query, std::function<void(telemetry_answer)> on_done) override {
    on_done({nullptr, "silence"});
  }

  std::shared_ptr<const config> settings() const override { return inner_->settings(); }
  boost::system::result<void, start_error> reload(config c) override { return inner_->reload(std::move(c)); }
  http::io_threads& threads() noexcept override { return inner_->threads(); }
  std::string new_request_id() override { return inner_->new_request_id(); }
  std::shared_ptr<request_handle> submit(submission s,
                                         std::function<void(std::shared_ptr<const request_result>)> on_done) override {
    return inner_->submit(std::move(s), std::move(on_done));
  }
  std::size_t in_flight() const noexcept override { return inner_->in_flight(); }
  std::vector<std::string> active_routes() const override { return inner_->active_routes(); }
  std::string metrics_text() override { return inner_->metrics_text(); }
  wall_time to_wall(time_point t) const override { return inner_->to_wall(t); }
  std::shared_ptr<void> observe(std::shared_ptr<event_sink> o) override { return inner_->observe(std::move(o)); }
  void stop(duration grace) override { inner_->stop(grace); }
  bool on_own_thread() const noexcept override { return inner_->on_own_thread(); }
  void refuse_new() noexcept override { inner_->refuse_new(); }
  std::shared_ptr<const circuit_access> circuit(const std::string& id, const std::string& profile) override {
    return inner_->circuit(id, profile);
  }
  const services& shared() const noexcept override { return inner_->shared(); }

private:
  static admin_error silence() { return {errc::overloaded, "nobody answers"}; }

  std::shared_ptr<core> inner_;
};

// A request to the admin plane, without a network.
class recorded_exchange : public http::exchange {
public:
  recorded_exchange(asio::io_context& io, std::string method, std::string path, std::string sent) : io_(io) {
    request_.method = std::move(method);
    request_.path = std::move(path);
    request_.body = std::move(sent);
  }
  const http::request& request() const noexcept override { return request_; }
  asio::io_context& context() noexcept override { return io_; }
  void reply(int s, const header_list&, std::string b) override {
    status = s;
    body = std::move(b);
  }
  void begin(int, const header_list&) override {}
  bool write(std::string_view, std::size_t) override { return false; }
  void on_room(std::function<void()> callback) override { callback(); }
  void end() override {}
  void abort() override {}
  void close() override {}
  void on_gone(std::function<void()>) override {}

  int status = 0;
  std::string body;

private:
  asio::io_context& io_;
  http::request request_;
};

} // namespace

TEST_CASE("an own provider's answer got lost where only the core was used") {
  auto engine = core::start(one_route(), with_provider(std::make_shared<immediate_provider>())).value();
  std::promise<std::shared_ptr<const request_result>> done;
  REQUIRE(engine->submit(chat_submission(), [&](auto result) { done.set_value(std::move(result)); }));
  const auto result = value_of(done.get_future());
  CHECK(result->what == request_result::kind::answer);
  engine->stop(duration::zero());
}

TEST_CASE("the admin plane is told what is not there and that the core has stopped") {
  auto engine = core::start(one_route(), with_provider(std::make_shared<immediate_provider>())).value();
  const auto change = [&](std::string id) {
    std::promise<admin_result<void>> answer;
    switchyard::change_circuit c;
    c.id = std::move(id);
    c.reset = true;
    engine->change_circuit(c, [&](admin_result<void> r) { answer.set_value(std::move(r)); });
    return value_of(answer.get_future());
  };
  CHECK(change("p").has_value());
  const auto missing = change("nowhere");
  REQUIRE_FALSE(missing.has_value());
  CHECK(missing.error().code == errc::not_found);
  CHECK(missing.error().message == "there is no circuit nowhere");

  engine->stop(duration::zero());
  CHECK(change("p").error().code == errc::shutting_down);
  std::optional<errc> circuits, health;
  std::optional<std::string> telemetry;
  engine->list_circuits([&](admin_result<std::vector<circuit_description>> r) { circuits = r.error().code; });
  engine->describe_health([&](admin_result<std::vector<provider_health>> r) { health = r.error().code; });
  engine->query_telemetry({}, [&](telemetry_answer a) { telemetry = a.problem; });
  std::optional<errc> budgets;
  engine->describe_budgets([&](admin_result<std::vector<budget_figures>> r) { budgets = r.error().code; });
  CHECK(budgets == errc::shutting_down);
  CHECK(circuits == errc::shutting_down);
  CHECK(health == errc::shutting_down);
  CHECK(telemetry == "the telemetry log does not answer");
  CHECK_FALSE(engine->circuit("another"));
}

TEST_CASE("an actor that did not answer looked like an empty list to the admin plane") {
  const auto engine = core::start(one_route(), with_provider(std::make_shared<immediate_provider>())).value();
  const auto handle = admin::make_handler(std::make_shared<silent_core>(engine));
  struct call {
    std::string method, path, body;
  };
  const std::vector<call> calls{{"GET", "/admin/circuits", ""},
                                {"GET", "/admin/health", ""},
                                {"POST", "/admin/circuits", R"({"reset":true})"},
                                {"POST", "/admin/circuits/p", R"({"reset":true})"}};
  for (const auto& c : calls) {
    INFO(c.method << " " << c.path);
    asio::io_context io;
    const auto x = std::make_shared<recorded_exchange>(io, c.method, c.path, c.body);
    handle(x);
    io.run();
    CHECK(x->status == 503);
    CHECK(x->body.find(R"("type":"switchyard_error","code":"overloaded")") != std::string::npos);
    CHECK(x->body.find("nobody answers") != std::string::npos);
  }
  engine->stop(duration::zero());
}
