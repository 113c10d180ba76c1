// SPDX-License-Identifier: Apache-2.0
#include "harness/store/postgresql/postgresql_url.hpp"

#include <libpq-fe.h>

#include <memory>

#include "harness/base/error.hpp"

namespace plumb::store {
namespace {

struct FreeOptions {
  void operator()(PQconninfoOption* options) const { PQconninfoFree(options); }
};

}  // namespace

bool is_postgresql_url(std::string_view url) {
  return url.starts_with("postgresql://") || url.starts_with("postgres://");
}

void check_postgresql_url(const std::string& url) {
  char* message = nullptr;
  const std::unique_ptr<PQconninfoOption, FreeOptions> options(
      PQconninfoParse(url.c_str(), &message));
  PQfreemem(message);  // It repeats parts of the URL, and one may be a password.
  if (!options) {
    throw Error(Error::Kind::kUser,
                "the URL of the PostgreSQL store cannot be read (it is not repeated here, as it "
                "may hold a password): write postgresql://USER@HOST:PORT/DATABASE?NAME=VALUE");
  }
  for (const PQconninfoOption* option = options.get(); option->keyword != nullptr; ++option) {
    const std::string_view name = option->keyword;
    if (option->val != nullptr && (name == "password" || name == "sslpassword")) {
      throw Error(Error::Kind::kUser,
                  "the URL of the PostgreSQL store holds a password, which others can read in the "
                  "list of processes: change that password, write the URL without it, and keep "
                  "the new one in ~/.pgpass (or PGPASSFILE, or a service file)");
    }
  }
}

}  // namespace plumb::store
