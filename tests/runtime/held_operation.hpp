#pragma once

#include <boost/asio/associated_cancellation_slot.hpp>
#include <boost/asio/associated_executor.hpp>
#include <boost/asio/async_result.hpp>
#include <boost/asio/cancellation_type.hpp>
#include <boost/asio/error.hpp>
#include <boost/asio/post.hpp>

#include <functional>
#include <memory>
#include <utility>
#include <vector>

namespace switchyard::test {

/// An asynchronous operation, void(error_code, int), that ends when the test says so. Runs on one thread.
class held_operation {
public:
  template <class Token>
  auto async_run(Token&& token) {
    return boost::asio::async_initiate<Token, void(boost::system::error_code, int)>(
        [this](auto handler) { hold(std::move(handler)); }, token);
  }

  std::size_t started() const { return ends_.size(); }
  void end(std::size_t i, boost::system::error_code error, int value) { ends_.at(i)(error, value); }

private:
  template <class Handler>
  void hold(Handler h) {
    auto handler = std::make_shared<Handler>(std::move(h));
    const auto end = [handler](boost::system::error_code error, int value) {
      boost::asio::post(boost::asio::get_associated_executor(*handler), [handler, error, value] {
        if (auto slot = boost::asio::get_associated_cancellation_slot(*handler); slot.is_connected())
          slot.clear();
        auto called = std::move(*handler);
        std::move(called)(error, value);
      });
    };
    if (auto slot = boost::asio::get_associated_cancellation_slot(*handler); slot.is_connected())
      slot.assign([end](boost::asio::cancellation_type) { end(boost::asio::error::operation_aborted, 0); });
    ends_.push_back(end);
  }

  std::vector<std::function<void(boost::system::error_code, int)>> ends_;
};

} // namespace switchyard::test
