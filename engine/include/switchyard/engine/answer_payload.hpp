#pragma once

#include "switchyard/engine/header_list.hpp"

#include <string>

namespace switchyard {

/// An HTTP answer as a whole. Requests that get the same one share it.
struct answer_payload {
  int status = 0;
  header_list headers;
  std::string body;
};

} // namespace switchyard
