#pragma once

#include <map>
#include <string>
#include <string_view>

namespace demo {

struct answer {
  int status = 0;
  std::map<std::string, std::string, std::less<>> headers; ///< names in lower case
  std::string body;

  /// A header's value, or empty.
  std::string header(std::string_view lower_case_name) const;
};

/// One request on a connection of its own, blocking. `base` is http://HOST:PORT. Throws boost::system::system_error.
answer call(const std::string& base, std::string_view method, const std::string& path, const std::string& body = {},
            const std::map<std::string, std::string>& headers = {});

} // namespace demo
