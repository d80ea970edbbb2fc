// The providers of a configuration, over HTTP or of the program's own.

#include "core_impl.hpp"
#include "own_provider.hpp"

#include "switchyard/http/client.hpp"
#include "switchyard/openai/stream.hpp"

#include <boost/algorithm/string/join.hpp>

#include <string>
#include <utility>
#include <vector>

namespace switchyard {

namespace {

boost::system::result<std::shared_ptr<provider>, start_error>
make_http_provider(http::io_threads& threads, const std::string& name, const provider_settings& settings) {
  http::client_rules rules{openai::inspect_by_path, openai::read_stream_by_path, {}};
  if (settings.stream_usage_inject)
    rules.prepare = openai::ask_for_usage;
  auto made = http::make_client(threads, settings, std::move(rules));
  if (!made)
    return start_error{start_error::kind::provider, "provider " + name + ": " + made.error()};
  return std::shared_ptr<provider>{*std::move(made)};
}

// All that is wrong with providers; nothing when nothing is.
std::optional<start_error> provider_error(const std::vector<std::string>& problems) {
  if (problems.empty())
    return std::nullopt;
  return start_error{start_error::kind::provider, boost::algorithm::join(problems, "\n")};
}

} // namespace

std::optional<start_error> core::check(const config& c) {
  http::io_threads none{1}; // which never run
  std::vector<std::string> problems;
  for (const auto& [name, settings] : c.providers) {
    if (settings.type == provider_settings::kind::static_answer)
      continue;
    if (const auto made = make_http_provider(none, name, settings); !made)
      problems.push_back(made.error().message);
  }
  return provider_error(problems);
}

// What is called as before keeps its connections. A file of certificates may have changed under the same name.
std::optional<start_error> core_impl::make_providers(configured& c, const configured* before) {
  std::vector<std::string> problems;
  for (const auto& [name, own] : options_.providers)
    c.providers[name] = std::make_shared<detail::own_provider>(own, io_);
  for (const auto& [name, settings] : c.settings.providers) {
    if (c.providers.contains(name) || settings.type == provider_settings::kind::static_answer)
      continue;
    if (before && settings.tls_ca.empty() && before->providers.contains(name) &&
        before->settings.providers.at(name) == settings) {
      c.providers[name] = before->providers.at(name);
      continue;
    }
    auto made = make_http_provider(io_, name, settings);
    if (made)
      c.providers[name] = *std::move(made);
    else
      problems.push_back(made.error().message);
  }
  return provider_error(problems);
}

} // namespace switchyard
