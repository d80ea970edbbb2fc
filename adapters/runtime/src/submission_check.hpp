#pragma once

#include "switchyard/runtime/core.hpp"
#include "switchyard/runtime/request.hpp"

#include <boost/system/result.hpp>

#include <string>
#include <vector>

namespace switchyard::detail {

/// What is wrong with a request.
struct request_problem {
  errc code = errc::invalid_request;
  std::string message;
};

/// Looks at a request of a program: what the core may take, or what is wrong. The request's id must be set.
boost::system::result<submission, request_problem> check_request(request r,
                                                                 std::shared_ptr<stream_receiver> receiver = nullptr);

/// The class of an error: of the last failure where the error tells of one, otherwise what the code amounts to.
failure_class class_of(errc code, const std::vector<trail_entry>& trail) noexcept;

} // namespace switchyard::detail
