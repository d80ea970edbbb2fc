#include "canary_planner.hpp"

#include "switchyard/openai/whole_answer.hpp"

#include <boost/json/object.hpp>
#include <boost/json/parse.hpp>
#include <boost/json/serialize.hpp>

#include <utility>

namespace switchyard {

namespace {

bool belongs_to_word(char c) noexcept {
  const auto byte = static_cast<unsigned char>(c);
  return byte >= 0x80 || (c >= '0' && c <= '9') || (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || c == '_';
}

// Why an answer does not pass; nothing when it does.
std::optional<std::string> problem_of(const provider_result& r, const std::string& expected) {
  if (r.error)
    return std::string{to_string(*r.error)};
  if (r.failure)
    return "HTTP " + std::to_string(r.status) + ", " + std::string{to_string(*r.failure)};
  if (!contains_word(openai::answer_text(r.body), expected))
    return "its answer does not contain the word \"" + expected + "\"";
  return std::nullopt;
}

} // namespace

bool contains_word(std::string_view text, std::string_view word) noexcept {
  for (std::size_t at = 0; (at = text.find(word, at)) != std::string_view::npos; ++at) {
    const auto end = at + word.size();
    const bool begins = at == 0 || !belongs_to_word(text[at - 1]);
    if (word.empty() || (begins && (end == text.size() || !belongs_to_word(text[end]))))
      return true;
  }
  return false;
}

std::shared_ptr<const canary_plan> plan_canary(const canary_settings& settings, const std::string& model,
                                               std::shared_ptr<provider> target) {
  auto plan = std::make_shared<canary_plan>();
  plan->target = std::move(target);
  plan->timeout = settings.timeout;
  auto& request = plan->request;
  request.path = settings.path;
  request.model = settings.model.empty() ? model : settings.model;
  auto body = boost::json::parse(settings.body).as_object(); // validated
  body["model"] = request.model;
  request.body = std::make_shared<const std::string>(boost::json::serialize(body));
  plan->problem = [expected = settings.expect_contains](const provider_result& r) { return problem_of(r, expected); };
  return plan;
}

} // namespace switchyard
