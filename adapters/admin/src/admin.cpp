#include "switchyard/admin/admin.hpp"

#include "dashboard.hpp"
#include "event_stream.hpp"
#include "format.hpp"
#include "queries.hpp"
#include "same_origin.hpp"
#include "time_text.hpp"

#include "switchyard/engine/error_code.hpp"
#include "switchyard/json/config_to_json.hpp"
#include "switchyard/json/json_text.hpp"

#include <openssl/crypto.h>
#include <openssl/sha.h>

#include <boost/asio/post.hpp>

#include <algorithm>
#include <array>
#include <map>
#include <optional>
#include <string>
#include <utility>

namespace switchyard::admin {

namespace {

namespace json = boost::json;
using exchange_ptr = std::shared_ptr<http::exchange>;

void reply_json(const exchange_ptr& x, int status, const json::object& o) {
  header_list headers;
  headers.add("Content-Type", "application/json");
  headers.add("Cache-Control", "no-store");
  x->reply(status, headers, to_json_text(o) + "\n");
}

json::object error_object(std::string_view code, std::string_view message) {
  return {{"error", {{"message", message}, {"type", "switchyard_error"}, {"code", code}, {"param", nullptr}}}};
}

// `extra` is a header that belongs to the status.
void refuse(const exchange_ptr& x, errc code, std::string_view message, header_list::field extra = {}) {
  header_list headers;
  headers.add("Content-Type", "application/json");
  if (!extra.name.empty())
    headers.add(extra.name, extra.value);
  x->reply(http_status(code), headers, to_json_text(error_object(to_string(code), message)) + "\n");
}

// Digests have equal lengths, so the comparison takes the same time whatever was given.
bool is_token(std::string_view given, std::string_view expected) {
  std::array<unsigned char, SHA256_DIGEST_LENGTH> a{}, b{};
  SHA256(reinterpret_cast<const unsigned char*>(given.data()), given.size(), a.data());
  SHA256(reinterpret_cast<const unsigned char*>(expected.data()), expected.size(), b.data());
  return CRYPTO_memcmp(a.data(), b.data(), a.size()) == 0;
}

// Answers on the exchange's thread what another thread found out.
template <class F>
auto on_thread_of(const exchange_ptr& x, F f) {
  return [x, f](auto found) { boost::asio::post(x->context(), [x, f, found = std::move(found)] { f(x, found); }); };
}

class api {
public:
  api(std::shared_ptr<core> engine, reload_function reload)
      : engine_(std::move(engine)), reload_(std::move(reload)), events_(std::make_shared<event_streams>(engine_)) {}

  void handle(const exchange_ptr& x) const {
    const auto& r = x->request();
    if (r.path == "/healthz")
      return reply_json(x, 200, {{"status", "ok"}});
    const auto* page = find_dashboard_file(r.path);
    if (!page && !authorized(r)) // a browser cannot send a token with the page, which has nothing to hide
      return refuse(x, errc::unauthorized, "the admin token is missing or wrong: send Authorization: Bearer TOKEN",
                    {"WWW-Authenticate", "Bearer"});
    if (const auto why = refusal_of_page(r))
      return reply_json(x, 403, error_object("forbidden", *why));
    const bool get = r.method == "GET" || r.method == "HEAD";
    const bool post = r.method == "POST";
    if (page)
      return get ? x->reply(200, dashboard_headers(*page), std::string{page->text}) : wrong_method(x, "GET");
    constexpr std::string_view one_circuit = "/admin/circuits/";
    if (r.path.starts_with(one_circuit) && r.path.size() > one_circuit.size())
      return post ? change_one(x, r.path.substr(one_circuit.size())) : wrong_method(x, "POST");
    if (r.path == "/admin/circuits")
      return get ? circuits(x) : post ? reset_all(x) : wrong_method(x, "GET, POST");
    if (r.path == "/admin/reload")
      return post ? reload(x) : wrong_method(x, "POST");
    const auto found = readers().find(r.path);
    if (found == readers().end())
      return refuse(x, errc::not_found, "there is nothing at " + r.path + "; see /admin for what there is");
    if (r.path == "/admin/events" && r.method == "HEAD")
      return wrong_method(x, "GET");
    return get ? (this->*found->second)(x) : wrong_method(x, "GET");
  }

private:
  using reader = void (api::*)(const exchange_ptr&) const;

  static const std::map<std::string, reader, std::less<>>& readers() {
    static const std::map<std::string, reader, std::less<>> all{
        {"/admin", &api::index},
        {"/metrics", &api::metrics},
        {"/admin/health", &api::health},
        {"/admin/budgets", &api::budgets},
        {"/admin/usage", &api::usage},
        {"/admin/telemetry", &api::telemetry},
        {"/admin/config", &api::configuration},
        {"/admin/events", &api::events},
    };
    return all;
  }

  bool authorized(const http::request& r) const {
    const auto settings = engine_->settings();
    const auto& token = settings->admin.token;
    if (token.empty())
      return true;
    const auto given = bearer_token(r.headers.find("Authorization").value_or(""));
    return given && is_token(*given, token.reveal());
  }

  // With a token there is no need: a page does not have it.
  std::optional<std::string> refusal_of_page(const http::request& r) const {
    const auto settings = engine_->settings();
    const auto& admin = settings->admin;
    return admin.token.empty() ? cross_site_refusal(r, admin.listen) : std::nullopt;
  }

  static void wrong_method(const exchange_ptr& x, std::string_view allowed) {
    refuse(x, errc::method_not_allowed,
           x->request().path + " does not take " + x->request().method + ": send " + std::string{allowed},
           {"Allow", allowed});
  }

  void index(const exchange_ptr& x) const {
    header_list headers;
    headers.add("Content-Type", "text/plain; charset=utf-8");
    x->reply(200, headers,
             "Switchyard admin\n\n"
             "GET  /                       the dashboard, for a browser\n"
             "GET  /metrics                Prometheus exposition\n"
             "GET  /admin/circuits         all circuits\n"
             "POST /admin/circuits/{id}    {\"mode\":\"auto\"|\"forced_open\"|\"disabled\"} or {\"reset\":true}\n"
             "POST /admin/circuits         {\"reset\":true} for all circuits\n"
             "GET  /admin/health           scores and latencies by provider\n"
             "GET  /admin/budgets          what is taken of each budget\n"
             "GET  /admin/usage            requests, tokens and cost; group_by, since, until\n"
             "GET  /admin/telemetry        rows; since, until, provider, request_id, limit\n"
             "GET  /admin/config           the configuration, secrets redacted\n"
             "POST /admin/reload           reads the configuration again\n"
             "GET  /admin/events           server-sent events\n"
             "GET  /healthz\n");
  }

  void metrics(const exchange_ptr& x) const {
    header_list headers;
    headers.add("Content-Type", "text/plain; version=0.0.4; charset=utf-8");
    x->reply(200, headers, engine_->metrics_text());
  }

  void circuits(const exchange_ptr& x) const {
    engine_->list_circuits(on_thread_of(
        x, [engine = engine_](const exchange_ptr& to, const admin_result<std::vector<circuit_description>>& all) {
          if (!all)
            return refuse(to, all.error().code, all.error().message);
          json::array rows;
          for (const auto& d : *all)
            rows.push_back(to_json(d, *engine));
          reply_json(to, 200, {{"circuits", std::move(rows)}});
        }));
  }

  void reset_all(const exchange_ptr& x) const {
    const auto change = parse_circuit_change(x->request().body);
    if (!change || change->mode)
      return refuse(x, errc::invalid_request,
                    change ? R"(for all circuits only {"reset":true} is accepted)" : change.error());
    engine_->change_circuit(*change, on_thread_of(x, [](const exchange_ptr& to, const admin_result<void>& changed) {
      if (!changed)
        return refuse(to, changed.error().code, changed.error().message);
      reply_json(to, 200, {{"ok", true}});
    }));
  }

  void change_one(const exchange_ptr& x, const std::string& encoded_id) const {
    auto change = parse_circuit_change(x->request().body);
    if (!change)
      return refuse(x, errc::invalid_request, change.error());
    const auto id = http::percent_decode(encoded_id);
    if (!id)
      return refuse(x, errc::invalid_request, "the circuit's id in the path is not percent-encoded properly");
    change->id = *id;
    engine_->change_circuit(*change, on_thread_of(x, [](const exchange_ptr& to, const admin_result<void>& changed) {
      if (!changed && changed.error().code == errc::not_found)
        return refuse(to, errc::not_found, changed.error().message + "; GET /admin/circuits lists them");
      if (!changed)
        return refuse(to, changed.error().code, changed.error().message);
      reply_json(to, 200, {{"ok", true}});
    }));
  }

  void reload(const exchange_ptr& x) const {
    if (!reload_)
      return refuse(x, errc::not_implemented, "this program does not reload its configuration; restart it instead");
    reload_(on_thread_of(x, [](const exchange_ptr& to, const std::string& problems) {
      if (!problems.empty())
        return refuse(to, errc::invalid_request, "nothing was changed:\n" + problems);
      reply_json(to, 200, {{"ok", true}});
    }));
  }

  void health(const exchange_ptr& x) const {
    engine_->list_circuits([x, engine = engine_](admin_result<std::vector<circuit_description>> circuits) {
      engine->describe_health(on_thread_of(
          x, [engine, circuits](const exchange_ptr& to, const admin_result<std::vector<provider_health>>& found) {
            if (!circuits || !found) {
              const auto& e = !circuits ? circuits.error() : found.error();
              return refuse(to, e.code, e.message);
            }
            reply_json(to, 200, health_json(*engine, *circuits, *found));
          }));
    });
  }

  static json::object health_json(const core& engine, const std::vector<circuit_description>& circuits,
                                  const std::vector<provider_health>& found) {
    const auto settings = engine.settings();
    json::array rows;
    for (const auto& [name, ignored] : settings->providers) {
      // A provider that nobody called has no figures: null, not 0 [H8].
      const auto known =
          std::find_if(found.begin(), found.end(), [&, &n = name](const auto& h) { return h.provider == n; });
      auto row = to_json(known == found.end() ? provider_health{name, {}} : *known);
      row["circuit"] = worst_state(circuits, name);
      rows.push_back(std::move(row));
    }
    static constexpr std::array<std::string_view, 3> modes{"off", "fallbacks", "all"};
    return {{"window_seconds", std::chrono::round<std::chrono::seconds>(settings->health.window).count()},
            {"reorder", modes[static_cast<std::size_t>(settings->health.reorder)]},
            {"providers", std::move(rows)}};
  }

  // Of a provider with several circuits the state that matters most: open before half_open before closed.
  static json::value worst_state(const std::vector<circuit_description>& circuits, const std::string& provider) {
    static constexpr std::array<circuit_state, 3> by_weight{circuit_state::open, circuit_state::half_open,
                                                            circuit_state::closed};
    for (const auto state : by_weight)
      for (const auto& d : circuits)
        if (d.id.provider == provider && d.figures.state == state)
          return json::value(to_string(state));
    return nullptr;
  }

  void budgets(const exchange_ptr& x) const {
    engine_->describe_budgets(
        on_thread_of(x, [](const exchange_ptr& to, const admin_result<std::vector<budget_figures>>& found) {
          if (!found)
            return refuse(to, found.error().code, found.error().message);
          json::array rows;
          for (const auto& b : *found)
            rows.push_back(to_json(b));
          reply_json(to, 200, {{"budgets", std::move(rows)}});
        }));
  }

  void usage(const exchange_ptr& x) const {
    const auto question = parse_usage_query(x->request().query);
    if (!question)
      return refuse(x, errc::invalid_request, question.error());
    const auto since = question->since.value_or(wall_time{});
    const auto until = question->until.value_or(wall_time::max());
    engine_->query_usage({since, until},
                         on_thread_of(x, [q = *question](const exchange_ptr& to, const usage_answer& a) {
                           if (!a.sums)
                             return refuse(to, errc::store_unavailable, "the usage cannot be read: " + a.problem);
                           json::array rows;
                           for (const auto& row : grouped(*a.sums, q.by))
                             rows.push_back(to_json(row, q.by));
                           const auto time = [](const std::optional<wall_time>& t) {
                             return t ? json::value(to_rfc3339(*t)) : json::value(nullptr);
                           };
                           reply_json(to, 200,
                                      {{"group_by", group_names[static_cast<std::size_t>(q.by)]},
                                       {"since", time(q.since)},
                                       {"until", time(q.until)},
                                       {"rows", std::move(rows)}});
                         }));
  }

  void telemetry(const exchange_ptr& x) const {
    const auto query = parse_telemetry_query(x->request().query);
    if (!query)
      return refuse(x, errc::invalid_request, query.error());
    engine_->query_telemetry(*query, on_thread_of(x, [](const exchange_ptr& to, const telemetry_answer& answer) {
      if (!answer.rows)
        return refuse(to, errc::store_unavailable, "the telemetry log cannot be read: " + answer.problem);
      json::array rows;
      for (const auto& row : *answer.rows)
        rows.push_back(to_json(row));
      reply_json(to, 200, {{"rows", std::move(rows)}});
    }));
  }

  void configuration(const exchange_ptr& x) const { reply_json(x, 200, config_to_json(*engine_->settings())); }

  void events(const exchange_ptr& x) const {
    if (!events_->add(x))
      refuse(x, errc::overloaded,
             "there are " + std::to_string(event_streams::most_subscribers) +
                 " subscribers of events, as many as are allowed; end one of them");
  }

  std::shared_ptr<core> engine_;
  reload_function reload_;
  std::shared_ptr<event_streams> events_;
};

} // namespace

http::handler make_handler(std::shared_ptr<core> engine, reload_function reload) {
  auto shared = std::make_shared<const api>(std::move(engine), std::move(reload));
  return [shared](const std::shared_ptr<http::exchange>& x) { shared->handle(x); };
}

std::pair<header_list, std::string> format_refusal(const http::refusal& refused) {
  header_list headers;
  headers.add("Content-Type", "application/json");
  return {std::move(headers), to_json_text(error_object(refused.code, refused.message)) + "\n"};
}

} // namespace switchyard::admin
