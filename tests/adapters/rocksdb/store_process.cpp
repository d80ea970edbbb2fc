// switchyard_store_process open DIR: opens the store; exits with 0, or with 10 plus the kind of the error.
// switchyard_store_process die DIR COUNT: stores COUNT answers and as many records, then dies by SIGKILL without
// closing.

#include "switchyard/rocksdb/database.hpp"

#include <signal.h>

#include <cstdlib>
#include <iostream>
#include <string>
#include <vector>

namespace {

using namespace switchyard;

void write_one(store::database& db, int i) {
  stored_answer answer;
  answer.body = "body " + std::to_string(i);
  answer.stored_at = wall_time(std::chrono::system_clock::now());
  answer.ttl = 1h;
  telemetry_record record;
  record.request.request_id = "request-" + std::to_string(i);
  record.request.time = answer.stored_at;
  std::vector<std::shared_ptr<const telemetry_record>> batch{std::make_shared<const telemetry_record>(record)};
  if (!db.answers()->put("key " + std::to_string(i), answer) || !db.telemetry()->append(batch, {}))
    std::_Exit(1);
}

} // namespace

int main(int argc, char** argv) {
  std::vector<std::string> arguments(argv + 1, argv + argc);
  if (arguments.size() < 2)
    return 2;
  auto db = store::database::open(arguments[1], {});
  if (!db) {
    std::cerr << db.error().message << '\n';
    return 10 + static_cast<int>(db.error().what);
  }
  if (arguments[0] != "die" || arguments.size() < 3)
    return 0;
  for (int i = 0; i < std::stoi(arguments[2]); ++i)
    write_one(**db, i);
  ::raise(SIGKILL);
  return 1;
}
