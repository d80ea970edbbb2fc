#include "switchyard/engine/failure.hpp"

#include "support/catch.hpp"

#include <array>
#include <set>
#include <string>

using namespace switchyard;
using body_kind = answer_facts::body_kind;

namespace {

// A 2xx with usable content.
answer_facts good_answer() {
  answer_facts facts;
  facts.status = 200;
  facts.body = body_kind::json;
  facts.usable = true;
  return facts;
}

answer_facts error_answer(int status, std::string_view code = {}, std::string_view message = {},
                          std::string_view type = {}) {
  answer_facts facts;
  facts.status = status;
  facts.body = body_kind::json;
  facts.error_object = true;
  facts.error_code = code;
  facts.error_type = type;
  facts.error_message = message;
  return facts;
}

constexpr std::array refused_input_statuses{400, 413, 422};

} // namespace

TEST_CASE("the table says what each class means [F]") {
  struct row {
    failure_class f;
    std::string name;
    bool retried, falls_over, trips, health;
  };
  const auto expected = std::array{
      row{failure_class::connection, "connection", true, true, true, true},
      row{failure_class::timeout, "timeout", false, true, true, true},
      row{failure_class::rate_limit, "rate_limit", false, true, true, true},
      row{failure_class::server_error, "server_error", true, true, true, true},
      row{failure_class::empty_response, "empty_response", true, true, true, true},
      row{failure_class::soft_failure, "soft_failure", true, true, true, true},
      row{failure_class::auth, "auth", false, false, false, false},
      row{failure_class::context_length, "context_length", false, false, false, false},
      row{failure_class::content_policy, "content_policy", false, false, false, false},
      row{failure_class::client_error, "client_error", false, false, false, false},
      row{failure_class::configuration, "configuration", false, false, false, false},
      row{failure_class::circuit_open, "circuit_open", false, true, false, false},
      row{failure_class::overloaded, "overloaded", false, true, false, false},
      row{failure_class::budget, "budget", false, false, false, false},
      row{failure_class::cancelled, "cancelled", false, false, false, false},
      row{failure_class::deadline, "deadline", false, false, false, false},
      row{failure_class::unknown, "unknown", false, false, false, false},
  };
  STATIC_REQUIRE(expected.size() == failure_class_count);
  for (const auto& r : expected) {
    CAPTURE(r.name);
    const auto& t = traits(r.f);
    CHECK(t.name == r.name);
    CHECK(t.retried_in_place == r.retried);
    CHECK(t.falls_over == r.falls_over);
    CHECK(t.trips == r.trips);
    CHECK(t.counts_in_health == r.health);
    CHECK(failure_class_from_string(r.name) == r.f);
    CHECK(to_string(r.f) == r.name);
    CHECK(default_trips().contains(r.f) == r.trips);
  }
}

TEST_CASE("a name that is no class gives nothing [F]") {
  CHECK_FALSE(failure_class_from_string("").has_value());
  CHECK_FALSE(failure_class_from_string("Timeout").has_value());
  CHECK_FALSE(failure_class_from_string("timeout ").has_value());
}

TEST_CASE("a value outside of the enumeration reads as unknown [F]") {
  CHECK(traits(static_cast<failure_class>(200)).name == "unknown");
}

TEST_CASE("a set holds what was put into it") {
  failure_set set{failure_class::auth, failure_class::unknown};
  CHECK(set.contains(failure_class::auth));
  CHECK(set.contains(failure_class::unknown));
  CHECK_FALSE(set.contains(failure_class::connection));
  CHECK_FALSE(set.empty());
  CHECK(failure_set{}.empty());
  CHECK(set == failure_set{failure_class::unknown, failure_class::auth});
}

TEST_CASE("a usable 2xx is a success [F]") {
  for (int status : {200, 201, 299}) {
    auto facts = good_answer();
    facts.status = status;
    CHECK_FALSE(classify(facts).has_value());
  }
}

TEST_CASE("a 2xx without usable content is an empty response [F]") {
  auto facts = good_answer();
  facts.usable = false;
  CHECK(classify(facts) == failure_class::empty_response);
}

TEST_CASE("a 2xx of zero bytes is an empty response even where JSON was promised [F4]") {
  auto facts = good_answer();
  facts.usable = false;
  facts.body = body_kind::empty;
  CHECK(classify(facts) == failure_class::empty_response);
  facts.status = 204;
  CHECK(classify(facts) == failure_class::empty_response);
}

TEST_CASE("a 2xx that is not the promised JSON is a soft failure [F4]") {
  auto facts = good_answer();
  facts.body = body_kind::not_json;
  facts.usable = false;
  CHECK(classify(facts) == failure_class::soft_failure);
  facts.json_promised = false;
  CHECK(classify(facts) == failure_class::empty_response);
  facts.usable = true;
  CHECK_FALSE(classify(facts).has_value());
}

TEST_CASE("a 2xx with an error object is a soft failure, whatever else it holds [F]") {
  auto facts = good_answer();
  facts.error_object = true;
  CHECK(classify(facts) == failure_class::soft_failure);
  facts.error_code = "context_length_exceeded"; // recognised for 400, 413 and 422 only
  CHECK(classify(facts) == failure_class::soft_failure);
}

TEST_CASE("a status decides about everything that is not a 2xx or a refused input [F]") {
  struct row {
    int status;
    failure_class expected;
  };
  for (auto [status, expected] :
       {row{301, failure_class::configuration}, row{304, failure_class::configuration}, row{401, failure_class::auth},
        row{403, failure_class::auth}, row{404, failure_class::client_error}, row{408, failure_class::timeout},
        row{409, failure_class::client_error}, row{425, failure_class::client_error},
        row{429, failure_class::rate_limit}, row{499, failure_class::client_error},
        row{500, failure_class::server_error}, row{503, failure_class::server_error},
        row{529, failure_class::server_error}, row{599, failure_class::server_error}, row{101, failure_class::unknown},
        row{0, failure_class::unknown}, row{-1, failure_class::unknown}, row{600, failure_class::unknown}}) {
    CAPTURE(status);
    CHECK(classify(error_answer(status)) == expected);
    // A wording that would be recognised on a 400 changes nothing here.
    CHECK(classify(error_answer(status, "context_length_exceeded", "maximum context length")) == expected);
  }
}

TEST_CASE("a refused input is recognised by its code or type, in any case [F]") {
  for (int status : refused_input_statuses) {
    CAPTURE(status);
    CHECK(classify(error_answer(status, "context_length_exceeded")) == failure_class::context_length);
    CHECK(classify(error_answer(status, "string_above_max_length")) == failure_class::context_length);
    CHECK(classify(error_answer(status, "400", "", "exceed_context_size_error")) == failure_class::context_length);
    CHECK(classify(error_answer(status, "content_policy_violation")) == failure_class::content_policy);
    CHECK(classify(error_answer(status, "content_filter")) == failure_class::content_policy);
    CHECK(classify(error_answer(status, "ResponsibleAIPolicyViolation")) == failure_class::content_policy);
    CHECK(classify(error_answer(status, "Content_Filter")) == failure_class::content_policy);
  }
}

TEST_CASE("a refused input is recognised by the wordings of providers without codes [F]") {
  for (const char* message : {
           "This model's maximum context length is 8192 tokens. However, your messages resulted in 9001 tokens.",
           "prompt is too long: 208310 tokens > 200000 maximum",
           "input length and `max_tokens` exceed context limit: 199000 + 8192 > 200000",
           "Your input exceeds the context window of this model.",
           "the request exceeds the available context size. try increasing the context size",
           "The input token count (1200000) exceeds the maximum number of tokens allowed (1048576).",
           "Please REDUCE the length of the messages or completion.",
       }) {
    CAPTURE(message);
    for (int status : refused_input_statuses)
      CHECK(classify(error_answer(status, "", message)) == failure_class::context_length);
  }
  for (const char* message : {
           "Your request was rejected as a result of our safety system.",
           "The response was filtered due to the prompt triggering Azure OpenAI's content management policy.",
           "Output blocked by content filtering policy",
           "Invalid prompt: your prompt was flagged as potentially violating our usage policy.",
       }) {
    CAPTURE(message);
    for (int status : refused_input_statuses)
      CHECK(classify(error_answer(status, "invalid_prompt", message)) == failure_class::content_policy);
  }
}

TEST_CASE("a code wins over a wording [F]") {
  const auto facts = error_answer(400, "content_filter", "This model's maximum context length is 10 tokens.");
  CHECK(classify(facts) == failure_class::content_policy);
}

TEST_CASE("any other 400, 413 or 422 is a client error [F]") {
  for (int status : refused_input_statuses) {
    CHECK(classify(error_answer(status)) == failure_class::client_error);
    CHECK(classify(error_answer(status, "invalid_value", "max_tokens must be positive")) ==
          failure_class::client_error);
  }
}

TEST_CASE("a phrase inside of quotation marks is the caller's text and decides nothing [F]") {
  for (const char* message : {
           "Invalid value: 'maximum context length'. Supported values are: 'user' and 'system'.",
           "Unknown tool \"prompt is too long\".",
           "Bad role 'it's our safety system' in messages[0]",
           "Could not parse: 'content management policy",
           "'",
           "\"",
           "''",
           "\"\"",
           "a'",
       }) {
    CAPTURE(message);
    CHECK(classify(error_answer(400, "", message)) == failure_class::client_error);
  }
  // An apostrophe begins no quotation, and what stands behind one counts again.
  CHECK(classify(error_answer(400, "", "The models' maximum context length is 5")) == failure_class::context_length);
  CHECK(classify(error_answer(400, "", "In 'messages': prompt is too long")) == failure_class::context_length);
}

TEST_CASE("only the beginning of a message is searched, whatever its length [F]") {
  const auto message = std::string(100'000, 'x') + " prompt is too long";
  CHECK(classify(error_answer(400, "", message)) == failure_class::client_error);
}

TEST_CASE("each failure on the wire has its class [F]") {
  struct row {
    transport_error e;
    failure_class expected;
  };
  std::set<std::string_view> texts;
  const auto rows = std::array{row{transport_error::dns, failure_class::connection},
                               row{transport_error::refused, failure_class::connection},
                               row{transport_error::reset, failure_class::connection},
                               row{transport_error::tls, failure_class::connection},
                               row{transport_error::early_close, failure_class::connection},
                               row{transport_error::malformed_http, failure_class::connection},
                               row{transport_error::connect_timeout, failure_class::timeout},
                               row{transport_error::first_byte_timeout, failure_class::timeout},
                               row{transport_error::idle_timeout, failure_class::timeout},
                               row{transport_error::attempt_timeout, failure_class::timeout},
                               row{transport_error::first_content_timeout, failure_class::timeout},
                               row{transport_error::stream_timeout, failure_class::timeout},
                               row{transport_error::response_too_large, failure_class::soft_failure},
                               row{transport_error::bad_url, failure_class::configuration},
                               row{transport_error::cancelled, failure_class::cancelled},
                               row{transport_error::other, failure_class::connection}};
  for (auto [e, expected] : rows) {
    CAPTURE(to_string(e));
    CHECK(classify(e) == expected);
    CHECK_FALSE(to_string(e).empty());
    texts.insert(to_string(e));
  }
  CHECK(texts.size() == rows.size());
}
