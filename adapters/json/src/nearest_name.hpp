#pragma once

#include <string_view>
#include <vector>

namespace switchyard::detail {

/// The name of `known` that `name` most likely was meant to be: the one with the smallest edit distance, if that is at
/// most a third of the length, else one that it starts or that starts it; otherwise empty.
std::string_view nearest_name(std::string_view name, const std::vector<std::string_view>& known);

} // namespace switchyard::detail
