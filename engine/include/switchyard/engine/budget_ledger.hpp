#pragma once

// The budgets of a configuration and what was taken of them [U1]. Pure: time is an argument.
//
//   reserve --(fits all that cover it)--> reserved --settle(actual)--> used
//      \------(else)--> refused               \-----settle(nothing)-> given back

#include "switchyard/engine/budget.hpp"
#include "switchyard/engine/settings.hpp"

#include <cstddef>
#include <cstdint>
#include <map>
#include <span>
#include <string>
#include <string_view>
#include <unordered_map>
#include <vector>

namespace switchyard {

/// Whether a budget counts the requests of a tenant for a route (as requested; case does not count).
bool covers(const budget_settings& budget, std::string_view tenant, std::string_view route);

/// All ledgers of all budgets: one per budget and tenant. Not thread-safe: one owner, the budget actor. Reserving and
/// settling cost what the budgets that cover the request do, whatever the number of other budgets, tenants and requests
/// (looking a ledger up is logarithmic).
///
/// A window begins with its first charge and lasts for the budget's `window`, by the wall clock; a clock set back
/// leaves it as old as it was [C18]. What was reserved in one window and is settled in another changes nothing there.
class budget_ledger {
public:
  explicit budget_ledger(std::vector<budget_settings> budgets);

  struct verdict {
    bool admitted = true;
    std::optional<duration> retry_after; ///< of a refusal: until the windows that refuse have ended. Nothing when the
                                         ///< request alone is more than a budget: waiting would not help
    std::string message;                 ///< of a refusal, for a person: the budget that refuses longest
  };

  /// Takes other budgets. One that is about the same tenant, route and window as before keeps its ledgers, whatever its
  /// limits are now; what is reserved of one that is gone is settled without effect.
  void reconfigure(std::vector<budget_settings> budgets);

  /// Takes the estimate of every budget that covers the request, or of none: used, reserved and estimate together must
  /// not exceed a limit. An `id` that is in use is refused nothing and changes nothing.
  verdict reserve(budget_reservation id, std::string_view tenant, std::string_view route, const budget_amount& estimate,
                  wall_time now);

  /// Replaces the estimate by the real figure, which may exceed a limit, or with nothing gives it back. An id that is
  /// not reserved, or was settled before, changes nothing.
  void settle(budget_reservation id, const std::optional<budget_amount>& actual, wall_time now);

  /// Every ledger that has a window, by budget and tenant.
  std::vector<budget_figures> describe(wall_time now);

  /// Adds what was written down: reservations of then count as used. A window that has begun meanwhile ends when the
  /// older one does. Ledgers of other budgets are ignored, and no point in time makes a window longer than it is.
  void restore(std::span<const stored_budget> ledgers, wall_time now);

  /// The ledgers that changed since the last call, to be written down.
  std::vector<stored_budget> take_changed(wall_time now);
  /// They could not be written down: the next call has them again, as they are then.
  void still_changed(std::span<const stored_budget> ledgers);

  /// The ledgers of which another share is used since the last call: charged, given back, restored, or at the end of
  /// their window, where it is 0. One that went with its budget has no share. To be asked for after every change: what
  /// was not told yet is not forgotten either.
  std::vector<budget_share> take_shares(wall_time now);
  /// How long until a window ends, at least; nothing when there is none.
  std::optional<duration> next_end(wall_time now);

  std::size_t reservations() const noexcept { return held_.size(); }

private:
  struct ledger {
    std::size_t budget = 0;
    std::string tenant;
    std::uint64_t window = 0; ///< tells windows of all ledgers apart, forgotten ones too; 0: none has begun
    wall_time started{};      ///< by `steady`
    budget_amount used, reserved;
    bool changed = false; ///< since take_changed
    bool moved = false;   ///< since take_shares
  };
  using ledger_map = std::map<std::string, ledger, std::less<>>;
  struct share {
    std::string ledger;
    std::uint64_t window;
  };
  struct hold {
    budget_amount estimate;
    std::vector<share> shares;
  };

  void name_budgets();
  wall_time steady(wall_time now);
  std::vector<std::size_t> covering(std::string_view tenant, std::string_view route) const;
  ledger_map::iterator ledger_of(std::size_t budget, std::string_view tenant);
  void begin_window(const std::string& name, ledger& l, wall_time started);
  bool has_window(const ledger& l, wall_time now) const;
  void end_window_if_due(ledger& l, wall_time now) const;
  void end_due_windows(wall_time now);
  void restore(const stored_budget& from, wall_time now, wall_time wall);
  void changed(const std::string& name, ledger& l);
  void moved(const std::string& name, ledger& l);
  void forget_old(wall_time now);

  std::vector<budget_settings> budgets_;
  std::vector<std::string> names_;                                       ///< what names of their ledgers begin with
  std::unordered_map<std::string, std::size_t> by_name_;                 ///< the other way round
  std::unordered_map<std::string, std::vector<std::size_t>> by_subject_; ///< tenant and route, as configured
  ledger_map ledgers_;
  std::unordered_map<budget_reservation, hold> held_;
  std::vector<std::string> changed_, moved_;
  std::vector<budget_share> gone_;             ///< with their budgets, and not yet told
  std::multimap<wall_time, std::string> ends_; ///< of windows that have begun, by `steady`; one may have begun earlier
  std::size_t look_at_ = 1024;                 ///< with so many ledgers those without a window go
  std::uint64_t windows_ = 0;                  ///< that ever began
  wall_time seen_{};
  duration set_back_{}; ///< by how much the clock has been set back, in all
};

} // namespace switchyard
