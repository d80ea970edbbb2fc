#include "submission_check.hpp"

#include "switchyard/engine/idempotency_ledger.hpp"

#include <algorithm>
#include <memory>
#include <utility>

namespace switchyard::detail {

namespace {

constexpr std::size_t longest_request_id = 128;

bool usable_request_id(const std::string& id) noexcept {
  const auto allowed = [](char c) {
    return (c >= 'A' && c <= 'Z') || (c >= 'a' && c <= 'z') || (c >= '0' && c <= '9') || c == '.' || c == '_' ||
           c == '-';
  };
  return !id.empty() && id.size() <= longest_request_id && std::all_of(id.begin(), id.end(), allowed);
}

// An absolute path of visible ASCII: it goes into a request line as it is.
bool usable_path(const std::string& path) noexcept {
  return path.starts_with('/') &&
         std::all_of(path.begin(), path.end(), [](char c) { return c > 0x20 && c < 0x7f && c != '#'; });
}

std::string problem_of(const request& r) {
  if (!usable_request_id(r.request_id))
    return "request_id must be 1-128 characters of [A-Za-z0-9._-]";
  if (!usable_path(r.operation))
    return "operation must be a path of visible ASCII that begins with /";
  if (r.tenant.find('\0') != std::string::npos)
    return "tenant must not hold a zero byte";
  if (r.idempotency_key && !valid_idempotency_key(*r.idempotency_key))
    return "idempotency_key must be 1-255 characters from 0x21 to 0x7E";
  if (r.idempotency_ttl && *r.idempotency_ttl <= duration::zero())
    return "idempotency_ttl must be positive";
  if (r.timeout && *r.timeout <= duration::zero())
    return "timeout must be positive";
  return {};
}

// The body as it is or, where it has no model, with one: which one does not matter, a provider is sent its own.
boost::system::result<openai::request_view, std::string> inspect(std::string& body) {
  auto view = openai::inspect_request(body);
  if (view)
    return view;
  const auto brace = body.find_first_not_of(" \t\r\n");
  if (brace == std::string::npos || body[brace] != '{')
    return view;
  const auto next = body.find_first_not_of(" \t\r\n", brace + 1);
  const bool empty = next != std::string::npos && body[next] == '}';
  auto completed = body;
  completed.insert(brace + 1, empty ? R"("model":"x")" : R"("model":"x",)");
  if (auto with_model = openai::inspect_request(completed); with_model && with_model->model_spans.size() == 1) {
    body = std::move(completed);
    return with_model;
  }
  return view; // it was not, or not only, the model that was missing
}

std::string path_below_base(const std::string& operation) {
  constexpr std::string_view version = "/v1/";
  return operation.starts_with(version) ? operation.substr(version.size() - 1) : operation;
}

} // namespace

boost::system::result<submission, request_problem> check_request(request r, std::shared_ptr<stream_receiver> receiver) {
  if (auto problem = problem_of(r); !problem.empty())
    return request_problem{errc::invalid_request, std::move(problem)};
  auto view = inspect(r.body);
  if (!view)
    return request_problem{errc::invalid_request, view.error()};
  if (view->stream && !receiver)
    return request_problem{errc::invalid_request, "body asks for a stream: submit it with async_stream"};
  if (!view->stream && receiver)
    return request_problem{errc::invalid_request, "body asks for no stream: async_stream takes \"stream\": true"};
  submission s;
  s.request_id = std::move(r.request_id);
  s.tenant = std::move(r.tenant);
  s.route = std::move(r.route);
  s.path = path_below_base(r.operation);
  s.operation = std::move(r.operation);
  s.body = std::make_shared<const std::string>(std::move(r.body));
  s.view = *std::move(view);
  if (!r.headers.empty())
    s.headers = std::make_shared<const header_list>(std::move(r.headers));
  s.idempotency_key = std::move(r.idempotency_key);
  s.idempotency_ttl = r.idempotency_ttl;
  s.timeout = r.timeout;
  s.fallback = r.fallback;
  s.cache = r.cache;
  s.receiver = std::move(receiver);
  return s;
}

failure_class class_of(errc code, const std::vector<trail_entry>& trail) noexcept {
  switch (code) {
  case errc::cancelled:
  case errc::shutting_down:
    return failure_class::cancelled;
  case errc::deadline_exceeded:
    return failure_class::deadline;
  default:
    break;
  }
  if (!trail.empty())
    return trail.back().what;
  switch (code) {
  case errc::context_length_exceeded:
    return failure_class::context_length;
  case errc::misconfigured:
    return failure_class::configuration;
  case errc::budget_exceeded:
    return failure_class::budget;
  case errc::overloaded:
    return failure_class::overloaded;
  case errc::circuit_open:
    return failure_class::circuit_open;
  case errc::invalid_request:
  case errc::unknown_route:
  case errc::idempotency_key_reused:
    return failure_class::client_error;
  default:
    return failure_class::unknown;
  }
}

} // namespace switchyard::detail
