// Requests: their ids, what is made of a submission, and their way onto an I/O thread.

#include "core_impl.hpp"
#include "hex.hpp"

#include "switchyard/engine/budget_ledger.hpp"
#include "switchyard/engine/fallback_plan.hpp"

#include <openssl/evp.h>

#include <boost/asio/post.hpp>

#include <algorithm>
#include <utility>

namespace switchyard {

namespace {

// What `submit` returns for a request that ended at once.
class ended_request : public request_handle {
public:
  void cancel() override {}
};

std::shared_ptr<const request_result> refusal_of(errc code, std::string message) {
  auto refused = std::make_shared<request_result>();
  refused->code = code;
  refused->message = std::move(message);
  return refused;
}

// SHA-256 of path and body, a zero byte between them [I3].
payload_fingerprint fingerprint_of(std::string_view path, std::string_view body) {
  payload_fingerprint digest{};
  const auto context = std::unique_ptr<EVP_MD_CTX, decltype(&EVP_MD_CTX_free)>{EVP_MD_CTX_new(), EVP_MD_CTX_free};
  unsigned length = 0;
  EVP_DigestInit_ex(context.get(), EVP_sha256(), nullptr);
  EVP_DigestUpdate(context.get(), path.data(), path.size());
  EVP_DigestUpdate(context.get(), "", 1);
  EVP_DigestUpdate(context.get(), body.data(), body.size());
  EVP_DigestFinal_ex(context.get(), digest.data(), &length);
  return digest;
}

// Tenant, path and body [U3], of which the fingerprint of the latter two stands for the body.
std::string cache_key(const submission& s, const payload_fingerprint& fingerprint) {
  std::string key;
  key.reserve(s.tenant.size() + s.operation.size() + fingerprint.size() + 2);
  key.append(s.tenant).push_back('\0');
  key.append(s.operation).push_back('\0');
  return key.append(reinterpret_cast<const char*>(fingerprint.data()), fingerprint.size());
}

// What a request may take of its budgets at most [U1]: whichever route serves it.
budget_amount estimate(const openai::request_view& view, const std::vector<const route_target*>& chain) {
  budget_amount amount{1, view.estimated_tokens, 0};
  for (const auto* t : chain)
    if (t->price)
      amount.cost = std::max(
          amount.cost, t->price->of(view.estimated_input_tokens, view.estimated_tokens - view.estimated_input_tokens));
  return amount;
}

std::vector<const route_target*> by_health(const std::vector<const route_target*>& chain, const configured& c) {
  if (!c.health)
    return chain;
  std::vector<std::optional<double>> scores;
  for (const auto* t : chain) // a fixed answer is worth less than any model's: it goes last
    scores.push_back(t->is_static ? std::optional{-1.0} : c.health->score(t->provider));
  std::vector<const route_target*> sorted;
  for (const auto i : reorder_by_health(scores, c.settings.health.reorder))
    sorted.push_back(chain[i]);
  return sorted;
}

} // namespace

std::string core_impl::new_request_id() {
  return id_prefix_ + "-" + hex(next_id_.fetch_add(1, std::memory_order_relaxed), 8);
}

std::vector<std::string> core_impl::active_routes() const {
  const auto current = now();
  std::vector<std::string> names;
  for (const auto& name : current->settings.route_order)
    if (current->routes->routes.contains(fold_route_id(name)))
      names.push_back(name);
  return names;
}

request_spec core_impl::make_spec(submission&& s, const configured& c, const route_target& primary) const {
  const auto& settings = c.settings;
  request_spec spec;
  spec.where = c.routes;
  auto& flow = spec.flow;
  flow.request_id = std::move(s.request_id);
  flow.operation = s.operation;
  flow.tenant = s.tenant;
  flow.requested_route = primary.route;
  if (s.fallback)
    flow.chain = by_health(c.routes->chains[primary.index], c);
  else
    flow.chain = {&primary};
  flow.deadline = primary.deadline;
  flow.timeout = s.timeout;
  flow.estimated_tokens = s.view.estimated_tokens;
  flow.estimated_input_tokens = s.view.estimated_input_tokens;
  flow.seed = shared_->random();
  const bool cached = settings.cache.enabled && s.cache.store && !s.view.stream;
  payload_fingerprint fingerprint{};
  if (s.idempotency_key || cached)
    fingerprint = fingerprint_of(s.operation, *s.body);
  if (s.idempotency_key) {
    flow.keyed = true;
    spec.key = request_key{idempotency_scope{s.tenant, s.operation, *s.idempotency_key}.str(), fingerprint,
                           s.idempotency_ttl.value_or(settings.idempotency.ttl), settings.idempotency.concurrent,
                           settings.idempotency.on_interrupted};
  }
  if (cached) {
    flow.cacheable = true;
    spec.cache = request_cache{{cache_key(s, fingerprint), s.fallback}, s.cache};
  }
  if (std::ranges::any_of(settings.budgets, [&](const auto& b) { return covers(b, s.tenant, primary.route); })) {
    flow.budgeted = true;
    spec.budget = estimate(s.view, flow.chain);
  }
  spec.path = std::move(s.path);
  spec.headers = std::move(s.headers);
  flow.stream = s.view.stream;
  spec.stream = s.view.stream;
  spec.receiver = std::move(s.receiver);
  spec.body_for = [body = std::move(s.body), view = std::move(s.view)](std::string_view model) {
    return std::make_shared<const std::string>(openai::with_model(*body, view, model));
  };
  return spec;
}

std::shared_ptr<request_handle> core_impl::submit(submission s, result_callback on_done) {
  const auto current = now();
  const auto* primary = current->routes->find(fold_route_id(s.route));
  if (!primary)
    return nullptr;
  if (s.request_id.empty())
    s.request_id = new_request_id();
  in_flight_.fetch_add(1, std::memory_order_seq_cst);
  if (refusing_.load(std::memory_order_seq_cst)) {
    in_flight_.fetch_sub(1, std::memory_order_seq_cst);
    on_done(refusal_of(errc::shutting_down, "shutting down"));
    return std::make_shared<ended_request>();
  }
  auto slot = running_limit_.try_acquire();
  if (!slot) {
    finished_one();
    on_done(refusal_of(errc::overloaded, "more than " + std::to_string(running_limit_.limit()) +
                                             " requests are running (gateway.max_in_flight)"));
    return std::make_shared<ended_request>();
  }
  metrics_->request_started();
  auto counted = [this, on_done = std::move(on_done)](std::shared_ptr<const request_result> result) {
    metrics_->request_finished();
    on_done(std::move(result));
    finished_one();
  };
  const auto thread = io_.pick_index();
  auto request = std::make_shared<inline_request>(io_.at(thread), environment_, std::move(slot), std::move(counted));
  auto spec = make_spec(std::move(s), *current, *primary);
  if (thread == io_.current_index())
    begin(request, thread, std::move(spec));
  else
    boost::asio::post(io_.at(thread), [this, request, thread, spec = std::move(spec)]() mutable {
      begin(request, thread, std::move(spec));
    });
  return request;
}

void core_impl::finished_one() noexcept {
  if (in_flight_.fetch_sub(1, std::memory_order_seq_cst) == 1 && refusing_.load(std::memory_order_seq_cst)) {
    std::lock_guard lock{stop_mutex_};
    idle_.notify_all();
  }
}

void core_impl::begin(std::shared_ptr<inline_request> request, std::size_t thread, request_spec spec) {
  running_[thread].push_back(*request);
  request->start(std::move(spec));
}

} // namespace switchyard
