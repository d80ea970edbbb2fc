#include "http_call.hpp"

#include <boost/asio/io_context.hpp>
#include <boost/asio/ip/tcp.hpp>
#include <boost/beast/core.hpp>
#include <boost/beast/http.hpp>

#include <algorithm>
#include <cctype>

namespace demo {

namespace beast = boost::beast;
namespace http = beast::http;
using tcp = boost::asio::ip::tcp;

std::string answer::header(std::string_view lower_case_name) const {
  const auto found = headers.find(lower_case_name);
  return found == headers.end() ? std::string{} : found->second;
}

answer call(const std::string& base, std::string_view method, const std::string& path, const std::string& body,
            const std::map<std::string, std::string>& headers) {
  constexpr std::string_view scheme = "http://";
  const auto authority = base.substr(scheme.size());
  const auto colon = authority.rfind(':');
  boost::asio::io_context io;
  beast::tcp_stream stream{io};
  stream.connect(tcp::resolver{io}.resolve(authority.substr(0, colon), authority.substr(colon + 1)));
  http::request<http::string_body> request{http::string_to_verb(beast::string_view{method.data(), method.size()}), path,
                                           11};
  request.set(http::field::host, authority);
  request.set(http::field::content_type, "application/json");
  request.set(http::field::connection, "close");
  for (const auto& [name, value] : headers)
    request.set(name, value);
  request.body() = body;
  request.prepare_payload();
  http::write(stream, request);
  beast::flat_buffer buffer;
  http::response<http::string_body> response;
  http::read(stream, buffer, response);
  answer a;
  a.status = response.result_int();
  a.body = response.body();
  for (const auto& field : response) {
    std::string name{field.name_string()};
    std::transform(name.begin(), name.end(), name.begin(),
                   [](unsigned char c) { return static_cast<char>(std::tolower(c)); });
    a.headers[name] = std::string{field.value()};
  }
  return a;
}

} // namespace demo
