#include "client_tls.hpp"

#include "client_connection.hpp"
#include "client_core.hpp"

#include <boost/asio/ssl/host_name_verification.hpp>
#include <boost/asio/ssl/stream.hpp>
#include <boost/asio/write.hpp>

namespace switchyard::http {

namespace asio = boost::asio;
namespace ssl = boost::asio::ssl;
using boost::system::error_code;

boost::system::result<ssl::context, std::string> make_client_tls(const std::string& ca_file) {
  ssl::context context(ssl::context::tls_client);
  SSL_CTX_set_min_proto_version(context.native_handle(), TLS1_2_VERSION);
  static constexpr unsigned char protocol[] = "\x08http/1.1";
  SSL_CTX_set_alpn_protos(context.native_handle(), protocol, sizeof protocol - 1);
  error_code ec;
  context.set_verify_mode(ssl::verify_peer, ec);
  if (ca_file.empty())
    context.set_default_verify_paths(ec);
  else
    context.load_verify_file(ca_file, ec);
  if (ec)
    return (ca_file.empty() ? "the system's CA certificates" : "CA file " + ca_file) +
           " cannot be loaded: " + ec.message();
  return context;
}

namespace {

/// Asio's check of the name, which also leaves the reason of a refusal.
class name_check {
public:
  explicit name_check(const std::string& host) : check_(host) {}

  bool operator()(bool preverified, ssl::verify_context& context) const {
    const bool ok = check_(preverified, context);
    if (!ok && preverified)
      X509_STORE_CTX_set_error(context.native_handle(), X509_V_ERR_HOSTNAME_MISMATCH);
    return ok;
  }

private:
  ssl::host_name_verification check_;
};

class tls_connection final : public client_connection {
public:
  tls_connection(client_core& core, connection_pool& pool)
      : client_connection(core, pool), stream_(pool.context(), *core.tls) {}

private:
  tcp::socket& socket() noexcept override { return stream_.next_layer(); }

  void secure() override {
    const auto& target = core().target;
    error_code ec;
    stream_.set_verify_callback(name_check(target.host()), ec);
    // The server name is for names only (RFC 6066 3).
    if (!target.address() && SSL_set_tlsext_host_name(stream_.native_handle(), target.host().c_str()) != 1)
      ec = asio::error::invalid_argument;
    if (ec)
      return on_secured(ec, transport_error::tls, "the host's name cannot be used");
    stream_.async_handshake(ssl::stream_base::client,
                            [me = self(this)](const error_code& error) { me->on_handshake(error); });
  }

  void on_handshake(const error_code& ec) {
    if (!ec)
      return on_secured(ec, {}, {});
    const auto verdict = SSL_get_verify_result(stream_.native_handle());
    if (verdict != X509_V_OK)
      return on_secured(ec, transport_error::tls,
                        std::string("certificate verify failed (") + X509_verify_cert_error_string(verdict) + ")");
    const bool lost = ec.category() == boost::system::system_category();
    on_secured(ec, lost ? transport_error::reset : transport_error::tls, "TLS handshake: " + ec.message());
  }

  void send(const request_buffers& request) override {
    // Nothing is known of a record that was written in part: it counts as sent.
    asio::async_write(stream_, request,
                      [me = self(this)](const error_code& ec, std::size_t) { me->on_sent(ec, false); });
  }

  void receive(asio::mutable_buffer into) override {
    stream_.async_read_some(into, [me = self(this)](const error_code& ec, std::size_t n) { me->on_received(ec, n); });
  }

  ssl::stream<tcp::socket> stream_;
};

} // namespace

std::shared_ptr<client_connection> make_tls_connection(client_core& core, connection_pool& pool) {
  return std::make_shared<tls_connection>(core, pool);
}

} // namespace switchyard::http
