#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Runs ci/house_figures.py on small trees, whose figures are counted by hand.

Usage: house_figures_test.py [unittest arguments].
"""

import json
import pathlib
import subprocess
import sys
import tempfile
import unittest

SCRIPT = pathlib.Path(__file__).resolve().parents[3] / "ci/house_figures.py"
WORDS = "one two three four five six seven eight nine ten "


class HouseFigures(unittest.TestCase):
    def setUp(self):
        folder = tempfile.TemporaryDirectory()
        self.addCleanup(folder.cleanup)
        self.root = pathlib.Path(folder.name)

    def write(self, path, text="\n"):
        file = self.root / path
        file.parent.mkdir(parents=True, exist_ok=True)
        file.write_text(text, encoding="utf-8")

    def run_script(self, *arguments, expect=0):
        command = [sys.executable, str(SCRIPT), "--root", str(self.root), *map(str, arguments)]
        done = subprocess.run(command, capture_output=True, text=True, timeout=60, check=False)
        self.assertEqual(done.returncode, expect, done.stderr)
        return done

    def figures(self, *arguments):
        return json.loads(self.run_script("--json", *arguments).stdout)

    def git(self, *arguments):
        author = ("-c", "user.name=a", "-c", "user.email=a@b.c", "-c", "commit.gpgsign=false")
        command = ["git", "-C", str(self.root), *author, *arguments]
        return subprocess.run(command, capture_output=True, text=True, check=True).stdout.strip()


class Sizes(HouseFigures):
    def test_counts_sources_by_module_and_tests_apart(self):
        self.write("harness/model/key/a.hpp", "\n" * 10)
        self.write("harness/model/a.cpp", "\n" * 20 + "no line end")
        self.write("harness/root.h", "\n")
        self.write("runners/cuda/kernels/k.cuh", "\n" * 2)
        self.write("runners/cuda/k.cu", "\n" * 3)
        self.write("reporting/html/table.inc", "\n" * 4)
        self.write("suites/zoo/net.cpp", "\n" * 5)
        self.write("suites/quick.toml")
        self.write("harness/model/facts.hpp.in")
        self.write("elsewhere/b.cpp")
        self.write("tests/unit/a_test.cpp", "\n" * 7)
        self.write("tests/unit/a_test.py")
        figures = self.figures()
        self.assertEqual(figures["schema_version"], 1)
        self.assertIsNone(figures["revision"])
        self.assertEqual(figures["sources"]["files"], 7)
        self.assertEqual(figures["sources"]["lines"], 46)
        modules = {
            name: (row["files"], row["lines"])
            for name, row in figures["sources"]["modules"].items()
        }
        self.assertEqual(
            modules,
            {
                "harness": (1, 1),
                "harness/model": (2, 31),
                "reporting": (1, 4),
                "runners/cuda": (2, 5),
                "suites": (1, 5),
            },
        )
        self.assertEqual((figures["tests"]["files"], figures["tests"]["lines"]), (1, 7))

    def test_median_percentile_and_long_files(self):
        # Ten files: the median lies between the fifth and the sixth, the percentile is the ninth.
        for i, lines in enumerate((1, 2, 3, 4, 5, 8, 300, 301, 500, 501)):
            self.write(f"harness/base/f{i}.cpp", "\n" * lines)
        sources = self.figures()["sources"]
        self.assertEqual(sources["median_lines"], 6.5)
        self.assertEqual(sources["p90_lines"], 500)
        long = {f"harness/base/f{i}.cpp": lines for i, lines in ((9, 501), (8, 500), (7, 301))}
        self.assertEqual(sources["over_300_lines"], long)
        self.assertEqual(sources["over_500_lines"], {"harness/base/f9.cpp": 501})

    def test_a_folder_is_crowded_from_41_files_of_its_own_on(self):
        for i in range(40):
            self.write(f"harness/full/f{i}.cpp")
            self.write(f"runners/crowded/f{i}.cpp")
        self.write("runners/crowded/f40.hpp")
        self.write("harness/full/below/f.cpp")
        self.write("harness/full/CMakeLists.txt")
        self.assertEqual(self.figures()["sources"]["crowded_folders"], {"runners/crowded": 41})


class Types(HouseFigures):
    def types(self, text):
        self.write("harness/base/a.hpp", text)
        figures = self.figures()
        return figures["sources"]["types"], figures["namespaces"]

    def test_counts_definitions_at_namespace_scope_alone(self):
        text = """
            struct Global { int x; };
            struct Forward;
            class AlsoForward;
            enum class Opaque : int;
            namespace plumb {
            class Outer final : public Base<int> {
              struct Nested { enum Deeper { kA }; };
              struct Declared;
            };
            struct Outer::Declared {};
            enum Color { kRed };
            enum class Shade : unsigned char { kDark };
            enum { kNameless = 3 };
            struct Forward make(struct Forward x) { struct Local {}; return x; }
            namespace { struct Hidden { struct InHidden {}; }; namespace inner { class Deep {}; } }
            inline namespace v1 { struct Versioned {}; }
            }
            namespace plumb::cuda { template <typename T, class U = A<B<T>>> struct Pair {}; }
            extern "C" { struct Plain { int y; }; }
            """
        count, namespaces = self.types(text)
        # Global, Outer, Color, Shade, Versioned, Pair and Plain.
        self.assertEqual(count, 7)
        counts = {"plumb": 3, "(global)": 2, "plumb::cuda": 1, "plumb::v1": 1}
        self.assertEqual(namespaces, counts)

    def test_a_specialization_is_a_type(self):
        count, _ = self.types(
            "template <> struct std::hash<plumb::Key> {};\n"
            "template <class T> requires Small<T> class alignas(16) [[nodiscard]] Box<T*> {};\n"
        )
        self.assertEqual(count, 2)

    def test_comments_literals_and_directives_hold_no_types(self):
        count, namespaces = self.types(
            "// struct A {\n/* class B { */\n"
            "#define OPEN(x) struct x { \\\n  int y;\n"
            'const char* kText = "struct C {";\n'
            "const char kBrace = '{', kQuote = '\\'', kDigits = 1'000;\n"
            'const char* kRaw = R"x(namespace { " struct D { )" )x";\n'
            "namespace fs = std::filesystem;\nusing namespace std;\n"
            "NLOHMANN_DEFINE_TYPE(E, f)\nstruct Real {};\n"
        )
        self.assertEqual(count, 1)
        self.assertEqual(namespaces, {"(global)": 1})


class Includes(HouseFigures):
    def test_finds_cycles_of_components_and_of_folders(self):
        # a > b > c > a by way of a source; d and e are a cycle across folders.
        self.write("harness/model/a.hpp", '#include "harness/model/b.hpp"\n')
        self.write("harness/model/b.hpp")
        self.write("harness/model/b.cpp", '#include "harness/model/b.hpp"\n#include "c.hpp"\n')
        self.write("harness/model/c.hpp", '  #  include <harness/model/a.hpp>\n#include <vector>\n')
        self.write("harness/model/d.hpp", '#include "harness/model/key/e.hpp"\n')
        self.write("harness/model/key/e.hpp")
        self.write("harness/model/key/e.cpp", '#include "harness/model/d.hpp"\n')
        self.write("harness/model/key/f.hpp", '#include "harness/model/a.hpp"\n')
        self.write("harness/base/g.cpp", '// #include "harness/model/a.hpp"\n#include "none.hpp"\n')
        self.write("tests/unit/t.cpp", '#include "harness/model/a.hpp"\n')
        figures = self.figures()
        cycles = [
            ["harness/model/a", "harness/model/b", "harness/model/c"],
            ["harness/model/d", "harness/model/key/e"],
        ]
        self.assertEqual(figures["component_cycles"], cycles)
        self.assertEqual(figures["folder_cycles"], [["harness/model", "harness/model/key"]])

    def test_a_header_and_its_own_source_are_no_cycle(self):
        self.write("harness/base/a.hpp", '#include "harness/base/b.hpp"\n')
        self.write("harness/base/a.cpp", '#include "harness/base/a.hpp"\n')
        self.write("harness/base/b.hpp", '#include "harness/base/b.hpp"\n')
        figures = self.figures()
        self.assertEqual(figures["component_cycles"], [])
        self.assertEqual(figures["folder_cycles"], [])

    def test_headers_with_one_user_and_with_none(self):
        own = '#include "harness/base/{0}.hpp"\n'
        for name in ("one", "two", "lonely", "tested"):
            self.write(f"harness/base/{name}.hpp")
        self.write("harness/base/one.cpp", own.format("one") + own.format("two"))
        self.write("harness/base/lonely.cpp", own.format("lonely"))
        self.write("runners/fake/main.cpp", own.format("one") * 2 + own.format("two"))
        self.write("tests/unit/t.cpp", own.format("tested") + own.format("one"))
        headers = self.figures()["headers"]
        self.assertEqual(headers["headers"], 4)
        self.assertEqual(headers["one_user"], {"harness/base/one.hpp": "runners/fake/main.cpp"})
        none = ["harness/base/lonely.hpp", "harness/base/tested.hpp"]
        self.assertEqual(headers["no_user"], none)


class Comments(HouseFigures):
    def test_counts_first_words_of_blocks(self):
        text = """
            /// Is one thing.
            struct A {
              /// Is a nested thing. It
              /// Has a second line.
              template <typename T>
              class B {};
              int x;  ///< Is no block
            };
            /// Is quick.
            bool quick();
            // Is no such comment
            /// Says what.
            /// Holds
            enum class C { kC };
            /// Holds it.
            /// Tells it.

            /// Tells it.
            /// Isolated.
            /// is small.
            ///
            /// Knows
            """
        self.write("runners/cuda/a.hpp", text)
        comments = self.figures()["comments"]
        self.assertEqual(comments["blocks"], 6)
        words = {"Is": 3, "Says": 1, "Holds": 1, "Has": 0, "Knows": 0, "Tells": 1}
        self.assertEqual(comments["first_words"], words)
        self.assertEqual(comments["is_on_types"], 2)


class Documents(HouseFigures):
    def documents(self, **files):
        self.write("harness/a.cpp")
        for name, text in files.items():
            self.write("README.md" if name == "README" else f"docs/{name}.md", text)
        return self.figures()["documents"]

    def test_a_sentence_is_long_from_26_words_on(self):
        documents = self.documents(
            README=f"# Title {WORDS * 3}\n\n{WORDS * 2}a b c d e.\n{WORDS}\n{WORDS}\na b c d e f!\n"
        )
        self.assertEqual(documents["sentences"], 2)
        self.assertEqual(documents["readme_lines"], 6)
        begins = "one two three four five six seven eight"
        place = {"file": "README.md", "line": 3, "words": 26, "begins": begins}
        self.assertEqual(documents["long_sentences"], [place])

    def test_links_code_and_images_are_counted_as_they_are_read(self):
        # 20 + 3 (link text) + 1 (code) + 2 = 26 words; the dash, target and image are none.
        links = "[see *this page*](a b c d.md 'e f') `a b. c d` — ![i j](k.png) x y.\n"
        text = WORDS * 2 + links
        documents = self.documents(guide=text)
        self.assertEqual([row["words"] for row in documents["long_sentences"]], [26])
        self.assertEqual(documents["sentences"], 1)

    def test_code_tables_headings_and_comments_are_no_prose(self):
        long = WORDS * 3
        text = (
            f"Before:\n```\n{long}.\n\n{long}.\n```\n## {long}\n| {long} | {long} |\n"
            f"<!-- {long}\n{long} -->\n[x]: {long}\n~~~\n```\n{long}\n~~~\n"
            f"Underlined {long}\n---\nAfter.\n"
        )
        documents = self.documents(guide=text)
        self.assertEqual(documents["long_sentences"], [])
        self.assertEqual(documents["sentences"], 2)

    def test_list_items_and_paragraphs_end_sentences(self):
        text = f"{WORDS}\n- {WORDS}\n  {WORDS}\n- {WORDS}\n1. {WORDS}\n\n> {WORDS}\n"
        documents = self.documents(guide=text)
        # The paragraph before the list, three items, the quotation.
        self.assertEqual(documents["sentences"], 5)
        self.assertEqual(documents["long_sentences"], [])

    def test_ends_of_sentences(self):
        text = '3.5 ms (e.g. here). "Is it?" Yes (it is.) cuDNN 9.1 is. Et al. too **Bold.** End'
        documents = self.documents(guide=text)
        # … here). | "Is it?" | Yes (it is.) | cuDNN 9.1 is. | Et al. too Bold. | End
        self.assertEqual(documents["sentences"], 6)

    def test_counts_wide_lines_with_and_without_tables(self):
        wide = "ä" * 101 + "\n"
        documents = self.documents(README="x" * 100 + "\n" + wide, guide=wide + "|" + wide)
        self.assertEqual(documents["wide_lines"], {"docs/guide.md": 2, "README.md": 1})
        self.assertEqual(documents["wide_lines_outside_tables"], 2)
        self.assertEqual((documents["files"], documents["lines"]), (2, 4))

    def test_a_missing_readme_has_no_length(self):
        self.assertIsNone(self.documents(guide="Text.")["readme_lines"])


class CompileTime(HouseFigures):
    def test_the_newest_entry_of_each_object_counts(self):
        self.write("harness/a.cpp")
        self.write(
            "build/.ninja_log",
            "# ninja log v5\n"
            "0\t9000\t1\tharness/CMakeFiles/h.dir/a.cpp.o\taa\n"
            "100\t1600\t2\tharness/CMakeFiles/h.dir/a.cpp.o\tab\n"
            "200\t700\t2\tharness/CMakeFiles/h.dir/Unity/unity_0_cxx.cxx.o\tac\n"
            "200\t450\t2\tproto/worker.pb.cc.o\tad\n"
            "0\t4000\t2\tCMakeFiles/h.dir/cmake_pch.hxx.gch\tae\n"
            "0\t7000\t2\tharness/libh.a\taf\n"
            "0\t7000\t2\tproto/worker.pb.cc\tb0\n",
        )
        times = self.figures("--build", self.root / "build")["compile"]
        self.assertEqual(times["units"], 3)
        self.assertAlmostEqual(times["seconds"], 1.5 + 0.5 + 0.25)
        self.assertEqual(times["precompiled_headers"], 1)
        self.assertAlmostEqual(times["precompiled_header_seconds"], 4.0)

    def test_no_build_no_time(self):
        self.write("harness/a.cpp")
        self.assertIsNone(self.figures()["compile"])
        self.assertRegex(self.run_script().stdout, r"(?m)^compiled units +–$")


class Command(HouseFigures):
    def test_a_revision_is_read_without_a_checkout(self):
        self.write("harness/a.cpp", "one\n")
        self.git("init", "-q")
        self.git("add", ".")
        self.git("commit", "-q", "-m", "first")
        commit = self.git("rev-parse", "HEAD")
        before = self.figures()
        self.write("harness/a.cpp", "one\ntwo\n")
        self.write("harness/b.cpp", "three\n")
        old = self.figures("--rev", commit[:9])
        self.assertEqual(old, {**before, "revision": commit})
        self.assertEqual(self.figures()["sources"]["lines"], 3)
        status = self.git("status", "--porcelain").split("\n")
        self.assertEqual(status, ["M harness/a.cpp", "?? harness/b.cpp"])

    def test_lists_have_ten_entries_unless_all_is_asked_for(self):
        for i in range(12):
            self.write(f"harness/m{i:02}/a.hpp")
        short = self.run_script().stdout
        self.assertIn("house figures of the working tree\n", short)
        self.assertRegex(short, r"(?m)^headers with no user +12$")
        self.assertIn("  harness/m09/a.hpp\n  … and 2 more (--all)\n", short)
        full = self.run_script("--all").stdout
        self.assertIn("  harness/m11/a.hpp\n", full)
        self.assertNotIn("(--all)", full)

    def test_bad_input_is_one_line_and_status_2(self):
        self.assertRegex(self.run_script(expect=2).stderr, r"^error: no source in any of .*\n$")
        self.write("harness/a.cpp")
        for arguments, said in (
            (("--rev", "nothing"), "no revision 'nothing'"),
            (("--rev=--all",), "no revision '--all'"),
            (("--root", self.root / "none"), "no folder '"),
            (("--root", self.root / "none", "--rev", "HEAD"), "no folder '"),
            (("--build", self.root / "none"), "no Ninja log '"),
        ):
            with self.subTest(arguments=arguments):
                done = self.run_script(*arguments, expect=2)
                self.assertRegex(done.stderr, rf"^error: {said}.*\n$")
                self.assertEqual(done.stdout, "")


if __name__ == "__main__":
    unittest.main(verbosity=2)
