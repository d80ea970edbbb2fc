#include "gateway_program.hpp"

#include "data_plane.hpp"

#include "answers.hpp"
#include "internal_errors.hpp"

#include "switchyard/admin/admin.hpp"

#include <boost/asio/post.hpp>
#include <spdlog/spdlog.h>

#include <iostream>
#include <utility>

namespace switchyard::gateway {

gateway_program::gateway_program(std::shared_ptr<core> engine, command_line line,
                                 std::shared_ptr<const http::server_tls> tls, boost::asio::io_context& main,
                                 program_signals signals)
    : engine_(std::move(engine)),
      line_(std::move(line)),
      tls_(std::move(tls)),
      state_(std::make_shared<gateway_state>(engine_->settings()->gateway)),
      main_(main),
      signals_(signals),
      timer_(main) {}

bool gateway_program::listen() {
  const auto c = engine_->settings();
  http::server_options admin;
  admin.listen = c->admin.listen;
  auto on_reload = [this](std::function<void(std::string)> done) {
    boost::asio::post(main_, [this, done = std::move(done)] { done(reload()); });
  };
  auto on_refusal = [engine = engine_, errors = std::make_shared<internal_errors>()](const http::refusal& refused) {
    errors->report(engine->shared(), refused, "a request to the admin plane");
    return admin::format_refusal(refused);
  };
  return start("--admin or admin.listen", admin, admin::make_handler(engine_, std::move(on_reload)),
               std::move(on_refusal), admin_) &&
         start("--listen or gateway.listen", data_options(*c, tls_), make_data_plane(engine_, state_),
               make_refusal_formatter(engine_, state_), data_);
}

http::server_options gateway_program::data_options(const config& c, std::shared_ptr<const http::server_tls> tls) const {
  http::server_options data;
  data.listen = c.gateway.listen;
  data.max_body = c.gateway.max_body;
  data.header_timeout = c.gateway.header_timeout;
  data.body_timeout = c.gateway.body_timeout;
  data.tls = std::move(tls);
  data.screen = make_screener(engine_, state_);
  return data;
}

bool gateway_program::start(std::string_view setting, const http::server_options& options, http::handler handler,
                            http::refusal_formatter format, std::shared_ptr<http::server>& server) {
  auto listening = http::listen(engine_->threads(), options, std::move(handler), std::move(format));
  if (!listening) {
    spdlog::error("{}; {} gives another address", listening.error(), setting);
    return false;
  }
  server = *std::move(listening);
  return true;
}

void gateway_program::run() {
  wait_for_reload();
  signals_.stop.async_wait([this](boost::system::error_code failed, int) {
    if (!failed)
      drain();
  });
  std::cout << "ready gateway=" << (tls_ ? "https://" : "http://") << data_->address() << " admin=http://"
            << admin_->address() << std::endl;
  main_.run();
}

void gateway_program::close() {
  data_.reset();
  admin_.reset();
}

// ---- reload ----------------------------------------------------------------------------------------------------

void gateway_program::wait_for_reload() {
  signals_.reload.async_wait([this](boost::system::error_code failed, int) {
    if (failed || ended_) // one that has come already is not cancelled
      return;
    reload();
    wait_for_reload();
  });
}

// Every reason why the file was not taken into use; empty when it was.
std::string gateway_program::reload() {
  auto loaded = load_settings_again(line_);
  auto problems = loaded ? take(*std::move(loaded)) : loaded.error();
  if (problems.empty()) {
    spdlog::info("reloaded {}", line_.config_file);
  } else {
    spdlog::error("not reloaded, everything stays as it was:\n{}", problems);
    engine_->shared().emit(reload_event{false, engine_->shared().wall_clock()});
  }
  return problems;
}

std::string gateway_program::take(loaded_settings loaded) {
  auto problems = needs_restart(*engine_->settings(), loaded.settings);
  if (!problems.empty())
    return problems;
  if (auto taken = engine_->reload(std::move(loaded.settings)); !taken)
    return taken.error().message;
  const auto c = engine_->settings();
  tls_ = std::move(loaded.tls);
  state_->take(c->gateway);
  data_->reconfigure(data_options(*c, tls_));
  return {};
}

// ---- the end ---------------------------------------------------------------------------------------------------

// New requests are refused, on new connections too; running ones have their grace. A second signal ends it.
void gateway_program::drain() {
  data_->drain(); // first, so that every refusal carries Connection: close
  state_->drain();
  engine_->refuse_new();
  spdlog::info("draining: {} requests are running", engine_->in_flight());
  deadline_ = std::chrono::steady_clock::now() + engine_->settings()->gateway.shutdown_grace;
  signals_.stop.async_wait([this](boost::system::error_code failed, int) {
    if (!failed)
      deadline_ = std::chrono::steady_clock::now();
  });
  wait_until_idle();
}

void gateway_program::wait_until_idle() {
  if (engine_->in_flight() == 0) {
    data_->stop_accepting();
    data_->drain(); // who connected meanwhile and says nothing
  }
  const bool idle = engine_->in_flight() == 0 && data_->connections() == 0;
  if (idle || std::chrono::steady_clock::now() >= deadline_) {
    ended_ = true;
    signals_.stop.cancel();
    signals_.reload.cancel();
    return;
  }
  timer_.expires_after(std::chrono::milliseconds{20});
  timer_.async_wait([this](boost::system::error_code) { wait_until_idle(); });
}

} // namespace switchyard::gateway
