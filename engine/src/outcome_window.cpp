#include "switchyard/engine/outcome_window.hpp"

#include <algorithm>
#include <cmath>
#include <limits>

namespace switchyard {

namespace {

constexpr std::uint32_t entries_per_byte = 4;
constexpr std::uint32_t bits_per_entry = 2;

void count(window_totals& t, outcome_window::entry e) {
  ++t.calls;
  t.failures += e == outcome_window::entry::failure;
  t.slow += e == outcome_window::entry::slow;
}

void subtract(window_totals& from, const window_totals& t) {
  from.calls -= t.calls;
  from.failures -= t.failures;
  from.slow -= t.slow;
}

bool reaches(double hits, double calls, double rate) noexcept {
  return hits / calls >= rate;
}

} // namespace

outcome_window::outcome_window(const window_settings& s) : type_(s.type) {
  if (type_ == window_settings::kind::count) {
    size_ = std::max<std::uint32_t>(s.size, 1);
    ring_.resize((size_ + entries_per_byte - 1) / entries_per_byte);
  } else {
    width_ = std::max(s.span / time_buckets, duration{1});
    buckets_.resize(time_buckets);
  }
}

window_entry outcome_window::add(entry e, time_point at) {
  return type_ == window_settings::kind::count ? add_counted(e) : add_timed(e, at);
}

void outcome_window::add_successes(std::uint32_t n, time_point at) {
  if (type_ == window_settings::kind::time) {
    const auto number = bucket_number(at);
    rotate_to(number);
    if (*newest_ - number >= time_buckets)
      return;
    bucket(number).calls += n;
    totals_.calls += n;
    return;
  }
  if (n >= size_) { // nothing older is left; positions go on, so that names of entries stay unique
    next_ += n;
    next_place_ = static_cast<std::uint32_t>(next_ % size_);
    std::fill(ring_.begin(), ring_.end(), std::uint8_t{0});
    totals_ = {.calls = size_, .failures = 0, .slow = 0};
    return;
  }
  for (; n > 0; --n)
    add_counted(entry::success);
}

window_entry outcome_window::add_counted(entry e) {
  if (totals_.calls == size_) {
    window_totals oldest;
    count(oldest, read(next_place_)); // the new entry takes its place
    subtract(totals_, oldest);
  }
  write(next_place_, e);
  if (++next_place_ == size_)
    next_place_ = 0;
  count(totals_, e);
  return {next_++};
}

window_entry outcome_window::add_timed(entry e, time_point at) {
  const auto number = bucket_number(at);
  rotate_to(number);
  if (*newest_ - number < time_buckets) {
    count(bucket(number), e);
    count(totals_, e);
  }
  return {static_cast<std::uint64_t>(number)};
}

/// Makes `number` the newest bucket, unless it is older, and forgets what leaves the window by that.
void outcome_window::rotate_to(std::int64_t number) {
  if (!newest_ || number - *newest_ >= time_buckets) {
    std::fill(buckets_.begin(), buckets_.end(), window_totals{});
    totals_ = {};
    newest_ = number;
    return;
  }
  while (*newest_ < number) {
    auto& reused = bucket(++*newest_);
    subtract(totals_, reused);
    reused = {};
  }
}

void outcome_window::slow_to_failure(window_entry e, time_point now) {
  if (type_ == window_settings::kind::count) {
    const bool held = e.position >= first_ && e.position < next_ && next_ - e.position <= size_;
    const auto place = static_cast<std::uint32_t>(e.position % size_);
    if (!held || read(place) != entry::slow)
      return;
    write(place, entry::failure);
  } else {
    const auto number = static_cast<std::int64_t>(e.position);
    const bool held = newest_ && number <= *newest_ && std::max(*newest_, bucket_number(now)) - number < time_buckets;
    if (!held || bucket(number).slow == 0)
      return;
    --bucket(number).slow;
    ++bucket(number).failures;
  }
  --totals_.slow;
  ++totals_.failures;
}

window_totals outcome_window::totals(time_point now) const {
  if (!newest_) // a count window, or a time window that is empty
    return totals_;
  const auto passed = bucket_number(now) - *newest_;
  if (passed >= time_buckets)
    return {};
  auto result = totals_;
  const auto oldest = *newest_ - time_buckets + 1;
  for (std::int64_t expired = 0; expired < passed; ++expired)
    subtract(result, bucket(oldest + expired));
  return result;
}

void outcome_window::clear() {
  totals_ = {};
  first_ = next_;
  std::fill(buckets_.begin(), buckets_.end(), window_totals{});
  newest_.reset();
}

time_point outcome_window::stable_until(time_point now) const {
  if (!newest_)
    return time_point::max();
  const auto current = std::max(*newest_, bucket_number(now));
  for (auto number = current - time_buckets + 1; number <= *newest_; ++number)
    if (bucket(number).calls != 0)
      return time_point{width_ * (number + time_buckets)};
  return time_point::max();
}

outcome_window::entry outcome_window::read(std::uint32_t place) const {
  const auto shift = (place % entries_per_byte) * bits_per_entry;
  return static_cast<entry>(ring_[place / entries_per_byte] >> shift & 3u);
}

void outcome_window::write(std::uint32_t place, entry e) {
  const auto shift = (place % entries_per_byte) * bits_per_entry;
  auto& byte = ring_[place / entries_per_byte];
  byte = static_cast<std::uint8_t>((byte & ~(3u << shift)) | (static_cast<unsigned>(e) << shift));
}

std::int64_t outcome_window::bucket_number(time_point t) const {
  const auto since = t.time_since_epoch();
  return since / width_ - (since % width_ < duration::zero() ? 1 : 0); // rounded down
}

std::string_view tripped_rule(const window_settings& s, const window_totals& t) noexcept {
  if (t.calls == 0 || t.calls < s.minimum_calls)
    return {};
  if (s.failure_rate && reaches(t.failures, t.calls, *s.failure_rate))
    return "failure_rate";
  if (s.slow_call_rate && reaches(t.slow, t.calls, *s.slow_call_rate))
    return "slow_call_rate";
  return {};
}

namespace {

/// The least number of hits among `calls` that reaches `rate`, which is at most 1.
std::uint32_t hits_needed(double rate, std::uint32_t calls) noexcept {
  auto n = static_cast<std::uint32_t>(std::ceil(rate * calls));
  while (n > 0 && reaches(n - 1.0, calls, rate)) // the product may have been rounded to either side
    --n;
  while (n < calls && !reaches(n, calls, rate))
    ++n;
  return n;
}

std::uint32_t missing(std::uint32_t needed, std::uint32_t have) noexcept {
  return needed > have ? needed - have : 0;
}

/// The least k with hits + k >= rate * (calls + k - amendable), or one a little below.
double hits_while_growing(double rate, double calls, double hits, double amendable) noexcept {
  constexpr double rounding = 1e-5; // more than the rounding of these terms, which stay below 2^33
  const auto short_of = rate * (calls - amendable) - hits - rounding;
  if (short_of <= 0)
    return 0;
  return rate < 1 ? std::ceil(short_of / (1 - rate)) : std::numeric_limits<double>::infinity();
}

/// The bound of outcomes_to_trip for one rate. `amendable` entries may become hits without being new calls.
std::uint32_t outcomes_to_rate(const window_settings& s, double rate, std::uint32_t calls, std::uint32_t hits,
                               std::uint32_t amendable) noexcept {
  constexpr auto never = std::numeric_limits<std::uint32_t>::max();
  const auto to_minimum = missing(s.minimum_calls, calls);
  const auto fewest_calls = std::max({s.minimum_calls, calls, 1u});
  const auto growing = hits_while_growing(rate, calls, hits, amendable);
  auto to_rate = std::max(missing(hits_needed(rate, fewest_calls), hits),
                          growing < never ? static_cast<std::uint32_t>(growing) : never);
  if (s.type == window_settings::kind::count && s.size >= fewest_calls) // once full, old entries leave
    to_rate = std::min(to_rate, missing(hits_needed(rate, s.size), hits));
  return std::max({to_minimum, to_rate, 1u});
}

} // namespace

std::uint32_t outcomes_to_trip(const window_settings& s, const window_totals& t) noexcept {
  auto result = std::numeric_limits<std::uint32_t>::max();
  if (s.failure_rate)
    result = std::min(result, outcomes_to_rate(s, *s.failure_rate, t.calls, t.failures, t.slow));
  if (s.slow_call_rate)
    result = std::min(result, outcomes_to_rate(s, *s.slow_call_rate, t.calls, t.slow, 0));
  return result;
}

std::uint32_t failures_to_trip(const window_settings& s, const window_totals& t) noexcept {
  auto result = std::numeric_limits<std::uint32_t>::max();
  const auto fewest_calls = std::max({s.minimum_calls, t.calls, 1u});
  if (s.failure_rate)
    result = std::min(result, missing(hits_needed(*s.failure_rate, fewest_calls), t.failures));
  if (s.slow_call_rate)
    result = std::min(result, missing(hits_needed(*s.slow_call_rate, fewest_calls), t.slow));
  return result;
}

} // namespace switchyard
