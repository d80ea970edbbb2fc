#include "switchyard/openai/stream.hpp"

#include "support/catch.hpp"

using namespace switchyard;
using namespace switchyard::openai;

TEST_CASE("a request asks for usage by include_usage alone [S6]") {
  for (const char* body : {
           R"({"model":"m","stream_options":{"include_usage":true}})",
           R"({"stream_options" : { "x":[{}], "include_usage" : true } , "model":"m"})",
           R"({"model":"m","stream\u005foptions":{"include\u005Fusage":true}})",
           R"({"model":"m","stream_options":null,"stream_options":{"include_usage":false,"include_usage":true}})",
       })
    CHECK(asks_for_usage(body));
  for (const char* body : {
           R"({"model":"m"})",
           R"({"model":"m","include_usage":true})",
           R"({"model":"m","stream_options":null})",
           R"({"model":"m","stream_options":{}})",
           R"({"model":"m","stream_options":true})",
           R"({"model":"m","stream_options":"{\"include_usage\":true}"})",
           R"({"model":"m","stream_options":[{"include_usage":true}]})",
           R"({"model":"m","stream_options":{"include_usage":false}})",
           R"({"model":"m","stream_options":{"include_usage":"true"}})",
           R"({"model":"m","stream_options":{"a":{"include_usage":true}}})",
           R"({"model":"m","a":{"stream_options":{"include_usage":true}}})",
           R"({"model":"m","stream_options":{"include_usage":true},"stream_options":{}})",
       })
    CHECK_FALSE(asks_for_usage(body));
}

TEST_CASE("usage is asked for, and every other byte of the request stays [S6]") {
  struct row {
    const char *body, *expected;
  };
  for (const auto& [body, expected] : {
           row{R"({"model":"m"})", R"({"stream_options":{"include_usage":true},"model":"m"})"},
           row{" \n{ \"model\" : \"m\" }\r\n",
               " \n{\"stream_options\":{\"include_usage\":true}, \"model\" : \"m\" }\r\n"},
           row{R"({ })", R"({"stream_options":{"include_usage":true} })"},
           row{R"({"model":"m","stream_options": null })",
               R"({"model":"m","stream_options": {"include_usage":true} })"},
           row{R"({"model":"m","stream_options":{}})", R"({"model":"m","stream_options":{"include_usage":true}})"},
           row{R"({"stream_options":{ },"model":"m"})", R"({"stream_options":{"include_usage":true },"model":"m"})"},
           row{R"({"model":"m","stream_options":{"include_obfuscation":false}})",
               R"({"model":"m","stream_options":{"include_usage":true,"include_obfuscation":false}})"},
           row{R"({"stream_options":{"a":1, "include_usage" : false , "b":2},"model":"m"})",
               R"({"stream_options":{"a":1, "include_usage" : true , "b":2},"model":"m"})"},
           row{R"({"model":"m","stream_options":{"include_usage":null}})",
               R"({"model":"m","stream_options":{"include_usage":true}})"},
           row{R"({"model":"m","stream\u005foptions":{"include\u005fusage":false}})",
               R"({"model":"m","stream\u005foptions":{"include\u005fusage":true}})"},
           row{R"({"stream_options":{"include_usage":true},"model":"m","stream_options":{}})",
               R"({"stream_options":{"include_usage":true},"model":"m","stream_options":{"include_usage":true}})"},
       }) {
    INFO(body);
    CHECK(with_usage(body) == expected);
    CHECK(asks_for_usage(with_usage(body)));
  }
}

TEST_CASE("a request that asks already, or wrongly, stays as it is [S6]") {
  for (const char* body : {
           R"({"model":"m","stream_options":{"include_usage":true}})",
           R"({"model":"m","stream_options":{"include_usage":"yes"}})",
           R"({"model":"m","stream_options":{"include_usage":{}}})",
           R"({"model":"m","stream_options":[]})",
           R"({"model":"m","stream_options":"all"})",
           R"({"model":"m","stream_options":false})",
       })
    CHECK(with_usage(body) == body);
}

TEST_CASE("a request with usage asked for still names its model") {
  const std::string body = with_usage(R"({"model":"gpt","stream":true,"messages":[]})");
  const auto view = inspect_request(body);
  REQUIRE(view.has_value());
  CHECK(view->model == "gpt");
  CHECK(view->stream);
  CHECK(with_model(body, *view, "m") ==
        R"({"stream_options":{"include_usage":true},"model":"m","stream":true,"messages":[]})");
}

TEST_CASE("a provider's usage is asked for where the client did not, and kept back from it [S6]") {
  provider_request r;
  r.path = "/chat/completions";
  r.stream = true;
  r.body = std::make_shared<const std::string>(R"({"model":"m","stream":true})");
  SECTION("it did not") {
    ask_for_usage(r);
    CHECK(asks_for_usage(*r.body));
    CHECK(r.usage_injected);
    const auto reader = read_stream_by_path(r);
    std::string out;
    reader->feed("data: {\"choices\":[{\"delta\":{\"content\":\"a\"},\"finish_reason\":\"stop\"}]}\n\n"
                 "data: {\"choices\":[],\"usage\":{\"prompt_tokens\":3,\"completion_tokens\":4}}\n\ndata: [DONE]\n\n",
                 out);
    CHECK(out.find("usage") == std::string::npos);
    CHECK(out.find("[DONE]") != std::string::npos);
    CHECK(reader->tokens().output == 4u);
    CHECK_FALSE(reader->tokens().estimated);
  }
  SECTION("it did") {
    r.body = std::make_shared<const std::string>(R"({"stream":true,"stream_options":{"include_usage":true}})");
    ask_for_usage(r);
    CHECK_FALSE(r.usage_injected);
  }
  SECTION("it is no stream") {
    r.stream = false;
    ask_for_usage(r);
    CHECK_FALSE(asks_for_usage(*r.body));
  }
  SECTION("responses have no such option") {
    r.path = "/responses";
    ask_for_usage(r);
    CHECK_FALSE(asks_for_usage(*r.body));
  }
}
