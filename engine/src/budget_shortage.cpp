#include "budget_shortage.hpp"

#include "budget_arithmetic.hpp"

#include "switchyard/engine/duration_text.hpp"

#include <array>
#include <charconv>

namespace switchyard {

namespace {

constexpr std::string_view any = "*";
// Sums of costs carry rounding errors, which must neither refuse what fits exactly nor look like something that is
// left.
constexpr double rounding = 1e-9;

bool fits(std::uint64_t used, std::uint64_t more, std::uint64_t limit) noexcept {
  return sum(used, more) <= limit;
}

bool fits(double used, double more, double limit) noexcept {
  return used + cost_or_none(more) <= limit * (1 + rounding);
}

std::uint64_t left_of(std::uint64_t limit, std::uint64_t used) noexcept {
  return difference(limit, used);
}

double left_of(double limit, double used) noexcept {
  return limit - used > limit * rounding ? limit - used : 0;
}

std::string text(std::uint64_t n) {
  return std::to_string(n);
}

std::string text(double v) {
  std::array<char, 32> digits{};
  const auto end = std::to_chars(digits.data(), digits.data() + digits.size(), v, std::chars_format::general, 10).ptr;
  return {digits.data(), end};
}

template <class T>
void look_at(std::optional<budget_shortage>& found, std::string_view unit, const std::optional<T>& limit, T used,
             T wanted) {
  if (!limit || fits(used, wanted, *limit))
    return;
  const bool hopeless = !fits(T{}, wanted, *limit);
  const auto left = left_of(*limit, used);
  if (!found || (hopeless && !found->hopeless))
    found = budget_shortage{unit, text(*limit), left > T{} ? text(left) : "", text(wanted), hopeless};
}

} // namespace

std::optional<budget_shortage> shortage_of(const budget_settings& b, const budget_amount& used,
                                           const budget_amount& wanted) {
  std::optional<budget_shortage> found;
  look_at(found, "requests", b.requests, used.requests, wanted.requests);
  look_at(found, "tokens", b.tokens, used.tokens, wanted.tokens);
  look_at(found, "cost", b.cost, used.cost, wanted.cost);
  return found;
}

std::string refusal(const budget_settings& b, const budget_shortage& s) {
  const auto of = "the budget of " + s.limit + " " + std::string{s.unit} + " in " + format_duration(b.window) +
                  " for " + (b.tenant == any ? "each tenant" : "tenant " + b.tenant) + " and " +
                  (b.route == any ? "all routes" : "route " + b.route);
  if (s.hopeless)
    return "this request is estimated at " + s.wanted + " " + std::string{s.unit} + ", more than " + of;
  if (s.left.empty())
    return of + " is used up";
  return of + " has " + s.left + " left, and this request is estimated at " + s.wanted;
}

} // namespace switchyard
