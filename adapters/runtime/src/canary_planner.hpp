#pragma once

#include "switchyard/actors/canary.hpp"
#include "switchyard/engine/settings.hpp"

#include <memory>
#include <string>
#include <string_view>

namespace switchyard {

/// The canary of a circuit [C13]: what `settings` say, for `model` where they name none, sent to `target`.
std::shared_ptr<const canary_plan> plan_canary(const canary_settings& settings, const std::string& model,
                                               std::shared_ptr<provider> target);

/// Whether `word` stands in the text with nothing that belongs to a word, a letter, a digit or "_", on either side.
/// Letters that are not ASCII are letters; case counts. An empty word stands everywhere.
bool contains_word(std::string_view text, std::string_view word) noexcept;

} // namespace switchyard
