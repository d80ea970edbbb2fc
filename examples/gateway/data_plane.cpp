#include "data_plane.hpp"

#include "answers.hpp"
#include "internal_errors.hpp"
#include "request_headers.hpp"
#include "stream_answer.hpp"
#include "trace_context.hpp"

#include "switchyard/engine/fallback_plan.hpp"
#include "switchyard/json/json_text.hpp"

#include <boost/json/value.hpp>

#include <ctime>
#include <string>
#include <utility>

namespace switchyard::gateway {

namespace {

namespace json = boost::json;
using exchange_ptr = std::shared_ptr<http::exchange>;

void reply_json(const exchange_ptr& x, int status, const json::object& o) {
  header_list headers;
  headers.add("Content-Type", "application/json");
  x->reply(status, headers, to_json_text(o) + "\n");
}

constexpr std::string_view reading = "GET, HEAD";

/// The methods that a path takes; none: there is no such path.
std::string_view methods_of(std::string_view path) {
  constexpr std::string_view models = "/v1/models";
  if (openai::operation_of(path))
    return "POST";
  if (path == "/healthz" || path == "/readyz" || path == models || path.starts_with("/v1/models/"))
    return reading;
  return path == "*" ? "GET, HEAD, POST" : ""; // OPTIONS * asks about the server as a whole
}

// A request of which only the head has come: keeps the answer.
class head_exchange final : public http::exchange {
public:
  head_exchange(const http::request& head, boost::asio::io_context& context) : head_(head), context_(context) {}

  const http::request& request() const noexcept override { return head_; }
  boost::asio::io_context& context() noexcept override { return context_; }
  void reply(int status, const header_list& headers, std::string body) override {
    answer = http::early_answer{status, headers, std::move(body)};
  }
  // Nothing streams before its request is whole.
  void begin(int, const header_list&) override {}
  bool write(std::string_view, std::size_t) override { return false; }
  void on_room(std::function<void()>) override {}
  void end() override {}
  void abort() override {}
  void close() override {}
  void on_gone(std::function<void()>) override {}

  std::optional<http::early_answer> answer;

private:
  const http::request& head_;
  boost::asio::io_context& context_;
};

class data_plane : public std::enable_shared_from_this<data_plane> {
public:
  data_plane(std::shared_ptr<core> engine, std::shared_ptr<const gateway_state> state)
      : engine_(std::move(engine)), state_(std::move(state)), started_(std::time(nullptr)) {}

  void handle(const exchange_ptr& x) {
    const auto rules = state_->rules();
    serve(with_cors(x, *rules), *rules);
  }

  // The answer to a request that is refused whatever its body turns out to be.
  std::optional<http::early_answer> look_at(const http::request& head) {
    const auto kept = std::make_shared<head_exchange>(head, engine_->threads().at(0));
    const auto rules = state_->rules();
    const auto x = with_cors(kept, *rules);
    const auto methods = methods_of(head.path);
    const bool is_operation = openai::operation_of(head.path).has_value();
    if (is_operation && head.method == "POST")
      admit(x, *rules);
    else if (methods.empty() || (head.method != "OPTIONS" && (is_operation || !reads(head.method))))
      serve(x, *rules);
    return std::move(kept->answer);
  }

private:
  static exchange_ptr with_cors(exchange_ptr x, const access_rules& rules) {
    if (!rules.cors.enabled())
      return x;
    auto fields = rules.cors.answer_fields(x->request().headers);
    return with_fields(std::move(x), std::move(fields));
  }

  static bool reads(std::string_view method) { return method == "GET" || method == "HEAD"; }

  void serve(const exchange_ptr& x, const access_rules& rules) {
    const auto& r = x->request();
    if (const auto op = openai::operation_of(r.path); op && r.method == "POST")
      return operation(x, *op, rules);
    const auto methods = methods_of(r.path);
    if (methods.empty())
      return nothing_there(x);
    if (r.method == "OPTIONS")
      return tell_methods(x, methods, rules);
    if (methods != reading || !reads(r.method))
      return wrong_method(x, methods);
    if (r.path == "/healthz")
      return reply_json(x, 200, {{"status", "ok"}});
    if (r.path == "/readyz")
      return ready(x);
    constexpr std::string_view models = "/v1/models";
    list_models(x, rules, r.path == models ? std::string{} : r.path.substr(models.size() + 1));
  }

  void nothing_there(const exchange_ptr& x) const {
    reply_error(*x, id_of(x), errc::not_found,
                "there is nothing at " + shown(x->request().path) +
                    "; served are /v1/chat/completions, /v1/completions, /v1/embeddings, /v1/responses, /v1/models");
  }

  // Needs no tenant key: browsers ask without one before they send it.
  void tell_methods(const exchange_ptr& x, std::string_view methods, const access_rules& rules) const {
    auto headers = rules.cors.preflight_fields(x->request().headers, methods);
    headers.add("Allow", std::string{methods} + ", OPTIONS");
    x->reply(204, headers, {});
  }

  std::string id_of(const exchange_ptr& x) const {
    const auto given = usable_request_id(x->request().headers);
    return given ? std::string{*given} : engine_->new_request_id();
  }

  void wrong_method(const exchange_ptr& x, std::string_view allowed) const {
    reply_error(*x, id_of(x), errc::method_not_allowed,
                shown(x->request().path) + " does not take " + shown(x->request().method) + ": send " +
                    std::string{allowed},
                {}, nullptr, std::string{allowed} + ", OPTIONS");
  }

  void ready(const exchange_ptr& x) const {
    if (state_->draining())
      return reply_json(x, 503, {{"status", "shutting_down"}});
    reply_json(x, 200, {{"status", "ok"}});
  }

  // The tenant's name, empty without tenants; nothing after the client was told that its key is not accepted.
  static std::optional<std::string> tenant_of(const exchange_ptr& x, const access_rules& rules,
                                              std::string_view request_id) {
    if (!rules.tenants.required())
      return std::string{};
    auto name = rules.tenants.find(x->request().headers.find("Authorization").value_or(""));
    if (!name)
      reply_error(*x, request_id, errc::unauthorized,
                  "the tenant key is missing or unknown: send Authorization: Bearer KEY");
    return name;
  }

  void list_models(const exchange_ptr& x, const access_rules& rules, const std::string& wanted) const {
    const auto id = id_of(x);
    if (!tenant_of(x, rules, id))
      return;
    const auto describe = [this](const std::string& name) {
      return json::object{{"id", name}, {"object", "model"}, {"created", started_}, {"owned_by", "switchyard"}};
    };
    json::array all;
    const auto folded = fold_route_id(http::percent_decode(wanted).value_or(wanted));
    for (const auto& name : engine_->active_routes()) {
      if (fold_route_id(name) == folded)
        return reply_json(x, 200, describe(name));
      all.push_back(describe(name));
    }
    if (!wanted.empty())
      return reply_error(*x, id, errc::unknown_route,
                         "there is no active route " + shown(wanted) + "; GET /v1/models lists them");
    reply_json(x, 200, {{"object", "list"}, {"data", std::move(all)}});
  }

  // What the head says of a request; nothing after the client was told that it is not taken.
  std::optional<submission> admit(const exchange_ptr& x, const access_rules& rules) const {
    const auto& r = x->request();
    submission s;
    s.request_id = id_of(x);
    const auto refuse = [&](errc code, std::string_view why) {
      reply_error(*x, s.request_id, code, why);
      return std::nullopt;
    };
    if (state_->draining())
      return refuse(errc::shutting_down,
                    "the gateway is shutting down and takes no new requests; send it to another instance, or later");
    auto tenant = tenant_of(x, rules, s.request_id);
    if (!tenant)
      return std::nullopt;
    s.tenant = *std::move(tenant);
    auto options = read_options(r.headers);
    if (!options)
      return refuse(errc::invalid_request, options.error());
    s.idempotency_key = std::move(options->idempotency_key);
    s.idempotency_ttl = options->idempotency_ttl;
    s.timeout = options->timeout;
    s.fallback = options->fallback;
    s.cache = options->cache;
    return s;
  }

  void operation(const exchange_ptr& x, openai::operation op, const access_rules& rules) {
    auto admitted = admit(x, rules);
    if (!admitted)
      return;
    auto& s = *admitted;
    const auto& r = x->request();
    auto view = openai::inspect_request(r.body);
    if (!view)
      return reply_error(*x, s.request_id, errc::invalid_request, view.error());
    s.route = view->model;
    s.operation = r.path;
    s.path = openai::provider_path(op);
    s.view = *std::move(view);
    auto headers = std::make_shared<header_list>(forwarded_headers(r.headers, s.request_id));
    continue_trace(r.headers, engine_->shared().random() | 1, *headers); // an id is not 0
    s.headers = std::move(headers);
    s.body = {x, &r.body}; // shares the exchange's buffer
    submit(x, std::move(s), op);
  }

  void submit(const exchange_ptr& x, submission s, openai::operation op) {
    const auto route = s.route;
    const auto id = s.request_id;
    std::shared_ptr<request_handle> handle;
    if (s.view.stream) {
      const auto stream = std::make_shared<stream_answer>(x, id, op);
      s.receiver = stream;
      handle = engine_->submit(std::move(s),
                               [stream](std::shared_ptr<const request_result> result) { stream->finish(*result); });
    } else {
      handle = engine_->submit(
          std::move(s), [x, id](std::shared_ptr<const request_result> result) { reply_result(*x, id, *result); });
    }
    if (!handle)
      return reply_error(*x, id, errc::unknown_route,
                         "there is no active route " + shown(route) + "; GET /v1/models lists them");
    x->on_gone([handle] { handle->cancel(); });
  }

  std::shared_ptr<core> engine_;
  std::shared_ptr<const gateway_state> state_;
  std::time_t started_;
};

} // namespace

http::handler make_data_plane(std::shared_ptr<core> engine, std::shared_ptr<const gateway_state> state) {
  auto plane = std::make_shared<data_plane>(std::move(engine), std::move(state));
  return [plane](const exchange_ptr& x) { plane->handle(x); };
}

http::screener make_screener(std::shared_ptr<core> engine, std::shared_ptr<const gateway_state> state) {
  auto plane = std::make_shared<data_plane>(std::move(engine), std::move(state));
  return [plane](const http::request& head) { return plane->look_at(head); };
}

http::refusal_formatter make_refusal_formatter(std::shared_ptr<core> engine,
                                               std::shared_ptr<const gateway_state> state) {
  const auto errors = std::make_shared<internal_errors>();
  return [engine, state, errors](const http::refusal& refused) {
    const auto given = refused.request ? usable_request_id(refused.request->headers) : std::nullopt;
    const auto id = given ? std::string{*given} : engine->new_request_id();
    errors->report(engine->shared(), refused, "request " + id);
    auto answer = format_refusal(refused, id);
    append(answer.first,
           state->rules()->cors.answer_fields(refused.request ? refused.request->headers : header_list{}));
    return answer;
  };
}

} // namespace switchyard::gateway
