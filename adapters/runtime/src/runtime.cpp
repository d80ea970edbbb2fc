#include "switchyard/runtime/runtime.hpp"

#include "held_sink.hpp"
#include "runtime_state.hpp"
#include "submission_check.hpp"

#include "switchyard/actors/request_result.hpp"

#include <boost/system/system_error.hpp>
#include <boost/throw_exception.hpp>

#include <stdexcept>
#include <thread>
#include <utility>

namespace switchyard {

void throw_exception_from_error(const start_error& error, const boost::source_location& where) {
  boost::throw_with_location(std::runtime_error{error.message}, where);
}

void throw_exception_from_error(const request_error& error, const boost::source_location& where) {
  boost::throw_with_location(boost::system::system_error{make_error_code(error.code), error.message}, where);
}

// ---- what is shared ----------------------------------------------------------------------------------------------

namespace detail {

guarded_circuit* runtime_state::circuit(const std::string& id, const std::string& profile) {
  std::lock_guard lock{circuits_mutex_};
  if (const auto known = circuits_.find(id); known != circuits_.end())
    return known->second.get();
  gate::pass pass{gate_};
  if (!pass)
    return nullptr;
  auto access = engine_->circuit(id, profile);
  if (!access)
    return nullptr;
  return circuits_.emplace(id, std::make_unique<guarded_circuit>(*this, std::move(access))).first->second.get();
}

void runtime_state::keep() noexcept {
  std::lock_guard lock{kept_mutex_};
  if (kept_++ == 0)
    self_ = shared_from_this();
}

void runtime_state::let_go() noexcept {
  std::shared_ptr<runtime_state> last; // the end of this object comes after the lock's
  std::lock_guard lock{kept_mutex_};
  if (--kept_ == 0)
    last = std::move(self_);
}

void runtime_state::stop(duration grace) {
  if (engine_->on_own_thread()) { // which the gate may be waiting for
    engine_->refuse_new();
    std::thread{[self = shared_from_this(), grace] { self->stop(grace); }}.detach();
    return;
  }
  gate_.close();
  engine_->stop(grace);
}

namespace {

submit_result result_of(const request_result& r, const std::string& request_id) {
  if (r.what == request_result::kind::answer && r.content)
    return response{r.content->status, r.content->headers, r.content->body, r.served, r.attempts, r.fallbacks,
                    r.streamed,        r.cached,           r.degraded,      r.age,    r.replayed, request_id};
  request_error e;
  e.code = r.code;
  e.what = class_of(r.code, r.trail);
  e.message = r.message;
  e.trail = r.trail;
  e.retry_after = r.retry_after;
  if (r.what == request_result::kind::provider_error && r.content) {
    e.provider_answer = request_error::answer{r.content->status, r.content->headers, r.content->body};
    e.message = "the provider answered with status " + std::to_string(r.content->status);
  }
  e.streamed = r.streamed;
  e.attempts = r.attempts;
  e.fallbacks = r.fallbacks;
  e.request_id = request_id;
  return e;
}

request_error simple_error(errc code, std::string message, std::string request_id = {}) {
  request_error e;
  e.code = code;
  e.what = class_of(code, {});
  e.message = std::move(message);
  e.request_id = std::move(request_id);
  return e;
}

using submit_completion = std::shared_ptr<completion<submit_result>>;

void start_request(runtime_state& state, request r, std::shared_ptr<stream_receiver> sink,
                   const submit_completion& done) {
  if (r.request_id.empty())
    r.request_id = state.engine().new_request_id();
  const auto id = r.request_id;
  const auto route = r.route;
  // One that may lead others runs on unseen [I7, I9, U3].
  const bool runs_on = !sink && (r.idempotency_key || state.engine().settings()->cache.enabled);
  const auto held = sink ? std::make_shared<held_sink>(std::move(sink)) : nullptr;
  auto checked = check_request(std::move(r), held);
  if (!checked) {
    done->complete(simple_error(checked.error().code, std::move(checked.error().message), id));
    return;
  }
  const auto handle =
      state.engine().submit(*std::move(checked), [done, held, id](std::shared_ptr<const request_result> result) {
        if (!held)
          return void(done->complete(result_of(*result, id)));
        held->end([done, id, result = std::move(result)](bool at_once) {
          if (at_once)
            done->complete(result_of(*result, id));
          else
            done->post(result_of(*result, id)); // on the sink's thread: not the place for somebody else's handler
        });
      });
  if (!handle) {
    done->complete(simple_error(errc::unknown_route, "there is no active route " + route, id));
    return;
  }
  done->on_cancel([weak_done = std::weak_ptr{done}, weak = std::weak_ptr{handle}, runs_on, id] {
    if (const auto running = weak.lock())
      running->cancel();
    if (const auto waiting = weak_done.lock(); waiting && runs_on)
      waiting->post(simple_error(errc::cancelled, "cancelled", id));
  });
}

} // namespace

void submit(const std::shared_ptr<runtime_state>& state, request r, std::shared_ptr<stream_receiver> sink,
            const submit_completion& done) {
  if (gate::pass pass{state->gate()}; pass)
    start_request(*state, std::move(r), std::move(sink), done);
  else
    done->complete(simple_error(errc::shutting_down, "the runtime has stopped", std::move(r.request_id)));
  done->initiated();
}

} // namespace detail

// ---- runtime -----------------------------------------------------------------------------------------------------

namespace {

// A configuration must have a provider and a route; a program that only guards operations of its own has neither. It
// gets a route that is not active, so nothing is ever called.
void complete_for_guards(config& c) {
  if (!c.providers.empty() || !c.routes.empty())
    return;
  c.providers["none"].base_url = "http://localhost";
  c.routes["none"].provider = "none";
  c.routes["none"].model = "none";
  c.routes["none"].active = false;
}

} // namespace

boost::system::result<runtime, start_error> runtime::start(config settings, core_options options) {
  complete_for_guards(settings);
  auto started = core::start(std::move(settings), std::move(options));
  if (!started)
    return std::move(started).error();
  return runtime{std::make_shared<detail::runtime_state>(*std::move(started))};
}

runtime& runtime::operator=(runtime&& other) noexcept {
  if (this != &other) {
    if (state_)
      state_->stop(duration::zero());
    state_ = std::move(other.state_);
  }
  return *this;
}

runtime::~runtime() {
  if (state_)
    state_->stop(duration::zero());
}

circuit_guard runtime::circuit(const std::string& id, const std::string& profile) {
  if (auto* circuit = state_->circuit(id, profile))
    return {state_, *circuit};
  if (!state_->engine().settings()->circuits.contains(profile))
    boost::throw_with_location(
        std::invalid_argument{"there is no circuit profile " + profile + " in the configuration"});
  return {};
}

boost::system::result<void, start_error> runtime::reload(config settings) {
  complete_for_guards(settings);
  return state_->engine().reload(std::move(settings));
}

void runtime::stop(duration grace) {
  state_->stop(grace);
}

std::size_t runtime::in_flight() const noexcept {
  return state_->engine().in_flight();
}

std::vector<std::string> runtime::active_routes() const {
  return state_->engine().active_routes();
}

std::string runtime::metrics_text() const {
  return state_->engine().metrics_text();
}

std::shared_ptr<void> runtime::observe(std::shared_ptr<event_sink> observer) {
  return state_->engine().observe(std::move(observer));
}

core& runtime::engine() const noexcept {
  return state_->engine();
}

} // namespace switchyard
