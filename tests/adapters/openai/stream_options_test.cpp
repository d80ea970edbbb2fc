#include "switchyard/openai/stream.hpp"

#include "support/catch.hpp"

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
