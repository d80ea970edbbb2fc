#pragma once

#include <boost/asio/ssl/context.hpp>
#include <boost/system/result.hpp>

#include <string>

namespace switchyard::http {

/// A context for connections to a provider: TLS 1.2 or newer, certificates checked against the PEM file, or against the
/// system's when it is empty. Fails with a text that names the file.
boost::system::result<boost::asio::ssl::context, std::string> make_client_tls(const std::string& ca_file);

} // namespace switchyard::http
