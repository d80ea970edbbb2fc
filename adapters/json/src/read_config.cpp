#include "read_config.hpp"

#include "field_reader.hpp"

#include <set>

namespace switchyard::detail {

void field_reader::read_header(header_value& out, const json::value& value, const std::string& pointer) {
  if (value.is_string()) {
    out.text = view(value);
    return;
  }
  const auto* object = value.if_object();
  const auto* variable = object != nullptr ? object->if_contains("env") : nullptr;
  if (variable == nullptr || object->size() != 1)
    return refuse(pointer, "a text or {\"env\": \"NAME\"}", true);
  read(out.secret_env, text_rule{text_form::variable}, *variable, child_pointer(pointer, "env"));
}

/// A profile and the ones it inherits from that have not been read yet, the most derived first.
std::vector<std::string> field_reader::inheritance(const json::object& profiles, const std::string& name,
                                                   const std::map<std::string, circuit_settings>& done) {
  std::vector<std::string> chain;
  std::set<std::string> seen;
  for (std::string current = name; !done.contains(current);) {
    chain.push_back(current);
    seen.insert(current);
    const auto* profile = profiles.if_contains(current);
    const auto* object = profile != nullptr ? profile->if_object() : nullptr;
    const auto* base = object != nullptr ? object->if_contains("base") : nullptr;
    if (base == nullptr)
      break;
    const auto place = child_pointer(child_pointer("/circuits", current), "base");
    const std::string next = base->is_string() ? std::string(view(*base)) : std::string{};
    if (next.empty() || (next != "default" && !profiles.contains(next))) {
      refuse(place, "the name of another profile in /circuits, or \"default\"");
      break;
    }
    if (seen.contains(next)) {
      refuse(place, "a profile that does not inherit from this one in turn");
      break;
    }
    bases[current] = next;
    current = next;
  }
  return chain;
}

void field_reader::read(std::map<std::string, circuit_settings>& profiles, const nested_rule&, const json::value& value,
                        const std::string& pointer) {
  if (!value.is_object())
    return refuse_object(pointer, "an object of named objects", value);
  const auto& given = value.get_object();
  if (!given.contains("default"))
    profiles.try_emplace("default");
  std::set<std::string> says_max_cooldown;
  for (const auto& member : given) {
    auto chain = inheritance(given, std::string(member.key()), profiles);
    for (; !chain.empty(); chain.pop_back()) {
      const auto& name = chain.back();
      const auto base = bases.find(name);
      const auto& own = given.at(name);
      auto profile = base == bases.end() ? circuit_settings{} : profiles.at(base->second);
      max_cooldown_inherited_ = base != bases.end() && says_max_cooldown.contains(base->second);
      if (max_cooldown_inherited_ || (own.is_object() && own.get_object().contains("max_cooldown")))
        says_max_cooldown.insert(name);
      read_object(profile, own, child_pointer(pointer, name));
      profiles.emplace(name, std::move(profile));
    }
  }
}

void field_reader::adjust(circuit_settings& circuit, const json::object& given) {
  if (!max_cooldown_inherited_ && !given.contains("max_cooldown"))
    circuit.max_cooldown = std::max(circuit.max_cooldown, circuit.cooldown);
}

void field_reader::refuse_unknown_key(const std::string& pointer, std::string_view key,
                                      const std::vector<std::string_view>& known) {
  std::string message = "unknown key; ";
  if (const auto nearest = nearest_name(key, known); !nearest.empty()) {
    message += "did you mean " + json_quoted(nearest) + "?";
  } else {
    message += "accepted: " + accepted_names(known.data(), known.size());
  }
  // Its value is not shown: a secret may have been put where none belongs, e.g. "api_key".
  problems.push_back({pointer, 0, 0, std::string(hidden_value), std::move(message)});
}

std::optional<std::uint64_t> field_reader::whole_number(const json::value& value) {
  constexpr double exact = 9007199254740992; // 2^53: beyond it a double skips whole numbers
  if (value.is_uint64())
    return value.get_uint64();
  if (value.is_int64() && value.get_int64() >= 0)
    return static_cast<std::uint64_t>(value.get_int64());
  if (value.is_double() && value.get_double() >= 0 && value.get_double() <= exact &&
      std::trunc(value.get_double()) == value.get_double())
    return static_cast<std::uint64_t>(value.get_double());
  return std::nullopt;
}

reading read_config(const source_document& document) {
  reading result;
  field_reader reader{document};
  reader.read_document(result.settings);
  if (const auto* root = document.root.if_object()) {
    const auto* routes = root->if_contains("routes");
    if (const auto* named = routes != nullptr ? routes->if_object() : nullptr) {
      for (const auto& member : *named)
        result.settings.route_order.emplace_back(member.key());
    }
  }
  result.problems = std::move(reader.problems);
  result.bases = std::move(reader.bases);
  return result;
}

std::string shown_value(const source_document& document, std::string_view pointer) {
  constexpr std::size_t longest = 80;
  const auto* node = document.find(pointer);
  if (node == nullptr)
    return {};
  // Anything may be inside, keys too: "providers": [{"api_key": "KEY"}].
  const bool compound = node->text.starts_with('{') || node->text.starts_with('[');
  if (compound && node->text != "{}" && node->text != "[]")
    return std::string(hidden_value);
  std::string text(node->text.substr(0, longest));
  if (node->text.size() > longest) {
    // Not in the middle of a character.
    while (!text.empty() && (static_cast<unsigned char>(node->text[text.size()]) & 0xC0) == 0x80)
      text.pop_back();
    text += "...";
  }
  return text;
}

} // namespace switchyard::detail
