#include "server_listener.hpp"

#include <boost/asio/ip/address.hpp>
#include <boost/asio/ip/basic_resolver.hpp>

#include <algorithm>
#include <cerrno>
#include <charconv>
#include <cstdint>
#include <optional>
#include <string_view>
#include <sys/socket.h>
#include <utility>

namespace switchyard::http {

namespace {

using boost::asio::ip::tcp;
using boost::system::error_code;

struct host_port {
  std::string host;
  std::uint16_t port;
};

std::optional<host_port> parse_address(std::string_view text) {
  const auto colon = text.rfind(':');
  if (colon == std::string_view::npos)
    return std::nullopt;
  auto host = text.substr(0, colon);
  const auto port = text.substr(colon + 1);
  host_port parsed;
  const auto [end, error] = std::from_chars(port.data(), port.data() + port.size(), parsed.port);
  if (error != std::errc{} || end != port.data() + port.size())
    return std::nullopt;
  if (host.starts_with('[') && host.ends_with(']'))
    host = host.substr(1, host.size() - 2);
  else if (host.find(':') != std::string_view::npos)
    return std::nullopt; // which colon begins the port?
  if (host.empty())
    return std::nullopt;
  parsed.host = host;
  return parsed;
}

std::vector<tcp::endpoint> resolve(boost::asio::io_context& context, const host_port& wanted, error_code& error) {
  const auto address = boost::asio::ip::make_address(wanted.host, error);
  if (!error)
    return {{address, wanted.port}};
  boost::asio::ip::basic_resolver<tcp, io_executor> resolver(context);
  const auto found = resolver.resolve(wanted.host, std::to_string(wanted.port),
                                      tcp::resolver::passive | tcp::resolver::numeric_service, error);
  std::vector<tcp::endpoint> endpoints;
  for (const auto& entry : found)
    endpoints.push_back(entry.endpoint());
  std::stable_partition(endpoints.begin(), endpoints.end(), [](const auto& e) { return e.address().is_v4(); });
  return endpoints;
}

error_code share_port(server_acceptor& acceptor) {
  const int on = 1;
  if (::setsockopt(acceptor.native_handle(), SOL_SOCKET, SO_REUSEPORT, &on, sizeof on) != 0)
    return {errno, boost::system::system_category()};
  return {};
}

// The options are inherited by what is accepted: set here, they cost no system call for each connection.
error_code open(server_acceptor& acceptor, const tcp::endpoint& endpoint, bool share) {
  error_code error;
  if (acceptor.open(endpoint.protocol(), error) || acceptor.set_option(server_acceptor::reuse_address(true), error) ||
      acceptor.set_option(tcp::no_delay(true), error) || acceptor.set_option(server_acceptor::keep_alive(true), error))
    return error;
  if (share && (error = share_port(acceptor)))
    return error;
  if (!acceptor.bind(endpoint, error))
    acceptor.listen(server_acceptor::max_listen_connections, error);
  return error;
}

// SO_REUSEPORT alone would let two servers share a port without a word. So the first acceptor binds and listens without
// it, which fails when anybody listens there and keeps everybody else out from then on, and only then lets its own
// siblings in: at no moment can two servers both believe to have the port.
error_code open_all(io_threads& threads, tcp::endpoint endpoint, std::vector<server_acceptor>& acceptors) {
  error_code error;
  for (std::size_t i = 0; i < threads.size(); ++i) {
    auto& added = acceptors.emplace_back(threads.at(i));
    if ((error = open(added, endpoint, i > 0)))
      break;
    if (i == 0) {
      endpoint = added.local_endpoint(error);
      if (error || (threads.size() > 1 && (error = share_port(added))))
        break;
    }
  }
  return error;
}

} // namespace

boost::system::result<std::vector<server_acceptor>, std::string> open_acceptors(io_threads& threads,
                                                                                const std::string& address) {
  const auto failed = [&](const std::string& reason) { return "cannot listen on " + address + ": " + reason; };
  const auto wanted = parse_address(address);
  if (!wanted)
    return failed("not an address of the form HOST:PORT or [IPv6]:PORT");
  error_code error;
  const auto endpoints = resolve(threads.at(0), *wanted, error);
  if (endpoints.empty())
    return failed("no such host (" + error.message() + ")");
  std::optional<error_code> first;
  for (const auto& endpoint : endpoints) {
    std::vector<server_acceptor> acceptors;
    error = open_all(threads, endpoint, acceptors);
    if (!error)
      return acceptors;
    first = first.value_or(error);
  }
  return failed(first->message());
}

std::string to_text(const tcp::endpoint& endpoint) {
  const auto host = endpoint.address().to_string();
  return (endpoint.address().is_v6() ? "[" + host + "]" : host) + ":" + std::to_string(endpoint.port());
}

} // namespace switchyard::http
