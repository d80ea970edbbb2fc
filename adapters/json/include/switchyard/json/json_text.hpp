#pragma once

#include <boost/json/object.hpp>

#include <string>

namespace switchyard {

/// JSON as one line of text. Other than `boost::json::serialize`, which prints 120.5 as 1.205E2, numbers are plain
/// decimals without an exponent, the shortest that read back as the same number; what JSON has no number for (an
/// infinity, NaN) is null. In a text that is not UTF-8 every byte that is not ASCII becomes "?". Everything that people
/// and scripts read goes through here. Thread-safe.
std::string to_json_text(const boost::json::object& o);

} // namespace switchyard
