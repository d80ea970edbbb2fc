#include "switchyard/engine/circuit_id.hpp"

namespace switchyard {

namespace {

void append_encoded(std::string& to, const std::string& part) {
  for (const char c : part) {
    if (c == '/')
      to += "%2F";
    else if (c == '%')
      to += "%25";
    else
      to += c;
  }
}

} // namespace

std::string circuit_id::str() const {
  std::string result;
  append_encoded(result, provider);
  if (!model.empty() || !region.empty()) {
    result += '/';
    append_encoded(result, model);
  }
  if (!region.empty()) {
    result += '/';
    append_encoded(result, region);
  }
  return result;
}

} // namespace switchyard
