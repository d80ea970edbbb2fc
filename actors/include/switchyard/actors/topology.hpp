#pragma once

#include "switchyard/actors/circuit_handle.hpp"
#include "switchyard/actors/provider.hpp"
#include "switchyard/engine/answer_payload.hpp"
#include "switchyard/engine/route_target.hpp"

#include <cstddef>
#include <functional>
#include <map>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

namespace switchyard {

/// Gives the fixed answer of a static target, whole or as a stream, for a path below a provider's base URL.
using static_answer_source = std::function<std::shared_ptr<const answer_payload>(std::string_view path, bool stream)>;

/// The routes of one configuration, resolved. Immutable; requests hold the one they began with, so a reload does not
/// disturb them.
struct topology {
  /// By position: target, its circuit (null: none), its provider and its fixed answer (one of the two is null), its
  /// chain (itself first) [B1].
  std::vector<route_target> targets;
  std::vector<std::shared_ptr<circuit_handle>> circuits;
  std::vector<std::shared_ptr<provider>> providers;
  std::vector<static_answer_source> static_answers;
  std::vector<std::vector<const route_target*>> chains;
  /// Active routes by folded id.
  std::map<std::string, std::size_t, std::less<>> routes;

  /// The target of an active route, or null. `folded` as by fold_route_id.
  const route_target* find(std::string_view folded) const {
    const auto found = routes.find(folded);
    return found == routes.end() ? nullptr : &targets[found->second];
  }
};

} // namespace switchyard
