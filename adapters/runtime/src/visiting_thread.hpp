#pragma once

#include <caf/logger.hpp>

namespace switchyard {

/// To be held while a thread that is not CAF's own spawns actors or talks to them as a scoped actor. CAF leaves a
/// reference to its logger in a thread-local of that thread, and the end of an actor system waits for the last of them,
/// for ever if the thread lives on; this takes it back.
class visiting_thread {
public:
  visiting_thread() = default;
  ~visiting_thread() { caf::logger::set_current_actor_system(nullptr); }
  visiting_thread(const visiting_thread&) = delete;
  visiting_thread& operator=(const visiting_thread&) = delete;
};

} // namespace switchyard
