#include "script.hpp"

#include "script_json.hpp"

#include <boost/json/array.hpp>

namespace faulty {
namespace {

namespace json = boost::json;

json::value to_json(const error_script& e) {
  json::object o{{"status", e.status}, {"rate", e.rate}};
  put(o, "retry_after", e.retry_after);
  if (!e.code.empty())
    o["code"] = e.code;
  if (!e.message.empty())
    o["message"] = e.message;
  return o;
}

json::value to_json(const scheduled_outage& s) {
  json::object o{{"after", text(s.after)}};
  put(o, "for", s.length);
  put(o, "every", s.every);
  for (const auto what = to_json(s.what); const auto& member : what.get_object())
    o.insert(member);
  return o;
}

template <class T>
json::array list(const std::vector<T>& items) {
  json::array out;
  for (const auto& item : items)
    out.push_back(to_json(item));
  return out;
}

} // namespace

json::value to_json(const latency_script& l) {
  json::object o{{"distribution", name_of(l.shape, distribution_names)}};
  if (l.shape != distribution::uniform)
    o["mean"] = text(l.mean);
  o["min"] = text(l.min);
  if (l.max != switchyard::longest_duration)
    o["max"] = text(l.max);
  if (l.shape == distribution::lognormal)
    o["sigma"] = l.sigma;
  return o;
}

json::value to_json(const outage& o) {
  json::object out{{"kind", name_of(o.kind, outage_kind_names)}};
  if (o.kind == outage_kind::status) {
    out["status"] = o.status;
    put(out, "retry_after", o.retry_after);
  }
  return out;
}

json::value to_json(const script& s) {
  json::object faults;
  for (std::size_t i = 0; i < s.faults.size(); ++i)
    faults[json::string_view(fault_names[i].data(), fault_names[i].size())] = s.faults[i];
  json::array models;
  for (const auto& m : s.models)
    models.emplace_back(m);
  return json::object{{"latency", to_json(s.latency)}, {"errors", list(s.errors)},    {"faults", std::move(faults)},
                      {"outages", list(s.outages)},    {"models", std::move(models)}, {"stream", to_json(s.stream)}};
}

std::string to_string(const script_error& e) {
  std::string out = e.pointer.empty() ? "the script" : e.pointer;
  if (!e.value.empty())
    out += ": " + e.value;
  return out + ": " + e.message;
}

} // namespace faulty
