#include "server_exchange.hpp"

#include "switchyard/engine/what_was_thrown.hpp"

#include <boost/asio/post.hpp>

namespace switchyard::http {

connection_exchange::~connection_exchange() {
  if (ended_ || owner_->is_closed())
    return;
  if (owner_->executor().running_in_this_thread()) {
    owner_->fail(id_, &request_);
    return;
  }
  // The last reference may go anywhere; the connection belongs to its thread.
  try {
    boost::asio::post(owner_->executor(),
                      [owner = owner_, id = id_, request = std::move(request_)] { owner->fail(id, &request); });
  } catch (...) { // out of memory: the client is answered by its own time limit
  }
}

void connection_exchange::failed() noexcept {
  ended_ = true;
  try {
    owner_->fail(id_, &request_, what_was_thrown());
  } catch (...) { // no memory for the text
    owner_->fail(id_, &request_);
  }
}

void connection_exchange::reply(int status, const header_list& headers, std::string body) {
  ended_ = true;
  owner_->reply(id_, status, headers, std::move(body));
}

void connection_exchange::end() {
  ended_ = true;
  owner_->end(id_, request_);
}

void connection_exchange::abort() {
  ended_ = true;
  owner_->abort(id_);
}

void connection_exchange::close() {
  ended_ = true;
  owner_->end_early(id_);
}

} // namespace switchyard::http
