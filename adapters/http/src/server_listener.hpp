#pragma once

#include "server_socket.hpp"
#include "switchyard/http/io_threads.hpp"

#include <boost/system/result.hpp>

#include <string>
#include <vector>

namespace switchyard::http {

/// Acceptors that listen on `address` (HOST:PORT, [v6]:PORT), one for each I/O thread, in their order. The system
/// spreads connections over them. Of a name's addresses the IPv4 ones are tried first. Fails with a text that names the
/// address and the reason.
boost::system::result<std::vector<server_acceptor>, std::string> open_acceptors(io_threads& threads,
                                                                                const std::string& address);

/// HOST:PORT, with brackets around an IPv6 address.
std::string to_text(const boost::asio::ip::tcp::endpoint& endpoint);

} // namespace switchyard::http
