// Connections without TLS.

#include "client_connection.hpp"
#include "client_core.hpp"

#include <boost/asio/write.hpp>

namespace switchyard::http {

namespace asio = boost::asio;

namespace {

class plain_connection final : public client_connection {
public:
  plain_connection(client_core& core, connection_pool& pool) : client_connection(core, pool), socket_(pool.context()) {}

private:
  tcp::socket& socket() noexcept override { return socket_; }

  void secure() override { on_secured({}, {}, {}); }

  void send(const request_buffers& request) override {
    // Nearly always the kernel takes all of it at once.
    error_code ec;
    const auto n = socket_.write_some(request, ec);
    if (ec && ec != asio::error::would_block)
      return on_sent(ec, true);
    if (n == asio::buffer_size(request))
      return on_sent({}, false);
    send_rest(request, n);
  }

  void send_rest(request_buffers rest, std::size_t written) {
    const auto head = std::min(written, rest[0].size());
    rest[0] += head;
    rest[1] += written - head;
    asio::async_write(socket_, rest, [me = self(this), written](const error_code& ec, std::size_t more) {
      me->on_sent(ec, written + more == 0);
    });
  }

  void receive(asio::mutable_buffer into) override {
    socket_.async_read_some(into, [me = self(this)](const error_code& ec, std::size_t n) { me->on_received(ec, n); });
  }

  tcp::socket socket_;
};

} // namespace

std::shared_ptr<client_connection> make_connection(client_core& core, connection_pool& pool) {
  if (core.tls)
    return make_tls_connection(core, pool);
  return std::make_shared<plain_connection>(core, pool);
}

} // namespace switchyard::http
