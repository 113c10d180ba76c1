// SPDX-License-Identifier: Apache-2.0
#include <fmt/format.h>
#include <libpq-fe.h>

#include <array>
#include <string_view>

#include "harness/base/error.hpp"
#include "harness/store/postgresql/postgresql_connection.hpp"
#include "harness/store/store.hpp"
#include "harness/store/store_errors.hpp"

namespace plumb::store {
namespace {

/// What to do about the errors whose code begins in a way (PostgreSQL's manual, appendix A).
struct Advice {
  std::string_view code;
  Error::Kind kind;
  std::string_view text;
};

constexpr std::string_view kDamaged = "the store is damaged";

constexpr std::array kAdvices{
    Advice{"55P03",
           Error::Kind::kTryAgain,
           "another process keeps the store locked for too long: wait for it, or end it"},
    Advice{"57014", Error::Kind::kTryAgain, "the server stopped the statement: try again"},
    Advice{"40", Error::Kind::kTryAgain, "another process was first: try again"},
    Advice{"53300", Error::Kind::kTryAgain, "the server has too many connections: try again later"},
    Advice{"53",
           Error::Kind::kEnvironment,
           "check the server's disk and memory; earlier results are safe"},
    Advice{"58", Error::Kind::kEnvironment, "check the server's disk; earlier results are safe"},
    Advice{"42501",
           Error::Kind::kEnvironment,
           "this role lacks the right: use another one, or ask the owner of the store to grant it"},
    Advice{"25006", Error::Kind::kEnvironment, "name a server or a role that may write"},
    Advice{"22", Error::Kind::kUser, "the store cannot hold this value"},
    // The tables are not what the migrations made.
    Advice{"23", Error::Kind::kEnvironment, kDamaged},
    Advice{"42P01", Error::Kind::kEnvironment, kDamaged},
    Advice{"42703", Error::Kind::kEnvironment, kDamaged},
    Advice{"XX", Error::Kind::kEnvironment, kDamaged},
    Advice{"28",
           Error::Kind::kEnvironment,
           "check the role, and its password in ~/.pgpass, PGPASSFILE or the service file"},
    Advice{"3D000", Error::Kind::kEnvironment, "make the database with createdb"},
};

std::string trimmed(std::string_view text) {
  while (!text.empty() && (text.back() == '\n' || text.back() == ' ')) {
    text.remove_suffix(1);
  }
  std::string line(text);
  for (char& c : line) {
    c = c == '\n' ? ' ' : c;
  }
  return line;
}

std::string field(const pg_result* result, int which) {
  const char* const text = PQresultErrorField(result, which);
  return text == nullptr ? std::string() : std::string(text);
}

constexpr std::string_view kConnectionAdvice =
    "check the database, the role, and its password in ~/.pgpass, PGPASSFILE or the service file";
constexpr std::string_view kEncryptionAdvice =
    "check sslmode and sslrootcert in the URL, and that the server's certificate is of that root "
    "and names the host as the URL does";

/// Returns whether a connection failed for its encryption.
bool is_of_encryption(std::string_view message) {
  return message.find("certificate") != std::string_view::npos ||
         message.find("SSL") != std::string_view::npos;
}

[[noreturn]] void throw_away(const std::string& store, const std::string& message) {
  throw Store::ServerAway(
      fmt::format("the server of the store '{}' is away: {}; check that it runs, and try again",
                  store,
                  message));
}

}  // namespace

void throw_failed_connection(const pg_conn& connection, const std::string& store) {
  const std::string message = trimmed(PQerrorMessage(&connection));
  // libpq keeps no code for a refused connection, but says whether a password was wanted.
  for (const std::string_view lasting : {"does not exist",
                                         "authentication failed",
                                         "no password supplied",
                                         "not permitted",
                                         "no pg_hba.conf entry",
                                         "definition of service",
                                         "certificate",
                                         "SSL error",
                                         "support SSL",
                                         "invalid"}) {
    if (message.find(lasting) != std::string::npos &&
        message.find("server closed the connection") == std::string::npos) {
      throw Error(Error::Kind::kEnvironment,
                  fmt::format("cannot open the store '{}': {}; {}",
                              store,
                              message,
                              is_of_encryption(message) ? kEncryptionAdvice : kConnectionAdvice));
    }
  }
  throw_away(store, message);
}

void throw_failure(const pg_conn& connection, const pg_result* result, const std::string& store) {
  const std::string code = field(result, PG_DIAG_SQLSTATE);
  if (PQstatus(&connection) == CONNECTION_BAD || code.empty() || code.starts_with("08") ||
      code.starts_with("57P")) {
    throw_away(store, trimmed(PQerrorMessage(&connection)));
  }
  const std::string message = field(result, PG_DIAG_MESSAGE_PRIMARY);
  const std::string damaged = std::string(kDamaged) + "; " + damage_advice(kRestoreDatabase);
  for (const Advice& advice : kAdvices) {
    if (code.starts_with(advice.code)) {
      throw Error(advice.kind,
                  fmt::format("cannot use the store '{}': {} (SQLSTATE {}); {}",
                              store,
                              message,
                              code,
                              advice.text == kDamaged ? damaged : advice.text));
    }
  }
  throw Error(Error::Kind::kInternal,
              fmt::format("cannot use the store '{}': {} (SQLSTATE {}); please report this bug",
                          store,
                          message,
                          code));
}

}  // namespace plumb::store
