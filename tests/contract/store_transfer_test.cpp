// SPDX-License-Identifier: Apache-2.0
// What every store does to move and to shed results: export, import, garbage collection.
#include <filesystem>
#include <random>
#include <sstream>

#include "harness/results/results_json.hpp"
#include "harness/store/export_line.hpp"
#include "tests/contract/store_contract.hpp"
#include "tests/support/sample_profile.hpp"

namespace plumb::test {
namespace {

using testing::ElementsAre;
using testing::HasSubstr;
using testing::IsEmpty;
using testing::SizeIs;

class StoreTransfer : public StoreContract {};

INSTANTIATE_TEST_SUITE_P(Stores,
                         StoreTransfer,
                         testing::ValuesIn(store_kinds()),
                         [](const auto& tested) { return tested.param.name; });

constexpr const char* kOld = "01J00000000000000000000001";
constexpr const char* kNew = "01J00000000000000000000002";

/// Fills a store with two runs: the newer one reuses a row of the older and has a bound.
std::vector<results::RowId> fill(store::Store& store) {
  store.begin_run(header(kOld, 0));
  std::vector<results::RowId> rows =
      store.append(kOld,
                   std::vector<results::Measurement>{
                       row(key(1), 5, "a", results::Purpose::kRace),
                       row(key(1), 5, "a"),
                       row(key(1), 5, "a"),  // equal rows are two rows
                       failure(key(2), results::Outcome::Kind::kCrashed, "signal 11 ±")});
  store.finish_run(kOld, results::RunState::kFinished, at(30));
  store.begin_run(header(kNew, 60));
  rows.push_back(store.append(kNew, std::vector<results::Measurement>{row(key(3), 7)}).front());
  store.link_reused(kNew, std::vector<results::RowId>{rows[1]});
  store.put_derived(std::vector<results::DerivedRecord>{{kNew,
                                                         "bound",
                                                         "lenet|1|f32",
                                                         "1",
                                                         {rows[1], rows[4]},
                                                         R"({"models":[],"text":"\"ü\""})",
                                                         at(70)}});
  store.tag(kNew, "main");
  return rows;
}

std::string exported(const store::Store& store, const std::vector<results::RunId>& runs = {}) {
  std::ostringstream out;
  store.export_to(out, runs);
  return out.str();
}

std::size_t import(store::Store& store, const std::string& text) {
  std::istringstream in(text);
  return store.import_from(in);
}

TEST_P(StoreTransfer, an_export_imports_whole_and_only_once) {
  const auto source = open("source");
  fill(*source);
  const auto target = open("target");
  const std::string text = exported(*source);
  EXPECT_EQ(import(*target, text), 2U);
  EXPECT_EQ(exported(*target), text);
  EXPECT_EQ(import(*target, text), 0U);
  EXPECT_EQ(exported(*target), text) << "the second time changes nothing";
  EXPECT_THAT(target->verify(), IsEmpty());

  const results::RunRecord run = target->find_run("main");
  EXPECT_EQ(run.header.id, kNew);
  EXPECT_EQ(run.rows_reused, 1);
  EXPECT_EQ(target->find_run(kOld).finished, at(30));
  EXPECT_EQ(target->find_run(kOld).state, results::RunState::kFinished);
  EXPECT_THAT(target->measurements(kOld), SizeIs(4));
  const std::vector<results::DerivedRecord> bounds = target->derived(kNew, "bound");
  ASSERT_THAT(bounds, SizeIs(1));
  EXPECT_EQ(bounds[0].payload, R"({"models":[],"text":"\"ü\""})");
  EXPECT_THAT(bounds[0].inputs, SizeIs(2));
  EXPECT_EQ(target->series({.key = key(3).text, .environment = {}}).back().run, kNew);
}

TEST_P(StoreTransfer, an_export_of_one_run_brings_the_runs_it_refers_to) {
  const auto source = open("source");
  fill(*source);
  source->begin_run(header("01J00000000000000000000009", 90));
  const auto target = open("target");
  EXPECT_EQ(import(*target, exported(*source, {kNew})), 2U);
  EXPECT_THAT(target->measurements(kNew), SizeIs(2));
}

TEST_P(StoreTransfer, a_run_that_went_on_imports_its_new_rows_only) {
  const auto source = open("source");
  const auto target = open("target");
  source->begin_run(header(kOld));
  source->append(kOld, std::vector<results::Measurement>{row(key(1), 5)});
  import(*target, exported(*source));
  source->append(kOld, std::vector<results::Measurement>{row(key(1), 5), row(key(2), 6)});
  source->finish_run(kOld, results::RunState::kFinished, at(30));
  EXPECT_EQ(import(*target, exported(*source)), 0U);
  EXPECT_THAT(target->measurements(kOld), SizeIs(3));
  EXPECT_EQ(target->find_run(kOld).state, results::RunState::kFinished);
  EXPECT_EQ(target->find_run(kOld).rows_ok, 3);
  EXPECT_THAT(target->verify(), IsEmpty());
}

TEST_P(StoreTransfer, an_import_keeps_what_the_store_has_of_its_own) {
  const auto source = open("source");
  fill(*source);
  const auto target = open("target");
  target->begin_run(header("01J00000000000000000000005", 10));
  target->append("01J00000000000000000000005", std::vector<results::Measurement>{row(key(9), 1)});
  target->tag("01J00000000000000000000005", "main");
  EXPECT_EQ(import(*target, exported(*source)), 2U);
  EXPECT_EQ(target->find_run("main").header.id, "01J00000000000000000000005");
  EXPECT_THAT(target->measurements("01J00000000000000000000005"), SizeIs(1));
  EXPECT_THAT(target->verify(), IsEmpty());
}

std::string profiles_text(const store::Store& store, const results::RunId& run) {
  std::string text;
  for (const results::StoredProfile& profile : store.profiles(run)) {
    text += to_json(store::ExportLine(profile)) + '\n';
  }
  return text;
}

TEST_P(StoreTransfer, a_profile_is_read_as_it_was_stored_and_stored_once) {
  const auto store = open();
  store->begin_run(header(kOld));
  const results::StoredProfile profile = stored_profile(kOld);
  store->put_profile(profile);
  store->put_profile(profile);
  results::StoredProfile other = stored_profile(kOld, "vgg16|1|f32");
  other.profile.functions[1].build_id = "ff00";
  store->put_profile(other);
  EXPECT_EQ(profiles_text(*store, kOld),
            to_json(store::ExportLine(profile)) + '\n' + to_json(store::ExportLine(other)) + '\n');
  EXPECT_THAT(store->profiles(kOld)[0].profile.problems, ElementsAre("'libx.so' has no symbols"));
  EXPECT_THAT(store->verify(), IsEmpty());
}

TEST_P(StoreTransfer, names_in_a_profile_become_storable) {
  const auto store = open();
  store->begin_run(header(kOld));
  results::StoredProfile profile = stored_profile(kOld);
  profile.profile.functions[0].name = std::string("bad\xFF and zero\0", 14);
  profile.profile.functions[1].name = std::string(4096, 'x');
  profile.profile.listings[0].function.name = "\xFF";
  profile.profile.listings[0].instructions[0].text = "nop \xFF";
  store->put_profile(profile);
  store->put_profile(profile);
  ASSERT_THAT(store->profiles(kOld), SizeIs(1));
  EXPECT_EQ(store->profiles(kOld)[0].profile.functions[0].name, "bad\uFFFD and zero?");
  EXPECT_EQ(store->profiles(kOld)[0].profile.listings[0].instructions[0].text, "nop \uFFFD");
  EXPECT_THAT(store->verify(), IsEmpty());
}

TEST_P(StoreTransfer, profiles_are_exported_and_imported_whole_and_only_once) {
  const auto source = open("source");
  fill(*source);
  EXPECT_THAT(exported(*source), HasSubstr(R"("format":2)")) << "as earlier programs read it";
  source->put_profile(stored_profile(kNew));
  const std::string text = exported(*source);
  EXPECT_THAT(text, HasSubstr(R"("format":3)"));
  EXPECT_THAT(exported(*source, {kOld}), HasSubstr(R"("format":2)"));
  const auto target = open("target");
  EXPECT_EQ(import(*target, text), 2U);
  EXPECT_EQ(import(*target, text), 0U);
  EXPECT_EQ(exported(*target), text);
  EXPECT_EQ(profiles_text(*target, kNew), profiles_text(*source, kNew));
  EXPECT_THAT(target->verify(), IsEmpty());
}

/// Returns the lines of an export without their digests.
std::string unsealed(const std::string& text) {
  store::ExportLines chain;
  std::istringstream lines(text);
  std::string result;
  for (std::string line; std::getline(lines, line);) {
    result += chain.unseal(line) + '\n';
  }
  return result;
}

/// Returns lines with digests.
std::string sealed(const std::string& text) {
  store::ExportLines chain;
  std::istringstream lines(text);
  std::string result;
  for (std::string line; std::getline(lines, line);) {
    result += chain.seal(line) + '\n';
  }
  return result;
}

std::string replaced(std::string text, const std::string& from, const std::string& to) {
  const std::size_t where = text.find(from);
  EXPECT_NE(where, std::string::npos) << from;
  return where == std::string::npos ? text : text.replace(where, from.size(), to);
}

TEST_P(StoreTransfer, a_bad_import_names_its_line_and_changes_nothing) {
  const auto source = open("source");
  fill(*source);
  const std::string good = exported(*source);
  const std::string plain = unsealed(good);
  const auto target = open("target");
  const auto message = [&](const std::string& text) {
    return error_of(Error::Kind::kUser, [&] { import(*target, text); });
  };
  // What the digests do not show, because they were computed anew.
  const auto altered = [&](const std::string& from, const std::string& to) {
    return message(sealed(replaced(plain, from, to)));
  };
  EXPECT_THAT(message(""), HasSubstr("line 1"));
  EXPECT_THAT(message("not json\n"), HasSubstr("line 1"));
  EXPECT_THAT(message(sealed(plain.substr(plain.find('\n') + 1))), HasSubstr("header"));
  EXPECT_THAT(message(good.substr(0, good.size() / 2)), HasSubstr("line "));
  EXPECT_THAT(message(good.substr(0, good.rfind("{\"type\":\"end\""))), HasSubstr("line "));
  EXPECT_THAT(message(sealed(plain + "{\"type\":\"end\",\"lines\":0}\n")),
              HasSubstr("after the end"));
  EXPECT_THAT(altered(R"("format":2)", R"("format":4)"),
              testing::AllOf(HasSubstr("format 4"), HasSubstr("up to 3")));
  EXPECT_THAT(altered(R"("floor_seconds":1e-07)", R"("floor_seconds":2e-07)"),
              testing::AllOf(HasSubstr("line 3"), HasSubstr("checksum")));
  EXPECT_THAT(altered(R"("position":1)", R"("position":0)"), HasSubstr("occurs twice"));
  EXPECT_THAT(altered(R"("position":1)", R"("position":-1)"), HasSubstr("'position'"));
  EXPECT_THAT(altered(R"("position":1)", R"("position":99999999999)"), HasSubstr("'position'"));
  EXPECT_THAT(altered(R"("type":"row")", R"("type":"roe")"), HasSubstr("'roe'"));
  EXPECT_THAT(
      altered(std::string("[[\"") + kOld + "\",1]]", std::string("[[\"") + kOld + "\",77]]"),
      HasSubstr("row 77"));
  EXPECT_THAT(altered(R"("tags":["main"])", R"("tags":["@latest"])"), HasSubstr("cannot be a tag"));
  EXPECT_THAT(target->runs(), IsEmpty());
  EXPECT_THAT(target->verify(), IsEmpty());
  EXPECT_EQ(import(*target, good), 2U);
  EXPECT_THAT(altered(R"("kernel":"6.1")", R"("kernel":"6.2")"), HasSubstr("differs"));
}

TEST_P(StoreTransfer, what_no_checksum_of_a_row_covers_is_guarded_by_digests) {
  const auto source = open("source");
  fill(*source);
  const std::string good = exported(*source);
  const auto target = open("target");
  const std::vector<std::pair<std::string, std::string>> changes{
      {R"("samples_seconds":[4.5e-06)", R"("samples_seconds":[4.6e-06)"},
      {R"("subject":"lenet|1|f32")", R"("subject":"lenet|2|f32")"},
      {R"("payload":"{)", R"("payload":"[)"},
      {R"("tags":["main"])", R"("tags":["moin"])"},
      {R"("state":"finished")", R"("state":"running")"},
      {R"("format":2)", R"("format":1)"}};
  for (const auto& [from, to] : changes) {
    EXPECT_THAT(error_of(Error::Kind::kUser,
                         [&, &f = from, &t = to] { import(*target, replaced(good, f, t)); }),
                HasSubstr("altered"))
        << from;
  }
  const std::string row = good.substr(good.find("{\"type\":\"row\""));
  const std::string first = row.substr(0, row.find('\n') + 1);
  EXPECT_THAT(error_of(Error::Kind::kUser, [&] { import(*target, replaced(good, first, "")); }),
              HasSubstr("digest"));
  EXPECT_THAT(target->runs(), IsEmpty());
}

TEST_P(StoreTransfer, what_comes_from_format_1_is_marked_as_unguarded_for_good) {
  const auto source = open("source");
  fill(*source);
  const std::string old = replaced(unsealed(exported(*source)), R"("format":2)", R"("format":1)");
  const auto unguarded = [](const store::Store& store, const results::RunId& run) {
    return store.derived(run, store::kUnguardedRecord).size() == 1;
  };
  const auto target = open("target");
  target->begin_run(header("01J00000000000000000000005", 10));
  EXPECT_EQ(import(*target, old), 2U);
  EXPECT_EQ(import(*target, old), 0U);
  EXPECT_TRUE(unguarded(*target, kOld));
  EXPECT_TRUE(unguarded(*target, kNew));
  EXPECT_FALSE(unguarded(*target, "01J00000000000000000000005"));
  EXPECT_THAT(target->verify(), IsEmpty());
  import(*source, old);
  EXPECT_FALSE(unguarded(*source, kOld)) << "nothing of the old export was taken";

  const auto third = open("third");
  EXPECT_EQ(import(*third, exported(*target)), 3U);
  EXPECT_TRUE(unguarded(*third, kOld));
}

TEST_P(StoreTransfer, a_derived_record_that_is_not_what_its_kind_says_is_refused) {
  const auto source = open("source");
  fill(*source);
  const auto target = open("target");
  const std::string bad =
      sealed(replaced(unsealed(exported(*source)), R"(\"models\":[],)", R"(\"modles\":[],)"));
  EXPECT_THAT(error_of(Error::Kind::kUser, [&] { import(*target, bad); }),
              testing::AllOf(HasSubstr("line 10"), HasSubstr("'bound'"), HasSubstr("'models'")));
  EXPECT_THAT(target->runs(), IsEmpty());
}

TEST_P(StoreTransfer, random_damage_never_gets_into_the_store) {
  const auto source = open("source");
  fill(*source);
  const std::string good = exported(*source);
  const auto target = open("target");
  std::mt19937 random(20261121);
  for (int i = 0; i < 200; ++i) {
    std::string bad = good;
    for (int changes = 0; changes < 3; ++changes) {
      bad[random() % bad.size()] = static_cast<char>(random() % 256);
    }
    try {
      import(*target, bad);
    } catch (const Error& error) {
      EXPECT_EQ(error.kind(), Error::Kind::kUser) << error.what();
    }
  }
  EXPECT_THAT(target->verify(), IsEmpty());
}

TEST_P(StoreTransfer, garbage_collection_removes_old_runs_and_what_is_theirs) {
  const auto store = open();
  store->begin_run(header(kOld, 0));
  store->append(kOld, std::vector<results::Measurement>{row(key(1), 5, "a"), row(key(2), 5, "a")});
  store->put_derived(std::vector<results::DerivedRecord>{
      {kOld, "bound", "lenet|1|f32", "1", {}, R"({"models":[]})", at(3)}});
  store->finish_run(kOld, results::RunState::kFinished, at(3));
  store->begin_run(header(kNew, 60));
  const std::vector<results::RowId> kept =
      store->append(kNew, std::vector<results::Measurement>{row(key(1), 7, "a")});
  const store::Store::Garbage collected = store->collect_garbage(at(20));
  EXPECT_EQ(collected.runs, 1U);
  ASSERT_THAT(store->runs(), SizeIs(1));
  EXPECT_EQ(store->runs()[0].header.id, kNew);
  EXPECT_THROW((void)store->find_run(kOld), Error);
  EXPECT_THAT(store->verify(), IsEmpty());
  // Series have the points of what is left.
  EXPECT_THAT(store->series({.key = key(1).text, .environment = {}}), SizeIs(1));
  EXPECT_THAT(store->series({.key = key(2).text, .environment = {}}), IsEmpty());
  EXPECT_EQ(store->collect_garbage(at(20)).runs, 0U);
  EXPECT_EQ(store->measurements(kNew)[0].row, kept[0]);
}

TEST_P(StoreTransfer, garbage_collection_keeps_baselines_and_what_staying_runs_need) {
  const auto store = open();
  constexpr const char* kAccepted = "01J00000000000000000000004";
  constexpr const char* kCalibrated = "01J00000000000000000000005";
  constexpr const char* kRunning = "01J00000000000000000000006";
  for (const char* const id : {kOld, kAccepted, kCalibrated, kRunning}) {
    store->begin_run(header(id, 0));
    store->append(id, std::vector<results::Measurement>{row(key(1), 5, "a")});
    if (id != kRunning) {
      store->finish_run(id, results::RunState::kFinished, at(3));
    }
  }
  const std::string environment = store->find_run(kOld).header.environment.id();
  store->put_derived(std::vector<results::DerivedRecord>{
      {kAccepted, "baseline", "baseline/models", "1", {}, R"({"reason":"first"})", at(3)},
      {kOld, "calibration", environment, "1", {}, "{}", at(1)},
      {kCalibrated, "calibration", environment, "1", {}, "{}", at(3)}});
  store->begin_run(header(kNew, 60));
  store->finish_run(kNew, results::RunState::kFinished, at(70));
  EXPECT_EQ(store->collect_garbage(at(20)).runs, 1U) << "kOld: an older calibration";
  EXPECT_THAT(store->runs(), SizeIs(4));
  EXPECT_EQ(store->latest_calibration(environment)->run, kCalibrated);
  EXPECT_EQ(store->collect_garbage(at(1000)).runs, 0U) << "the newest run stays";
  EXPECT_THAT(store->verify(), IsEmpty());
}

TEST_P(StoreTransfer, garbage_collection_gives_its_room_back) {
  const auto store = open();
  store->begin_run(header(kOld, 0));
  std::vector<results::Measurement> rows;
  for (int i = 0; i < 3000; ++i) {
    rows.push_back(row(key(i % 50), 5, "a"));
    rows.back().samples.assign(200, Seconds(1e-3 * (i + 1)));
  }
  store->append(kOld, rows);
  store->finish_run(kOld, results::RunState::kFinished, at(3));
  store->begin_run(header(kNew, 60));
  const Bytes before = store->size();
  EXPECT_EQ(store->collect_garbage(at(20)).runs, 1U);
  EXPECT_LT(store->size().value, before.value / 2);
}

TEST_P(StoreTransfer, garbage_collection_drops_samples_and_races_and_keeps_the_rest) {
  const auto store = open();
  const std::vector<results::RowId> rows = fill(*store);
  store->begin_run(header("01J00000000000000000000003", 30));
  store->append("01J00000000000000000000003",
                std::vector<results::Measurement>{row(key(5), 5, "a", results::Purpose::kRace),
                                                  row(key(5), 5)});
  // The two of kOld with samples that the tagged run does not reuse, one of them a race.
  const store::Store::Garbage collected = store->collect_garbage(at(20));
  EXPECT_EQ(collected.rows, 2U);
  EXPECT_EQ(collected.runs, 0U) << "a staying run reuses one of its rows";
  const std::vector<results::StoredMeasurement> old = store->measurements(kOld);
  ASSERT_THAT(old, SizeIs(3));
  EXPECT_EQ(old[0].row, rows[1]);
  EXPECT_THAT(old[0].measurement.samples, SizeIs(3)) << "a tagged run reuses this one";
  EXPECT_THAT(old[1].measurement.samples, IsEmpty());
  EXPECT_EQ(old[1].measurement.summary.n, 3U);
  EXPECT_EQ(old[2].measurement.outcome.kind, results::Outcome::Kind::kCrashed);
  EXPECT_EQ(store->find_run(kOld).rows_ok, 2);
  EXPECT_THAT(store->measurements("01J00000000000000000000003"), SizeIs(2)) << "too young";
  EXPECT_THAT(store->measurements(kNew)[1].measurement.samples, SizeIs(3)) << "tagged";
  EXPECT_EQ(store->collect_garbage(at(20)).rows, 0U);
  EXPECT_THAT(store->verify(), IsEmpty());
}

TEST_P(StoreTransfer, garbage_collection_removes_old_profiles_of_untagged_runs) {
  const auto store = open();
  fill(*store);
  store->put_profile(stored_profile(kOld));
  store->put_profile(stored_profile(kNew));
  EXPECT_EQ(store->collect_garbage(at(-10), at(-10)).profiles, 0U) << "too young";
  EXPECT_EQ(store->collect_garbage(at(-10), at(100)).profiles, 1U);
  EXPECT_THAT(store->profiles(kOld), IsEmpty());
  EXPECT_THAT(store->profiles(kNew), SizeIs(1)) << "tagged";
  EXPECT_THAT(store->measurements(kOld), SizeIs(4)) << "its rows stay";
  EXPECT_THAT(store->verify(), IsEmpty());
}

TEST_P(StoreTransfer, garbage_collection_removes_the_profiles_of_removed_runs) {
  const auto store = open();
  store->begin_run(header(kOld, 0));
  store->put_profile(stored_profile(kOld));
  store->finish_run(kOld, results::RunState::kFinished, at(3));
  store->begin_run(header(kNew, 60));
  EXPECT_EQ(store->collect_garbage(at(20)).runs, 1U);
  store->put_profile(stored_profile(kNew));
  EXPECT_THAT(store->profiles(kNew), SizeIs(1));
  EXPECT_THAT(store->verify(), IsEmpty());
}

TEST_P(StoreTransfer, new_rows_never_take_the_id_of_a_collected_one) {
  const auto store = open();
  store->begin_run(header(kOld, 0));
  const std::vector<results::RowId> first = store->append(
      kOld, std::vector<results::Measurement>{row(key(1), 5, "a", results::Purpose::kRace)});
  static_cast<void>(store->collect_garbage(at(10)));
  EXPECT_THAT(store->measurements(kOld), IsEmpty());
  const std::vector<results::RowId> second =
      store->append(kOld, std::vector<results::Measurement>{row(key(1), 6)});
  EXPECT_NE(first, second);
}

}  // namespace
}  // namespace plumb::test
