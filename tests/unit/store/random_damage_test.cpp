// SPDX-License-Identifier: Apache-2.0
// One bit is flipped at random places of a store, its log and an export. Each flip must be noticed,
// or change nothing. PLUMB_DAMAGE_PLACES says at how many places of each; ci/nightly takes 1,000.
#include <fmt/format.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cstdlib>
#include <fstream>
#include <functional>
#include <iterator>
#include <map>
#include <random>
#include <sstream>

#include "harness/base/error.hpp"
#include "harness/results/results_json.hpp"
#include "harness/store/files/store_files.hpp"
#include "harness/store/store.hpp"
#include "tests/support/result_rows.hpp"
#include "tests/support/temporary_folder.hpp"

namespace plumb::store {
namespace {

constexpr const char* kOld = "01J00000000000000000000001";
constexpr const char* kNew = "01J00000000000000000000002";
constexpr int kKeys = 40;

int places() {
  const char* const wanted = std::getenv("PLUMB_DAMAGE_PLACES");
  return wanted == nullptr ? 60 : std::atoi(wanted);
}

/// Fills a store with two runs: the newer one reuses rows of the older, has a tag and bounds.
void fill(Store& store) {
  store.begin_run(test::header(kOld, 0));
  std::vector<results::RowId> rows;
  for (int i = 0; i < kKeys; ++i) {
    std::vector<results::Measurement> batch{
        test::row(test::key(i), 5 + i, "a", results::Purpose::kRace),
        test::row(test::key(i), 5 + i, "a"),
        test::row(test::key(i), 6 + i, "b")};
    batch.back().attributes = {{"engine", std::to_string(i)}};
    batch.back().readings = {{"power_watts", {310.0, 309.0, 312.0, 3}}};
    const std::vector<results::RowId> ids = store.append(kOld, batch);
    rows.insert(rows.end(), ids.begin(), ids.end());
  }
  store.append(kOld,
               std::vector<results::Measurement>{test::failure(
                   test::key(kKeys), results::Outcome::Kind::kUnsupported, "no bf16")});
  store.finish_run(kOld, results::RunState::kFinished, test::at(30));
  store.begin_run(test::header(kNew, 60));
  store.append(kNew, std::vector<results::Measurement>{test::row(test::key(99), 7)});
  store.link_reused(kNew, std::vector<results::RowId>{rows[1], rows[4], rows[7]});
  for (int i = 0; i < kKeys; ++i) {
    store.put_derived(
        std::vector<results::DerivedRecord>{{kNew,
                                             "bound",
                                             fmt::format("model-{}|1|f32", i),
                                             "1",
                                             {rows[1], rows[4]},
                                             fmt::format(R"({{"models":[],"i":{}}})", i),
                                             test::at(70)}});
  }
  store.tag(kNew, "main");
}

using Answer = std::function<std::string(const Store&)>;

std::string exported(const Store& store) {
  std::ostringstream out;
  store.export_to(out, {});
  return out.str();
}

/// What programs ask a store for, each as a text.
const std::vector<Answer>& answers() {
  static const std::vector<Answer> all{
      exported,
      [](const Store& store) {
        std::string text;
        for (const results::RunRecord& run : store.runs()) {
          text += to_json(run.header) + std::string(to_text(run.state)) +
                  fmt::format("{} {} {}\n", run.rows_ok, run.rows_failed, run.rows_reused);
        }
        return text;
      },
      [](const Store& store) { return to_json(store.find_run("main").header); },
      [](const Store& store) { return to_json(store.find_run("@latest").header); },
      [](const Store& store) {
        std::string text;
        for (const results::StoredMeasurement& row : store.measurements(kNew)) {
          text += to_json(row.measurement);
        }
        return text;
      },
      [](const Store& store) {
        std::string text;
        for (int i = 0; i < kKeys; ++i) {
          for (const Store::SeriesQuery::Point& point :
               store.series({test::key(i).text, results::CacheMode::kNone, {}})) {
            text +=
                fmt::format("{} {} {}\n", point.run, point.variant, point.corrected.median.count());
          }
          text += "end\n";
        }
        return text;
      },
      [](const Store& store) {
        std::string text;
        for (const results::DerivedRecord& record : store.derived(kNew, "bound")) {
          text += record.subject + record.payload;
        }
        return text;
      }};
  return all;
}

std::vector<std::string> ask(const Store& store) {
  std::vector<std::string> texts;
  for (const Answer& answer : answers()) {
    texts.push_back(answer(store));
  }
  return texts;
}

std::string read_file(const std::filesystem::path& path) {
  std::ifstream file(path, std::ios::binary);
  return {std::istreambuf_iterator<char>(file), {}};
}

void write_file(const std::filesystem::path& path, const std::string& content) {
  std::ofstream(path, std::ios::binary) << content;
}

class RandomDamage : public testing::Test {
 protected:
  [[nodiscard]] std::string url(const char* name) const {
    return "sqlite:" + (folder_.path() / name).string();
  }

  /// Calls `outcome_of` for each flip of `good`, and prints how often it returned what.
  void flip(const std::string& good,
            const char* what,
            const std::function<std::string(const std::string& bad)>& outcome_of) {
    std::mt19937 random(20261123);
    std::map<std::string, int> counts;
    for (int place = 0; place < places(); ++place) {
      std::string bad = good;
      const std::size_t at = random() % bad.size();
      const unsigned bit = random() % 8;
      bad[at] = static_cast<char>(static_cast<unsigned char>(bad[at]) ^ (1U << bit));
      SCOPED_TRACE(fmt::format("{}: byte {} of {}, bit {}", what, at, bad.size(), bit));
      ++counts[outcome_of(bad)];
    }
    std::string text = fmt::format("{}: {} places", what, places());
    for (const auto& [outcome, count] : counts) {
      text += fmt::format(", {} {}", count, outcome);
      RecordProperty(fmt::format("{}_{}", what, outcome), count);
    }
    fmt::print("{}\n", text);
  }

  TemporaryFolder folder_;
};

enum class Reply { kRight, kRefused, kWrong };

/// Asks a damaged store. A refusal must be an error of the environment, and no bug.
Reply reply_of(const Store& store, const Answer& answer, const std::string& right) {
  try {
    return answer(store) == right ? Reply::kRight : Reply::kWrong;
  } catch (const Error& error) {
    EXPECT_EQ(error.kind(), Error::Kind::kEnvironment) << error.what();
    return Reply::kRefused;
  }
}

TEST_F(RandomDamage, of_a_store) {
  fill(*open_store(url("sound.db")));
  const std::string good = read_file(folder_.path() / "sound.db");
  const std::vector<std::string> right = ask(*open_store(url("sound.db")));
  flip(good, "store", [&](const std::string& bad) -> std::string {
    write_file(folder_.path() / "bad.db", bad);
    try {
      const auto store = open_store(url("bad.db"));
      bool all_right = true;
      bool wrong = false;
      for (std::size_t i = 0; i < right.size(); ++i) {
        const Reply reply = reply_of(*store, answers()[i], right[i]);
        all_right = all_right && reply == Reply::kRight;
        wrong = wrong || reply == Reply::kWrong;
      }
      const std::vector<std::string> faults = store->verify();
      EXPECT_TRUE(all_right || !faults.empty()) << "verify finds nothing";
      return faults.empty() ? "harmless" : wrong ? "noticed_by_verify_alone" : "noticed";
    } catch (const Error& error) {
      EXPECT_EQ(error.kind(), Error::Kind::kEnvironment) << error.what();
      return "noticed";
    }
  });
}

TEST_F(RandomDamage, of_an_export) {
  const auto source = open_store(url("source.db"));
  fill(*source);
  const std::string good = exported(*source);
  auto target = open_store(url("target.db"));
  flip(good, "export", [&](const std::string& bad) -> std::string {
    try {
      std::istringstream in(bad);
      target->import_from(in);
    } catch (const Error& error) {
      EXPECT_EQ(error.kind(), Error::Kind::kUser) << error.what();
      return "noticed";
    }
    EXPECT_EQ(exported(*target), good);
    return "harmless";
  });
  EXPECT_TRUE(target->runs().empty() || exported(*target) == good);
}

TEST_F(RandomDamage, of_the_log_of_a_killed_run) {
  const pid_t child = fork();
  if (child == 0) {
    fill(*open_store(url("killed.db")).release());
    _exit(0);  // without closing the store
  }
  int status = 0;
  ASSERT_EQ(waitpid(child, &status, 0), child);
  const std::filesystem::path path = folder_.path() / "killed.db";
  const std::string file = read_file(path);
  const std::string good = read_file(path.string() + "-wal");
  ASSERT_GT(good.size(), 100'000U);
  const std::string right = exported(*open_store(url("killed.db")));
  flip(good, "log", [&](const std::string& bad) -> std::string {
    std::filesystem::remove(folder_.path() / "bad.db-shm");
    write_file(folder_.path() / "bad.db", file);
    write_file(folder_.path() / "bad.db-wal", bad);
    if (read_log_damage(folder_.path() / "bad.db")) {
      return "noticed";
    }
    EXPECT_EQ(exported(*open_store(url("bad.db"))), right);
    return "harmless";
  });
}

}  // namespace
}  // namespace plumb::store
