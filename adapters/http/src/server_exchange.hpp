#pragma once

#include "server_connection.hpp"

#include <memory>
#include <utility>

namespace switchyard::http {

/// The handler's side of one request: forwards to the connection, which knows whether the request is still current.
class connection_exchange final : public exchange {
public:
  connection_exchange(std::shared_ptr<connection> owner, connection::request_id id, http::request request,
                      boost::asio::io_context& context)
      : owner_(std::move(owner)), id_(id), request_(std::move(request)), context_(context) {}
  ~connection_exchange() override;

  const http::request& request() const noexcept override { return request_; }
  boost::asio::io_context& context() noexcept override { return context_; }
  void reply(int status, const header_list& headers, std::string body) override;
  void begin(int status, const header_list& headers) override { owner_->begin(id_, status, headers); }
  bool write(std::string_view piece, std::size_t bound) override { return owner_->write(id_, piece, bound); }
  void on_room(std::function<void()> callback) override { owner_->on_room(id_, std::move(callback)); }
  void end() override;
  void abort() override;
  void close() override;
  void on_gone(std::function<void()> callback) override { owner_->on_gone(id_, std::move(callback)); }

  /// The handler threw what is being handled: answers 500, if nothing else was.
  void failed() noexcept;

private:
  std::shared_ptr<connection> owner_;
  connection::request_id id_;
  http::request request_;
  boost::asio::io_context& context_;
  bool ended_ = false; ///< by this side: nothing to do when destroyed
};

} // namespace switchyard::http
