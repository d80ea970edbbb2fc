#include "resolve.hpp"

#include "switchyard/engine/setting_rules.hpp"
#include "switchyard/engine/validate.hpp"

#include <boost/url/parse.hpp>
#include <boost/url/url_view.hpp>

#include <charconv>
#include <filesystem>
#include <fstream>

namespace switchyard::detail {
namespace {

class resolver {
public:
  resolver(const environment& env, std::vector<config_problem>& problems) : env_(env), problems_(problems) {}

  void resolve_provider(provider_settings& provider, const std::string& pointer) {
    resolve_secret(provider.api_key, provider.api_key_env, pointer + "/api_key_env");
    for (auto& [name, header] : provider.headers)
      resolve_secret(header.value, header.secret_env, child_pointer(pointer + "/headers", name) + "/env");
    check_file(provider.tls_ca, pointer + "/tls/ca");
    check_url(provider.base_url, pointer + "/base_url");
  }

  void resolve_secret(secret& out, const std::string& variable, const std::string& pointer) {
    if (!holds(text_rule{text_form::variable}, variable))
      return; // none, or `validate` refuses the name; it is not looked up, as it may be a pasted key
    auto value = env_(variable);
    if (!value)
      return add(pointer, "the environment variable " + variable + " is not set; accepted: one that is set");
    if (value->empty())
      return add(pointer, "the environment variable " + variable + " is empty; accepted: one that is not");
    out = secret{std::move(*value)};
  }

  void check_file(const std::string& path, const std::string& pointer) {
    if (path.empty())
      return;
    std::error_code error;
    const bool is_file = std::filesystem::is_regular_file(path, error);
    if (!is_file || !std::ifstream(path).is_open())
      add(pointer, "cannot read the file " + json_quoted(path) + (error ? ": " + error.message() : std::string{}) +
                       "; accepted: the path of a readable PEM file");
  }

private:
  void check_url(std::string& url, const std::string& pointer) {
    if (!holds(text_rule{text_form::base_url}, url))
      return; // none, or `validate` refuses it
    const auto parsed = boost::urls::parse_uri(url);
    if (const auto wrong = url_mistake(parsed); !wrong.empty())
      return add(pointer, std::string(wrong) + "; accepted: " + accepted(text_rule{text_form::base_url}));
    while (url.ends_with('/'))
      url.pop_back();
  }

  static std::string_view url_mistake(const boost::system::result<boost::urls::url_view>& url) {
    if (!url)
      return "not a URL";
    if (url->has_userinfo())
      return "a user or password stands in the URL";
    if (url->has_query())
      return "a query stands in the URL, where \"query\" is its place";
    if (url->has_fragment())
      return "a fragment stands in the URL";
    if (url->encoded_host().empty())
      return "the URL has no host";
    // Boost.URL 1.81 reads the x of http://host:x/ as the start of a path.
    if (!url->encoded_path().empty() && url->encoded_path().front() != '/')
      return "the host or port is not one";
    if (url->has_port() && !is_port(url->port()))
      return "the port is not from 1 to 65535";
    return {};
  }

  /// Boost.URL 1.81 takes any digits, and its port number wraps around.
  static bool is_port(std::string_view digits) {
    std::uint16_t port = 0;
    const auto [end, wrong] = std::from_chars(digits.data(), digits.data() + digits.size(), port);
    return wrong == std::errc{} && end == digits.data() + digits.size() && port != 0;
  }

  void add(const std::string& pointer, std::string message) {
    problems_.push_back({pointer, 0, 0, "", std::move(message)});
  }

  const environment& env_;
  std::vector<config_problem>& problems_;
};

} // namespace

std::vector<config_problem> resolve(config& settings, const environment& env) {
  std::vector<config_problem> problems;
  resolver outside{env, problems};
  for (auto& [name, provider] : settings.providers)
    outside.resolve_provider(provider, child_pointer("/providers", name));
  for (auto& [name, tenant] : settings.gateway.tenants)
    outside.resolve_secret(tenant.key, tenant.key_env, child_pointer("/gateway/tenants", name) + "/key_env");
  outside.resolve_secret(settings.admin.token, settings.admin.token_env, "/admin/token_env");
  if (const auto& tls = settings.gateway.tls) {
    outside.check_file(tls->certificate, "/gateway/tls/certificate");
    outside.check_file(tls->key, "/gateway/tls/key");
  }
  if (const auto& cluster = settings.cluster) {
    outside.check_file(cluster->certificate, "/cluster/tls/certificate");
    outside.check_file(cluster->key, "/cluster/tls/key");
    outside.check_file(cluster->ca, "/cluster/tls/ca");
  }
  return problems;
}

} // namespace switchyard::detail
