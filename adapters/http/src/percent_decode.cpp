#include "switchyard/http/server.hpp"

#include <boost/url/pct_string_view.hpp>

namespace switchyard::http {

std::optional<std::string> percent_decode(std::string_view text) {
  const auto view = boost::urls::make_pct_string_view(text);
  if (!view)
    return std::nullopt;
  std::string decoded;
  view->decode({}, boost::urls::string_token::assign_to(decoded));
  return decoded;
}

} // namespace switchyard::http
