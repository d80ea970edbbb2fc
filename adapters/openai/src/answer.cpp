#include "answer_scan.hpp"

#include "switchyard/openai/body.hpp"

namespace switchyard::openai {
namespace {

bool is_success(int status) noexcept {
  return status >= 200 && status < 300;
}

// "Usable", as at the top of the semantics.
bool usable(operation op, const detail::answer_findings& found) noexcept {
  switch (op) {
  case operation::chat_completions:
    return found.choice_content || found.telling_finish;
  case operation::completions:
    return found.choice_text || found.telling_finish;
  case operation::embeddings:
    return found.data;
  case operation::responses:
    return found.output || found.incomplete;
  }
  return false;
}

void judge(std::optional<operation> op, provider_result& result) {
  if (result.error) {
    result.failure = classify(*result.error);
    return;
  }
  detail::answer_findings found;
  answer_facts facts;
  facts.status = result.status;
  facts.json_promised = op.has_value();
  if (!result.body.empty())
    facts.body =
        detail::scan_answer(result.body, found) ? answer_facts::body_kind::json : answer_facts::body_kind::not_json;
  const bool json = facts.body == answer_facts::body_kind::json;
  facts.error_object = json && found.error;
  facts.usable = is_success(result.status) && (op ? json && usable(*op, found) : !result.body.empty());
  if (json && result.status >= 400) {
    facts.error_code = found.code.view();
    facts.error_type = found.type.view();
    facts.error_message = found.message.view();
  }
  result.failure = classify(facts);
  result.tokens = json ? found.tokens : token_usage{};
  if (op == operation::embeddings && result.tokens.input && !result.tokens.output)
    result.tokens.output = 0;
}

} // namespace

void inspect_answer(operation op, provider_result& result) {
  judge(op, result);
}

void inspect_by_path(const provider_request& request, provider_result& result) {
  for (const auto op :
       {operation::chat_completions, operation::completions, operation::embeddings, operation::responses})
    if (request.path == provider_path(op))
      return judge(op, result);
  judge(std::nullopt, result);
}

} // namespace switchyard::openai
