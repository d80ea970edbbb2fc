#pragma once

// The typed interfaces of Switchyard's actors. Each handler names who sends it, what comes back and which errors.
// docs/ARCHITECTURE.md has the same as a table; a test compares the two.

#include "switchyard/actors/messages.hpp"

#include <caf/allowed_unsafe_message_type.hpp>
#include <caf/replies_to.hpp>
#include <caf/typed_actor.hpp>

#include <cstdint>
#include <vector>

// Messages never leave the process, so CAF needs no way to serialise them.
#define SWITCHYARD_LOCAL_MESSAGE(type) CAF_ALLOW_UNSAFE_MESSAGE_TYPE(switchyard::type)
SWITCHYARD_LOCAL_MESSAGE(done)
SWITCHYARD_LOCAL_MESSAGE(probe_request)
SWITCHYARD_LOCAL_MESSAGE(drain_reports)
SWITCHYARD_LOCAL_MESSAGE(overflow_report)
SWITCHYARD_LOCAL_MESSAGE(set_circuit_mode)
SWITCHYARD_LOCAL_MESSAGE(reset_circuit)
SWITCHYARD_LOCAL_MESSAGE(describe_circuit)
SWITCHYARD_LOCAL_MESSAGE(breaker_tick)
SWITCHYARD_LOCAL_MESSAGE(configure_circuit)
SWITCHYARD_LOCAL_MESSAGE(canary_result)
SWITCHYARD_LOCAL_MESSAGE(canary_timeout)
SWITCHYARD_LOCAL_MESSAGE(admission_verdict)
SWITCHYARD_LOCAL_MESSAGE(circuit_description)
SWITCHYARD_LOCAL_MESSAGE(list_circuits)
SWITCHYARD_LOCAL_MESSAGE(change_circuit)
SWITCHYARD_LOCAL_MESSAGE(configure_circuits)
CAF_ALLOW_UNSAFE_MESSAGE_TYPE(std::vector<switchyard::circuit_description>)
SWITCHYARD_LOCAL_MESSAGE(health_batch)
SWITCHYARD_LOCAL_MESSAGE(describe_health)
SWITCHYARD_LOCAL_MESSAGE(publish_health)
SWITCHYARD_LOCAL_MESSAGE(configure_health)
CAF_ALLOW_UNSAFE_MESSAGE_TYPE(std::vector<switchyard::provider_health>)
SWITCHYARD_LOCAL_MESSAGE(drain_telemetry)
SWITCHYARD_LOCAL_MESSAGE(flush_telemetry)
SWITCHYARD_LOCAL_MESSAGE(query_telemetry)
SWITCHYARD_LOCAL_MESSAGE(telemetry_answer)
SWITCHYARD_LOCAL_MESSAGE(query_usage)
SWITCHYARD_LOCAL_MESSAGE(usage_answer)
SWITCHYARD_LOCAL_MESSAGE(key_answer)
SWITCHYARD_LOCAL_MESSAGE(reserve_key)
SWITCHYARD_LOCAL_MESSAGE(leave_key)
SWITCHYARD_LOCAL_MESSAGE(settle_key)
SWITCHYARD_LOCAL_MESSAGE(key_settled)
SWITCHYARD_LOCAL_MESSAGE(commit_keys)
SWITCHYARD_LOCAL_MESSAGE(count_keys)
SWITCHYARD_LOCAL_MESSAGE(cache_answer)
SWITCHYARD_LOCAL_MESSAGE(look_up_cache)
SWITCHYARD_LOCAL_MESSAGE(leave_cache)
SWITCHYARD_LOCAL_MESSAGE(settle_cache)
SWITCHYARD_LOCAL_MESSAGE(describe_cache)
SWITCHYARD_LOCAL_MESSAGE(configure_cache)
SWITCHYARD_LOCAL_MESSAGE(cache_description)
SWITCHYARD_LOCAL_MESSAGE(reserve_budget)
SWITCHYARD_LOCAL_MESSAGE(budget_answer)
SWITCHYARD_LOCAL_MESSAGE(settle_budget)
SWITCHYARD_LOCAL_MESSAGE(describe_budgets)
SWITCHYARD_LOCAL_MESSAGE(commit_budgets)
SWITCHYARD_LOCAL_MESSAGE(configure_budgets)
CAF_ALLOW_UNSAFE_MESSAGE_TYPE(std::vector<switchyard::budget_figures>)
SWITCHYARD_LOCAL_MESSAGE(await_start)
SWITCHYARD_LOCAL_MESSAGE(restart_actor)
SWITCHYARD_LOCAL_MESSAGE(begin_request)
SWITCHYARD_LOCAL_MESSAGE(stream_begun)
SWITCHYARD_LOCAL_MESSAGE(attempt_ended)
SWITCHYARD_LOCAL_MESSAGE(request_tick)
SWITCHYARD_LOCAL_MESSAGE(cancel_request)
#undef SWITCHYARD_LOCAL_MESSAGE

namespace switchyard {

// ---- interfaces -------------------------------------------------------------------------------------------------

/// Owns one circuit; the only writer of its published view.
using breaker_actor = caf::typed_actor<
    // From a request or guard whose fast admission said `ask`. Answers admitted, probe or refused; no errors.
    caf::replies_to<probe_request>::with<admission_verdict>,
    // From whoever handed in a report and was told to wake the breaker. No answer.
    caf::reacts_to<drain_reports>,
    // From whoever found the queue of reports full. No answer.
    caf::reacts_to<overflow_report>,
    // From the directory, for an operator. Answers done.
    caf::replies_to<set_circuit_mode>::with<done>,
    // From the directory, for an operator. Answers done.
    caf::replies_to<reset_circuit>::with<done>,
    // From the directory, for the admin plane. Answers the circuit's figures, all pending reports counted.
    caf::replies_to<describe_circuit>::with<circuit_description>,
    // From the directory, after a reload: takes the settings that its handle has now. Answers done.
    caf::replies_to<configure_circuit>::with<done>,
    // From the canary that it sent. No answer.
    caf::reacts_to<canary_result>,
    // From itself, delayed: a cooldown, a lease or a window's bucket ends, or reports wait. No answer.
    caf::reacts_to<breaker_tick>>;

/// One synthetic request of a circuit [C13].
using canary_actor = caf::typed_actor<
    // From the provider's listener: its attempt has ended. No answer.
    caf::reacts_to<attempt_ended>,
    // From itself, delayed: its time is over. No answer.
    caf::reacts_to<canary_timeout>>;

/// Creates and supervises the breakers.
using directory_actor = caf::typed_actor<
    // From the admin plane. Answers all circuits by id; one whose breaker does not answer in time is left out.
    caf::replies_to<list_circuits>::with<std::vector<circuit_description>>,
    // From the admin plane: mode and reset of one circuit or all. Answers done; ok is false for an unknown id.
    caf::replies_to<change_circuit>::with<done>,
    // From the runtime, after a reload: every circuit gets its breaker, and takes its settings. Answers done.
    caf::replies_to<configure_circuits>::with<done>>;

/// Rolling figures of the attempts of each provider.
using health_actor = caf::typed_actor<
    // From the telemetry writer, after a batch. No answer.
    caf::reacts_to<health_batch>,
    // From the admin plane. Answers all providers that were ever scored.
    caf::replies_to<describe_health>::with<std::vector<provider_health>>,
    // From the runtime, after a reload. Other settings need another look at the log: then it ends, and its successor
    // has it. No answer.
    caf::reacts_to<configure_health>,
    // From itself, delayed: scores change with time. No answer.
    caf::reacts_to<publish_health>>;

/// Takes records out of the bounded queue into the log and on to health. Runs on a thread of its own.
using telemetry_writer_actor = caf::typed_actor<
    // From whoever put the first record into an empty queue, and from itself while records keep coming. No answer.
    caf::reacts_to<drain_telemetry>,
    // From shutdown and tests. Answers done when all that was queued before is written; ok is false when rows were
    // lost.
    caf::replies_to<flush_telemetry>::with<done>>;

/// Reads the log for the admin plane, on a thread of its own.
using telemetry_reader_actor = caf::typed_actor<
    // From the admin plane. Answers rows, or a problem; no errors.
    caf::replies_to<query_telemetry>::with<telemetry_answer>,
    // From the admin plane. Answers sums, or a problem; no errors.
    caf::replies_to<query_usage>::with<usage_answer>>;

/// One request; see request_flow.hpp.
using request_actor = caf::typed_actor<
    // From whoever spawned it. No answer.
    caf::reacts_to<begin_request>,
    // From the provider's listener: the first content of a stream has come. No answer.
    caf::reacts_to<stream_begun>,
    // From the provider's listener: the attempt has ended. No answer.
    caf::reacts_to<attempt_ended>,
    // From the idempotency shard: what a joiner waited for. No answer.
    caf::reacts_to<key_answer>,
    // From the cache: what one that joined waited for. No answer.
    caf::reacts_to<cache_answer>,
    // From itself, delayed: a time limit or a backoff ends. No answer.
    caf::reacts_to<request_tick>,
    // From the caller's executor: the caller left, or shutdown. No answer.
    caf::reacts_to<cancel_request>>;

/// One shard of the idempotency ledger, with its part of the store. Runs on a thread of its own, for it reads and
/// writes the store.
using idempotency_actor = caf::typed_actor<
    // From a request actor. Answers lead, once that is written down, joined, answered, conflict, in_flight, interrupted
    // or unavailable; a joiner gets a further key_answer. No errors.
    caf::replies_to<reserve_key>::with<key_answer>,
    // From a joiner that gives up. No answer.
    caf::reacts_to<leave_key>,
    // From the leader. Answers key_settled; stored is false when the store failed or the lead was lost.
    caf::replies_to<settle_key>::with<key_settled>,
    // From itself: what came since the last one is written down and answered. No answer.
    caf::reacts_to<commit_keys>,
    // From the admin plane and tests: keys in flight. Answers their number.
    caf::replies_to<count_keys>::with<std::uint64_t>>;

/// Owns the cache of answers and who waits for the call that fills it [U3].
using cache_actor = caf::typed_actor<
    // From a request actor. Answers hit, lead or joined; one that joined gets a further cache_answer. No errors.
    caf::replies_to<look_up_cache>::with<cache_answer>,
    // From one that joined and gives up. No answer.
    caf::reacts_to<leave_cache>,
    // From the leader. No answer.
    caf::reacts_to<settle_cache>,
    // From the runtime, after a reload. No answer.
    caf::reacts_to<configure_cache>,
    // From tests. Answers its size.
    caf::replies_to<describe_cache>::with<cache_description>>;

/// Owns the ledgers of all budgets [U1]. Runs on a thread of its own, for it writes the store.
using budget_actor = caf::typed_actor<
    // From a request actor. Answers admitted or refused, once that is written down. No errors.
    caf::replies_to<reserve_budget>::with<budget_answer>,
    // From whoever reserved, at the request's end, or when it waits no longer for the answer. No answer.
    caf::reacts_to<settle_budget>,
    // From the admin plane. Answers every ledger that was ever charged, by budget and tenant.
    caf::replies_to<describe_budgets>::with<std::vector<budget_figures>>,
    // From the runtime, after a reload. No answer.
    caf::reacts_to<configure_budgets>,
    // From itself: what came since the last one is written down, answered and told to observers. Delayed, too, for the
    // end of a window. No answer.
    caf::reacts_to<commit_budgets>>;

/// Starts health, telemetry and idempotency actors, and their successors when they die.
using supervisor_actor = caf::typed_actor<
    // From the runtime. Answers done when all have been started.
    caf::replies_to<await_start>::with<done>,
    // From itself, delayed: one that died young is started anew. No answer.
    caf::reacts_to<restart_actor>>;

} // namespace switchyard
