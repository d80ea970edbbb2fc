#pragma once

#include "switchyard/actors/actor_slot.hpp"
#include "switchyard/actors/interfaces.hpp"
#include "switchyard/actors/services.hpp"
#include "switchyard/actors/stores.hpp"

#include <caf/actor_system.hpp>

#include <cstddef>
#include <memory>
#include <string_view>
#include <vector>

namespace switchyard {

/// Starts one shard. `detached` gives it a thread of its own; false only under a test coordinator.
idempotency_actor spawn_idempotency_shard(caf::actor_system& system, std::shared_ptr<answer_store> store,
                                          std::shared_ptr<const services> services, bool detached = true);

using idempotency_shards = std::vector<std::shared_ptr<actor_slot<idempotency_actor>>>;

/// The shard that owns a scope; null when there is none.
idempotency_actor shard_of(const idempotency_shards& shards, std::string_view scope);

} // namespace switchyard
