#include "switchyard/http/server.hpp"

#include "server_listener.hpp"
#include "server_worker.hpp"

#include <boost/asio/post.hpp>

#include <algorithm>
#include <utility>
#include <vector>

namespace switchyard::http {

namespace {

class listening_server final : public server {
public:
  listening_server(io_threads& threads, std::shared_ptr<server_shared> shared, std::vector<server_acceptor> acceptors)
      : threads_(threads), shared_(std::move(shared)) {
    boost::system::error_code ignored;
    address_ = to_text(acceptors.front().local_endpoint(ignored));
    for (std::size_t i = 0; i < acceptors.size(); ++i) {
      auto& context = threads.at(i);
      const auto worker = std::make_shared<server_worker>(context, shared_, std::move(acceptors[i]));
      workers_.push_back(worker);
      boost::asio::post(context, [worker] { worker->begin(); });
    }
  }

  ~listening_server() override {
    everywhere(&server_worker::shut_down);
    // What the handler holds must not live on with an exchange that somebody keeps.
    if (!on_io_thread()) {
      shared_->on_request = nullptr;
      shared_->on_refusal = nullptr;
    }
  }

  std::string address() const override { return address_; }
  void stop_accepting() override { everywhere(&server_worker::stop_accepting); }
  void drain() override {
    everywhere(&server_worker::drain);
    if (!on_io_thread())
      everywhere(&server_worker::finish_drain);
  }
  void close_all() override { everywhere(&server_worker::close_all); }
  void reconfigure(const server_options& options) override {
    shared_->options.store(std::make_shared<const server_options>(options));
    everywhere(&server_worker::take_options);
  }
  std::size_t connections() const noexcept override { return shared_->connections.load(std::memory_order_relaxed); }

private:
  bool on_io_thread() const noexcept {
    for (std::size_t i = 0; i < threads_.size(); ++i)
      if (threads_.at(i).get_executor().running_in_this_thread())
        return true;
    return false;
  }

  // An I/O thread never waits for another: they might wait for each other.
  void everywhere(server_worker::action what) {
    const bool wait = !on_io_thread();
    for (const auto& worker : workers_)
      worker->perform(what, wait);
  }

  io_threads& threads_;
  std::shared_ptr<server_shared> shared_;
  std::vector<std::shared_ptr<server_worker>> workers_;
  std::string address_;
};

} // namespace

boost::system::result<std::shared_ptr<server>, std::string> listen(io_threads& threads, const server_options& options,
                                                                   handler on_request, refusal_formatter on_refusal) {
  auto acceptors = open_acceptors(threads, options.listen);
  if (!acceptors)
    return acceptors.error();
  auto shared = std::make_shared<server_shared>();
  shared->options.store(std::make_shared<const server_options>(options));
  shared->on_request = std::move(on_request);
  shared->on_refusal = std::move(on_refusal);
  return std::make_shared<listening_server>(threads, std::move(shared), std::move(*acceptors));
}

} // namespace switchyard::http
