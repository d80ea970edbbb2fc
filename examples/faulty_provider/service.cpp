#include "service.hpp"

#include "control.hpp"

#include <boost/asio/post.hpp>

#include <algorithm>

namespace faulty {
namespace {

switchyard::header_list json_headers() {
  switchyard::header_list headers;
  headers.add("Content-Type", "application/json");
  return headers;
}

void add_retry_after(switchyard::header_list& headers, const std::optional<duration>& wait) {
  if (!wait)
    return;
  const auto seconds = std::chrono::ceil<std::chrono::seconds>(*wait).count();
  headers.add("Retry-After", std::to_string(seconds));
  headers.add("retry-after-ms", std::to_string(switchyard::ceil_ms(*wait)));
}

std::string_view type_of(int status) noexcept {
  if (status == 429)
    return "rate_limit_error";
  return status >= 500 ? "server_error" : "invalid_request_error";
}

// What is counted as the answer's status; 0 for none.
int status_of(const plan& p) noexcept {
  if (p.what == behaviour::status || p.what == behaviour::refused)
    return p.status;
  return p.what == behaviour::close_without_answer ? 0 : 200;
}

void reply_status(http::exchange& exchange, const plan& p) {
  auto headers = json_headers();
  add_retry_after(headers, p.retry_after);
  const std::string message = p.message.empty() ? "the provider failed as its script says" : p.message;
  exchange.reply(p.status, headers, error_body(message, type_of(p.status), p.code));
}

} // namespace

void reply_json(http::exchange& exchange, int status, std::string body) {
  exchange.reply(status, json_headers(), std::move(body));
}

void reply_error(http::exchange& exchange, int status, std::string_view message, std::string_view code) {
  reply_json(exchange, status, error_body(message, type_of(status), code));
}

service::service(std::string name, script s, std::uint64_t seed) : name_(std::move(name)), seed_(seed), random_(seed) {
  replace_script(std::move(s));
}

void service::replace_script(script s) {
  script_ = std::move(s);
  stream_rules_ = std::make_shared<const stream_script>(script_.stream);
  loaded_ = std::chrono::steady_clock::now();
}

void service::release() {
  holding_ = false;
  std::vector<number> held;
  for (const auto& [id, p] : pending_)
    if (p.held)
      held.push_back(id);
  for (const number id : held)
    answer(id);
}

std::size_t service::held() const noexcept {
  return static_cast<std::size_t>(std::ranges::count_if(pending_, [](const auto& p) { return p.second.held; }));
}

void service::handle(std::shared_ptr<http::exchange> exchange) {
  const auto& request = exchange->request();
  if (handle_control(*this, *exchange))
    return;
  if (const auto what = switchyard::openai::operation_of(request.path)) {
    if (request.method == "POST")
      return serve(*what, std::move(exchange));
    return reply_error(*exchange, 405, "use POST", "method_not_allowed");
  }
  if (request.path != "/v1/models")
    return reply_error(*exchange, 404, "no such path: " + request.path, "not_found");
  if (request.method != "GET")
    return reply_error(*exchange, 405, "use GET", "method_not_allowed");
  reply_json(*exchange, 200, model_list(script_.models));
}

// A request that is wrong in itself is told so, but by a provider that is up and takes its time.
plan service::judge(const boost::system::result<call, std::string>& request) {
  const auto elapsed = std::chrono::steady_clock::now() - loaded_;
  plan p = decide(script_, manual_ ? &*manual_ : nullptr, elapsed, random_);
  if (p.what != behaviour::answer)
    return p;
  if (!request) {
    p.what = behaviour::refused;
    p.status = 400;
    p.message = request.error();
  } else if (!script_.models.empty() && std::ranges::find(script_.models, request->model) == script_.models.end()) {
    p.what = behaviour::refused;
    p.status = 404;
    p.code = "model_not_found";
    p.message = "the model `" + request->model + "` does not exist";
  }
  return p;
}

void service::serve(operation what, std::shared_ptr<http::exchange> exchange) {
  auto request = read_call(what, exchange->request().body, name_);
  plan fate = judge(request);
  statistics_.began(exchange->request().headers.find("Authorization").value_or(""), fate.what);
  const number id = ++last_;
  if (fate.what == behaviour::reset) {
    statistics_.completed(0);
    return exchange->abort();
  }
  exchange->on_gone([this, id] { client_left(id); });
  auto& context = exchange->context();
  const auto delay = fate.delay;
  const bool silent = fate.what == behaviour::silence;
  pending p{std::move(exchange), boost::asio::steady_timer(context), std::move(fate), {}, stream_rules_};
  if (request)
    p.request = std::move(*request);
  p.request.number = id;
  pending_.emplace(id, std::move(p));
  if (!silent)
    wait(id, delay, &service::latency_over);
}

// Goes on at once when there is nothing to wait for.
void service::wait(number id, duration d, void (service::*then)(number)) {
  if (d <= duration::zero())
    return (this->*then)(id);
  later(id, d, then);
}

void service::later(number id, duration d, void (service::*then)(number)) {
  auto& p = pending_.at(id);
  const auto go_on = [this, id, then](const boost::system::error_code& cancelled = {}) {
    if (!cancelled && pending_.contains(id))
      (this->*then)(id);
  };
  if (d <= duration::zero())
    return boost::asio::post(p.exchange->context(), go_on); // spares the timers
  p.timer.expires_after(d);
  p.timer.async_wait(go_on);
}

void service::latency_over(number id) {
  if (holding_)
    pending_.at(id).held = true;
  else
    answer(id);
}

void service::answer(number id) {
  auto& waiting = pending_.at(id);
  waiting.held = false;
  const bool whole = !waiting.request.stream || waiting.fate.what == behaviour::status ||
                     waiting.fate.what == behaviour::refused || waiting.fate.what == behaviour::close_without_answer;
  if (!whole)
    return begin_stream(id);
  const pending p = take(id);
  statistics_.completed(status_of(p.fate));
  switch (p.fate.what) {
  case behaviour::status:
  case behaviour::refused:
    return reply_status(*p.exchange, p.fate);
  case behaviour::close_without_answer:
    return p.exchange->abort();
  default:
    return reply_json(*p.exchange, 200, whole_answer(p.request, p.fate.what));
  }
}

service::pending service::take(number id) {
  return std::move(pending_.extract(id).mapped());
}

void service::client_left(number id) {
  const auto it = pending_.find(id);
  if (it == pending_.end())
    return;
  statistics_.aborted();
  if (it->second.flow)
    statistics_.stream_ended(stream_end::aborted);
  pending_.erase(it); // with its timer
}

} // namespace faulty
