#include "switchyard/http/client.hpp"

#include "client_connection.hpp"
#include "client_core.hpp"
#include "client_tls.hpp"

#include <boost/asio/post.hpp>

namespace switchyard::http {

client_core::client_core(io_threads& threads, const provider_settings& settings, client_target where,
                         std::optional<boost::asio::ssl::context> context, client_rules how)
    : target(std::move(where)),
      tls(std::move(context)),
      rules(std::move(how)),
      timeouts(settings.timeouts),
      max_response(settings.max_response) {
  for (std::size_t i = 0; i < threads.size(); ++i)
    pools.emplace_back(*this, threads.at(i));
}

void client_core::begin(attempt_ref attempt) {
  if (attempt->ended()) { // cancelled before it began
    attempt.release();
    return;
  }
  auto& pool = pools[attempt->thread()];
  if (!client_target::is_path(attempt->request().path)) {
    boost::asio::post(pool.context(), [a = std::move(attempt)]() mutable {
      a.release()->finish(transport_error::bad_url, "the path of the request is none");
    });
    return;
  }
  if (auto kept = pool.take())
    kept->reuse(std::move(attempt));
  else
    make_connection(*this, pool)->open(std::move(attempt));
}

namespace {

class http_provider final : public client_provider {
public:
  http_provider(io_threads& threads, std::shared_ptr<client_core> core) : threads_(threads), core_(std::move(core)) {}

  ~http_provider() override {
    core_->closing.store(true, std::memory_order_relaxed);
    for (auto& pool : core_->pools)
      boost::asio::post(pool.context(), [&pool, core = core_] { pool.close_idle(); });
  }

  std::shared_ptr<attempt_handle> start(provider_request request, std::shared_ptr<attempt_listener> listener) override {
    if (core_->rules.prepare)
      core_->rules.prepare(request);
    const auto thread = threads_.pick_index();
    const bool here = thread == threads_.current_index();
    auto attempt =
        std::make_shared<client_attempt>(core_, thread, clock_now(), std::move(request), std::move(listener));
    if (here) {
      core_->begin(attempt_ref{attempt});
    } else {
      boost::asio::post(threads_.at(thread), [core = core_, a = attempt_ref{attempt}]() mutable {
        core->begin(std::move(a)); //
      });
    }
    return attempt;
  }

  client_figures figures() const noexcept override {
    client_figures sum;
    for (const auto& pool : core_->pools) {
      sum.idle += pool.idle();
      sum.active += pool.active();
    }
    return sum;
  }

private:
  io_threads& threads_;
  const std::shared_ptr<client_core> core_;
};

} // namespace

boost::system::result<std::shared_ptr<client_provider>, std::string>
make_client(io_threads& threads, const provider_settings& settings, client_rules rules) {
  auto target = client_target::make(settings);
  if (!target)
    return std::move(target).error();
  std::optional<boost::asio::ssl::context> tls;
  if (target->tls()) {
    auto context = make_client_tls(settings.tls_ca);
    if (!context)
      return std::move(context).error();
    tls.emplace(*std::move(context));
  }
  auto core = std::make_shared<client_core>(threads, settings, *std::move(target), std::move(tls), std::move(rules));
  return std::shared_ptr<client_provider>(std::make_shared<http_provider>(threads, std::move(core)));
}

} // namespace switchyard::http
