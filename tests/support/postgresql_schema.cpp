// SPDX-License-Identifier: Apache-2.0
#include "tests/support/postgresql_schema.hpp"

#include <fmt/format.h>
#include <libpq-fe.h>

#include <cstdlib>
#include <memory>
#include <span>
#include <stdexcept>

#include "harness/base/digest.hpp"

namespace plumb::test {
namespace {

const char* server_url() {
  return std::getenv("PLUMB_TEST_POSTGRESQL");
}

struct Finish {
  void operator()(PGconn* connection) const { PQfinish(connection); }
};
struct Clear {
  void operator()(PGresult* result) const { PQclear(result); }
};

}  // namespace

bool has_postgresql_server() {
  return server_url() != nullptr;
}

void run_postgresql(const std::string& url, const std::string& sql) {
  const std::unique_ptr<PGconn, Finish> connection(PQconnectdb(url.c_str()));
  PQsetNoticeProcessor(
      connection.get(), [](void*, const char*) {}, nullptr);
  const std::unique_ptr<PGresult, Clear> result(PQexec(connection.get(), sql.c_str()));
  const ExecStatusType status = PQresultStatus(result.get());
  if (status != PGRES_COMMAND_OK && status != PGRES_TUPLES_OK) {
    throw std::runtime_error(PQerrorMessage(connection.get()));
  }
}

std::string postgresql_url(const std::filesystem::path& folder) {
  const std::string path = folder.string();
  const std::string schema = fmt::format("store_{:016x}", hash64(std::as_bytes(std::span(path))));
  run_postgresql(server_url(), "create schema if not exists " + schema);
  return fmt::format("{}&options=-csearch_path%3D{}", server_url(), schema);
}

}  // namespace plumb::test
