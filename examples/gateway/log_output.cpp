#include "log_output.hpp"

#include "switchyard/json/json_text.hpp"

#include <boost/json/object.hpp>
#include <spdlog/fmt/chrono.h>
#include <spdlog/pattern_formatter.h>
#include <spdlog/sinks/stdout_color_sinks.h>
#include <spdlog/sinks/stdout_sinks.h>
#include <spdlog/spdlog.h>

#include <memory>
#include <string>

namespace switchyard::gateway {

namespace {

std::string_view name_of(spdlog::level::level_enum level) {
  const auto name = spdlog::level::to_string_view(level);
  return {name.data(), name.size()};
}

// The whole line, as one flag of the pattern.
class json_line : public spdlog::custom_flag_formatter {
public:
  void format(const spdlog::details::log_msg& line, const std::tm&, spdlog::memory_buf_t& to) override {
    const auto whole = std::chrono::floor<std::chrono::seconds>(line.time);
    const auto part = std::chrono::floor<std::chrono::milliseconds>(line.time - whole);
    const auto time = fmt::format("{:%Y-%m-%dT%H:%M:%S}.{:03}Z",
                                  fmt::gmtime(std::chrono::system_clock::to_time_t(whole)), part.count());
    const auto text = to_json_text({{"time", time},
                                    {"level", name_of(line.level)},
                                    {"message", std::string_view{line.payload.data(), line.payload.size()}}});
    to.append(text.data(), text.data() + text.size());
  }
  std::unique_ptr<custom_flag_formatter> clone() const override { return std::make_unique<json_line>(); }
};

} // namespace

void log_to_stderr(log_format format, spdlog::level::level_enum least) {
  if (format == log_format::text) {
    spdlog::set_default_logger(spdlog::stderr_color_mt("switchyard"));
  } else {
    auto lines = std::make_unique<spdlog::pattern_formatter>();
    lines->add_flag<json_line>('J').set_pattern("%J");
    auto logger = spdlog::stderr_logger_mt("switchyard");
    logger->set_formatter(std::move(lines));
    spdlog::set_default_logger(std::move(logger));
  }
  spdlog::set_level(least);
}

} // namespace switchyard::gateway
