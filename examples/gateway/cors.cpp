#include "cors.hpp"

#include "request_headers.hpp"

#include <algorithm>
#include <array>
#include <utility>

namespace switchyard::gateway {

namespace {

// The contract's own request headers, and the two that every JSON request has.
constexpr std::array<std::string_view, 7> own_request_headers{"Authorization",
                                                              "Content-Type",
                                                              "Idempotency-Key",
                                                              "X-Request-Id",
                                                              "X-Switchyard-Fallback",
                                                              "X-Switchyard-Timeout",
                                                              "X-Switchyard-Idempotency-TTL"};

constexpr std::string_view readable_headers =
    "X-Request-Id, X-Switchyard-Route, X-Switchyard-Provider, X-Switchyard-Model, X-Switchyard-Attempts, "
    "X-Switchyard-Fallbacks, X-Switchyard-Cache, X-Switchyard-Degraded, X-Switchyard-Upstream-Request-Id, "
    "Idempotency-Replayed, Retry-After, retry-after-ms, x-should-retry";

// How long a browser may remember a preflight's answer, in seconds; browsers have limits of their own.
constexpr std::string_view max_age = "7200";

bool is_own(std::string_view name) noexcept {
  return std::any_of(own_request_headers.begin(), own_request_headers.end(),
                     [&](std::string_view own) { return same_field_name(own, name); });
}

// Also those that the page asks for and that go on to the provider: client libraries have headers of their own.
std::string allowed_headers(std::string_view asked) {
  std::string allowed;
  for (const auto own : own_request_headers)
    allowed.append(allowed.empty() ? "" : ", ").append(own);
  while (!asked.empty()) {
    const auto comma = std::min(asked.find(','), asked.size());
    auto name = asked.substr(0, comma);
    name.remove_prefix(std::min(name.find_first_not_of(" \t"), name.size()));
    name = name.substr(0, name.find_last_not_of(" \t") + 1);
    header_list one;
    if (one.add(name, "") && is_forwarded(name) && !is_own(name))
      allowed.append(", ").append(name);
    asked.remove_prefix(std::min(comma + 1, asked.size()));
  }
  return allowed;
}

class exchange_with_fields final : public http::exchange {
public:
  exchange_with_fields(std::shared_ptr<http::exchange> inner, header_list fields)
      : inner_(std::move(inner)), fields_(std::move(fields)) {}

  const http::request& request() const noexcept override { return inner_->request(); }
  boost::asio::io_context& context() noexcept override { return inner_->context(); }
  void reply(int status, const header_list& headers, std::string body) override {
    inner_->reply(status, joined(headers), std::move(body));
  }
  void begin(int status, const header_list& headers) override { inner_->begin(status, joined(headers)); }
  bool write(std::string_view piece, std::size_t bound) override { return inner_->write(piece, bound); }
  void on_room(std::function<void()> callback) override { inner_->on_room(std::move(callback)); }
  void end() override { inner_->end(); }
  void abort() override { inner_->abort(); }
  void close() override { inner_->close(); }
  void on_gone(std::function<void()> callback) override { inner_->on_gone(std::move(callback)); }

private:
  header_list joined(const header_list& headers) const {
    auto all = headers;
    append(all, fields_);
    return all;
  }

  std::shared_ptr<http::exchange> inner_;
  header_list fields_;
};

} // namespace

void append(header_list& fields, const header_list& more) {
  fields.reserve(fields.text().size() + more.text().size());
  for (const auto& f : more)
    fields.add(f.name, f.value);
}

cors::cors(std::vector<std::string> origins)
    : origins_(std::move(origins)), any_(std::find(origins_.begin(), origins_.end(), "*") != origins_.end()) {}

// Scheme and host have no case, and browsers send them in lower case.
bool cors::allows(std::string_view origin) const noexcept {
  return any_ || std::any_of(origins_.begin(), origins_.end(),
                             [&](const std::string& o) { return same_field_name(o, origin); });
}

header_list cors::answer_fields(const header_list& request) const {
  header_list fields;
  if (!enabled())
    return fields;
  // Also without an Origin: a cache must not give that answer to a page.
  fields.add("Vary", "Origin");
  const auto origin = request.find("Origin");
  if (!origin || !allows(*origin))
    return fields;
  fields.add("Access-Control-Allow-Origin", any_ ? "*" : *origin);
  fields.add("Access-Control-Expose-Headers", readable_headers);
  return fields;
}

bool cors::is_preflight(const header_list& request) noexcept {
  return request.contains("Origin") && request.contains("Access-Control-Request-Method");
}

header_list cors::preflight_fields(const header_list& request, std::string_view methods) const {
  header_list fields;
  if (!enabled() || !is_preflight(request) || !allows(*request.find("Origin")))
    return fields;
  fields.add("Vary", "Access-Control-Request-Headers");
  fields.add("Access-Control-Allow-Methods", methods);
  fields.add("Access-Control-Allow-Headers",
             allowed_headers(request.find("Access-Control-Request-Headers").value_or("")));
  fields.add("Access-Control-Max-Age", max_age);
  return fields;
}

std::shared_ptr<http::exchange> with_fields(std::shared_ptr<http::exchange> x, header_list fields) {
  return std::make_shared<exchange_with_fields>(std::move(x), std::move(fields));
}

} // namespace switchyard::gateway
