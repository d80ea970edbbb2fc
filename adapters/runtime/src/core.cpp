#include "core_impl.hpp"

#include "hex.hpp"
#include "memory_stores.hpp"
#include "thread_owner.hpp"
#include "visiting_thread.hpp"

#include "switchyard/engine/validate.hpp"
#include "switchyard/rocksdb/database.hpp"

#include <openssl/rand.h>

#include <boost/asio/post.hpp>
#include <boost/json/parse.hpp>
#include <caf/scoped_actor.hpp>
#include <caf/send.hpp>
#include <caf/thread_hook.hpp>

#include <algorithm>
#include <thread>
#include <utility>

namespace switchyard {

namespace {

using std::chrono::seconds;

std::size_t processors() {
  return std::max(1u, std::thread::hardware_concurrency());
}

std::uint64_t random_seed() {
  std::uint64_t seed = 0;
  if (RAND_bytes(reinterpret_cast<unsigned char*>(&seed), sizeof seed) != 1)
    seed = static_cast<std::uint64_t>(std::chrono::steady_clock::now().time_since_epoch().count());
  return seed;
}

// Says of the threads of CAF whose they are.
class owned_actor_threads : public caf::thread_hook {
public:
  explicit owned_actor_threads(const void* owner) : owner_(owner) {}
  void init(caf::actor_system&) override {}
  void thread_started() override { detail::thread_owner = owner_; }
  void thread_terminates() override { detail::thread_owner = nullptr; }

private:
  const void* owner_;
};

// SplitMix64 (Steele, Lea, Flood 2014): turns a counter into well-mixed bits.
std::uint64_t mix(std::uint64_t z) {
  z = (z ^ (z >> 30)) * 0xbf58476d1ce4e5b9ull;
  z = (z ^ (z >> 27)) * 0x94d049bb133111ebull;
  return z ^ (z >> 31);
}

std::string text_of(const std::vector<setting_problem>& problems) {
  std::string text;
  for (const auto& p : problems)
    text += (text.empty() ? "" : "\n") + p.pointer + ": " + p.value + ": " + p.message;
  return text;
}

// What the engine cannot check: it has no parser of JSON.
void check_bodies(const config& c, std::vector<setting_problem>& problems) {
  const auto check = [&](std::string pointer, const std::string& body) {
    boost::json::error_code failed;
    const auto value = boost::json::parse(body, failed);
    if (failed || !value.is_object())
      problems.push_back({std::move(pointer), body.substr(0, 100), "must be the text of a JSON object"});
  };
  for (const auto& [name, circuit] : c.circuits)
    if (circuit.canary)
      check(child_pointer("/circuits", name) + "/canary/body", circuit.canary->body);
  for (const auto& [name, provider] : c.providers)
    if (provider.type == provider_settings::kind::static_answer)
      check(child_pointer("/providers", name) + "/body", provider.static_body);
}

} // namespace

std::optional<start_error> core_impl::check_settings(config& c) {
  complete(c);
  auto [problems, warnings] = validate(c);
  c.warnings = std::move(warnings);
  if (problems.empty())
    check_bodies(c, problems);
  if (problems.empty())
    return std::nullopt;
  return start_error{start_error::kind::configuration, text_of(problems)};
}

boost::system::result<std::shared_ptr<core>, start_error> core::start(config c, core_options options) {
  if (auto problem = core_impl::check_settings(c))
    return *std::move(problem);
  const std::shared_ptr<core_impl> made{new core_impl(std::move(c), std::move(options)), &core_impl::dispose};
  if (auto problem = made->start())
    return *std::move(problem);
  return std::shared_ptr<core>{made};
}

core_impl::core_impl(config c, core_options options)
    : options_(std::move(options)),
      log_lines_(this, options_.log),
      running_limit_(c.gateway.max_in_flight),
      io_(options_.io_threads ? options_.io_threads : processors()),
      shared_(std::make_shared<services>()),
      hub_(std::make_shared<event_hub>(this, log_lines_.callback())),
      id_prefix_(hex(random_seed(), 12)),
      random_state_(random_seed()),
      running_(io_.size()) {
  configured_.store(std::make_shared<configured>(std::move(c)));
  shared_->events = hub_.get();
  shared_->log = log_lines_.callback();
  shared_->wall_clock = [] { return wall_time{std::chrono::system_clock::now()}; };
  shared_->random = [this] { return mix(random_state_.fetch_add(0x9e3779b97f4a7c15ull, std::memory_order_relaxed)); };
  // Waking an idle worker costs a tenth under `sharing` of what it does under work stealing.
  actor_config_.set("scheduler.policy", caf::atom("sharing"));
  actor_config_.set("scheduler.max-threads",
                    options_.actor_threads ? options_.actor_threads : std::max<std::size_t>(2, processors()));
  actor_config_.add_thread_hook<owned_actor_threads>(this);
}

// ---- start ----------------------------------------------------------------------------------------------------

std::optional<start_error> core_impl::start() {
  auto first = std::make_shared<configured>(now()->settings);
  if (auto problem = make_providers(*first, nullptr))
    return problem;
  if (auto problem = open_stores())
    return problem;
  auto history = read_history();
  if (!history)
    return start_error{start_error::kind::store, history.error().message};
  connect(*first, nullptr, *registry_);
  configured_.store(std::move(first));
  for (const auto& w : now()->settings.warnings)
    shared_->log(log_level::warning, w);
  make_observers();
  start_actors(std::move(*history));
  io_.start();
  started_ = true;
  return std::nullopt;
}

std::optional<start_error> core_impl::open_stores() {
  const auto current = now();
  const auto& settings = current->settings;
  log_ = options_.telemetry;
  answers_ = options_.answers;
  budget_store_ = options_.budgets;
  if (options_.in_memory) {
    if (!answers_)
      answers_ = std::make_shared<memory_answers>();
    return std::nullopt;
  }
  if (log_ && answers_ && (budget_store_ || settings.budgets.empty()))
    return std::nullopt;
  store::options o;
  o.block_cache = settings.store.block_cache;
  o.durability = settings.idempotency.durability;
  o.retention = settings.telemetry.retention;
  o.log = [log = shared_->log](store::log_level level, const std::string& text) {
    log(level == store::log_level::error ? log_level::error : log_level::warning, "store: " + text);
  };
  auto database = store::database::open(settings.telemetry.path, o);
  if (!database)
    return start_error{start_error::kind::store, database.error().message};
  if (!log_)
    log_ = (*database)->telemetry();
  if (!answers_)
    answers_ = (*database)->answers();
  if (!budget_store_)
    budget_store_ = (*database)->budgets();
  return std::nullopt;
}

store_result<std::vector<scored_attempt>> core_impl::read_history() {
  std::vector<scored_attempt> history;
  if (!log_)
    return history;
  // A request begins before its attempts end: look back by the longest deadline more, or its late attempts are missed.
  const auto current = now();
  duration longest{};
  for (const auto& [name, route] : current->settings.routes)
    longest = std::max(longest, route.deadline);
  const auto since = shared_->wall_clock() - current->settings.health.window - longest;
  auto scanned = log_->scan(since, [&](const telemetry_record& record) { append_scored(record, history); });
  if (!scanned)
    return scanned.error();
  return history;
}

namespace {

// Whose ledgers a configuration names [U5]. Without tenants there is one, without a name.
std::vector<std::string> tenants_with_budgets(const config& c) {
  std::vector<std::string> all;
  for (const auto& [name, settings] : c.gateway.tenants)
    all.push_back(name);
  if (all.empty())
    all.emplace_back();
  for (const auto& b : c.budgets)
    all.push_back(b.tenant);
  return all;
}

} // namespace

metrics::known_names core_impl::names_of(const configured& c) const {
  metrics::known_names names;
  for (const auto& t : c.routes->targets) {
    auto& route = names.routes.emplace_back(metrics::known_route{t.route, t.provider, t.model, t.region});
    for (const auto* link : c.routes->chains[t.index])
      route.chain.push_back(link->route);
  }
  names.tenants = tenants_with_budgets(c.settings);
  for (const auto& [name, settings] : c.settings.providers)
    names.providers.push_back(name);
  for (const auto& handle : registry_->all()) {
    const auto& id = handle->cell().parts();
    names.circuits.push_back({handle->cell().id(), id.provider, id.model, id.region});
  }
  return names;
}

void core_impl::make_observers() {
  metrics_ = std::make_shared<metrics::metrics>(names_of(*now()));
  hub_->add_inline(metrics_);
  hub_->add_inline(std::make_shared<key_alarm>(shared_));
}

void core_impl::start_actors(std::vector<scored_attempt> history) {
  const visiting_thread visit;
  system_ = std::make_unique<caf::actor_system>(actor_config_);
  directory_ = spawn_directory(*system_, registry_, shared_);
  supervisor_ = spawn_supervisor(*system_, supervised_actors(std::move(history)), shared_);
  auto environment = std::make_shared<request_environment>();
  environment->system = system_.get();
  environment->shared = shared_;
  environment->telemetry = queue_;
  environment->writer = writer_;
  environment->shards = shards_;
  environment->cache = cache_;
  environment->budgets = budgets_;
  environment_ = std::move(environment);
  bound_requests(now()->settings.gateway.max_in_flight);
  // The directory starts the breakers; from its first answer on every circuit has one.
  caf::scoped_actor self{*system_};
  self->request(directory_, seconds{10}, switchyard::list_circuits{})
      .receive([](const std::vector<circuit_description>&) {},
               [this](const caf::error& e) {
                 shared_->log(log_level::error, "the directory does not answer: " + caf::to_string(e));
               });
  self->request(supervisor_, seconds{10}, await_start{})
      .receive([](const done&) {},
               [this](const caf::error& e) {
                 shared_->log(log_level::error, "the supervisor does not answer: " + caf::to_string(e));
               });
}

// The actors behind the breakers. A successor of the health actor reads the log as the first one did.
std::vector<supervised> core_impl::supervised_actors(std::vector<scored_attempt> history) {
  std::vector<supervised> all;
  const auto add = [&](std::string name, const auto& slot, auto spawn) {
    all.push_back({std::move(name), [this, slot, spawn]() mutable {
                     const std::lock_guard lock{successor_mutex_};
                     auto actor = spawn();
                     slot->set(actor);
                     if constexpr (std::is_same_v<decltype(actor), telemetry_writer_actor>)
                       caf::anon_send(actor, drain_telemetry{}); // what was pushed meanwhile woke nobody
                     if (stopping_)                              // and those who end the actors may have looked already
                       caf::anon_send_exit(actor, caf::exit_reason::user_shutdown);
                     return caf::actor_cast<caf::actor>(actor);
                   }});
  };
  add("health", health_,
      [this, first = std::make_shared<std::vector<scored_attempt>>(std::move(history)), born = false]() mutable {
        if (std::exchange(born, true))
          if (auto again = read_history())
            *first = std::move(*again);
        const auto current = now();
        return spawn_health(*system_, current->settings.health, std::exchange(*first, {}), shared_, current->health);
      });
  add("the telemetry writer", writer_,
      [this] { return spawn_telemetry_writer(*system_, queue_, log_, health_, shared_); });
  add("the telemetry reader", reader_, [this] { return spawn_telemetry_reader(*system_, log_); });
  // Also without either: a reload may bring them.
  add("the cache", cache_, [this] { return spawn_cache(*system_, now()->settings.cache, shared_); });
  add("the budgets", budgets_,
      [this] { return spawn_budgets(*system_, now()->settings.budgets, budget_store_, shared_); });
  for (std::size_t i = 0; i < std::max<std::size_t>(1, options_.idempotency_shards); ++i) {
    shards_.push_back(std::make_shared<actor_slot<idempotency_actor>>());
    add("idempotency shard " + std::to_string(i), shards_.back(),
        [this] { return spawn_idempotency_shard(*system_, answers_, shared_); });
  }
  return all;
}

} // namespace switchyard
