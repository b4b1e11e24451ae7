"""Proves of each rule of tools/check_source.py that it finds a bad snippet and leaves a good one.

Run by tools/test, or: python3 -m unittest discover --start-directory tests/check
"""

import pathlib
import subprocess
import sys
import tempfile
import time
import unittest

ROOT = pathlib.Path(__file__).resolve().parents[2]
sys.path.insert(0, str(ROOT / "tools"))

import check_source  # noqa: E402

HEADER = "// A thing.\n#pragma once\n"


def check(files: dict[str, str]) -> list[check_source.Finding]:
    with tempfile.TemporaryDirectory() as folder:
        root = pathlib.Path(folder)
        for path, text in files.items():
            (root / path).parent.mkdir(parents=True, exist_ok=True)
            (root / path).write_text(text)
        return list(check_source.findings(check_source.Project(root)))


class RuleTest(unittest.TestCase):
    def found(self, rule: str, files: dict[str, str]) -> list[tuple[str, int]]:
        return [(each.path, each.line) for each in check(files) if each.rule == rule]

    def assert_found(self, rule: str, path: str, line: int, text: str, **others: str) -> None:
        files = {path: text} | {name.replace("__", "/") + ".h": body
                                for name, body in others.items()}
        self.assertEqual(self.found(rule, files), [(path, line)], text)

    def assert_clean(self, rule: str, path: str, text: str, **others: str) -> None:
        files = {path: text} | {name.replace("__", "/") + ".h": body
                                for name, body in others.items()}
        self.assertEqual(self.found(rule, files), [], text)


class IncludeRules(RuleTest):
    def test_the_table(self) -> None:
        forbidden = [
            ("base/a.cpp", "storage/b.h"), ("storage/a.cpp", "propagation/b.h"),
            ("propagation/a.cpp", "oltp/b.h"), ("propagation/a.cpp", "olap/b.h"),
            ("oltp/a.cpp", "olap/b.h"), ("olap/a.cpp", "oltp/b.h"), ("oltp/a.cpp", "storage/b.h"),
            ("olap/a.cpp", "propagation/b.h"), ("dispatcher/a.cpp", "workloads/b.h"),
            ("workloads/a.cpp", "oltp/b.h"), ("cli/a.cpp", "olap/b.h"), ("cli/a.cpp", "tests/b.h"),
        ]
        for path, include in forbidden:
            self.assert_found("include", path, 2, f'\n#include "{include}"\n')
        allowed = [
            ("base/a.cpp", "base/b.h"), ("storage/a.cpp", "base/b.h"),
            ("propagation/a.cpp", "storage/b.h"), ("olap/a.cpp", "storage/b.h"),
            ("dispatcher/a.cpp", "oltp/b.h"), ("dispatcher/a.cpp", "olap/b.h"),
            ("workloads/a.cpp", "dispatcher/b.h"), ("cli/a.cpp", "workloads/b.h"),
            ("tests/olap/a.cpp", "oltp/b.h"), ("tests/olap/a.cpp", "tests/b.h"),
        ]
        for path, include in allowed:
            self.assert_clean("include", path, f'#include "{include}"\n')

    def test_oltp_sees_the_export_side_of_propagation_only(self) -> None:
        self.assert_found("include", "oltp/a.cpp", 1, '#include "propagation/router.h"\n')
        self.assert_clean("include", "oltp/a.cpp", '#include "propagation/export/set.h"\n')
        self.assert_found("include", "propagation/export/a.h", 3,
                          HEADER + '#include "storage/b.h"\n')

    def test_ours_by_the_path_from_the_root_in_quotes_and_others_in_brackets(self) -> None:
        self.assert_found("include", "base/a.cpp", 1, '#include "b.h"\n')
        self.assert_found("include", "base/a.cpp", 1, '#include "pg_query.h"\n')
        self.assert_found("include", "base/a.cpp", 1, "#include <base/b.h>\n", base__b=HEADER)
        self.assert_clean("include", "base/a.cpp", "#include <pg_query.h>\n#include <vector>\n")

    def test_an_include_in_a_comment_is_none(self) -> None:
        self.assert_clean("include", "base/a.cpp", '/*\n#include "oltp/b.h"\n*/\n// #include "x.h"')

    def test_layers(self) -> None:
        forbidden = [
            ("olap/execution/limits/a.cpp", "olap/execution/vector/b.h"),
            ("olap/execution/join/a.cpp", "olap/execution/scan/b.h"),
            ("olap/execution/star/a.cpp", "olap/execution/plan_runner.h"),
            ("olap/execution/a.cpp", "olap/sql/b.h"),
        ]
        for path, include in forbidden:
            self.assert_found("layer", path, 2, f'\n#include "{include}"\n')
        allowed = [
            ("olap/execution/scan/a.cpp", "olap/execution/scan/b.h"),
            ("olap/execution/scan/a.cpp", "olap/execution/join/b.h"),
            ("olap/execution/a.cpp", "olap/execution/star/b.h"),
            ("olap/execution/a.cpp", "olap/b.h"),
            ("olap/sql/a.cpp", "olap/execution/expression/b.h"),
            ("olap/a.cpp", "olap/sql/b.h"), ("tests/olap/a.cpp", "olap/execution/star/b.h"),
        ]
        for path, include in allowed:
            self.assert_clean("layer", path, f'#include "{include}"\n')

    def test_private_folders(self) -> None:
        line = '#include "olap/sql/detail/lexer.h"\n'
        self.assert_found("private", "olap/scan.cpp", 1, line)
        self.assert_found("private", "dispatcher/a.cpp", 1, line.replace("detail", "internal"))
        self.assert_clean("private", "olap/sql/parser.cpp", line)
        self.assert_clean("private", "tests/olap/lexer_test.cpp", line)

    def test_cycles(self) -> None:
        a, b, c = (f'// A thing.\n#include "base/{to}.h"\n' for to in "bca")
        files = {"base/a.h": a, "base/b.h": b, "base/c.h": c}
        self.assertEqual(self.found("cycle", files), [("base/c.h", 2)])
        self.assertEqual(self.found("cycle", {"base/a.h": a, "base/b.h": b, "base/c.h": ""}), [])
        diamond = '#include "base/b.h"\n#include "base/c.h"\n'
        self.assertEqual(self.found("cycle", {"base/a.h": diamond, "base/b.h": b, "base/c.h": ""}),
                         [])


class SizeRules(RuleTest):
    def test_columns(self) -> None:
        self.assert_found("columns", "base/a.cpp", 2, "\n// " + "x" * 98 + "\n")
        self.assert_clean("columns", "base/a.cpp", "// " + "é" * 97 + "\n")
        self.assert_found("columns", "tools/run", 1, "#" * 101)
        self.assert_clean("columns", "docs/a.md", "x" * 200)
        for path in ("cmake/a.cmake", "base/CMakeLists.txt"):
            self.assert_found("columns", path, 1, "#" * 121)
            self.assert_clean("columns", path, "#" * 120)

    def test_file_length(self) -> None:
        self.assert_found("file-length", "base/a.h", 301, "//\n" * 301)
        self.assert_clean("file-length", "base/a.h", "//\n" * 300)
        self.assert_found("file-length", "base/a.cpp", 601, "//\n" * 601)
        self.assert_clean("file-length", "base/a.cpp", "//\n" * 600)

    def function(self, signature: str, lines: int, end: str = "}") -> str:
        body = ["  if (x) { y(); }  // }"] * (lines - 2)
        return "\n".join([signature, *body, end, ""])

    def test_function_length(self) -> None:
        signatures = [
            "void f() {", "static int f(int a, std::vector<int> b = {}) {", "TEST(Case, Name) {",
            "Foo::Foo(int a) : a_{a}, b_(a), c_{{1, 2}} {", "Foo::Foo() noexcept : Bar(1) {",
            "auto f() -> std::vector<int> {", "bool operator==(const Foo& other) const {",
            "Foo& operator=(Foo&& other) noexcept {", "void operator()(int a) const override {",
            "template <class T, template <class> class Atomic = std::atomic> void f(T t) {",
            "template <class T> requires std::integral<T> void f(T t) {",
            "int f() const noexcept(true) {", "[[nodiscard]] Result<int> f() DIPTYCH_REQUIRES(m) {",
            "static const auto kRun = [](int a) -> int {",
        ]
        for signature in signatures:
            text = "namespace n {\n" + self.function(signature, 71) + "}\n"
            self.assert_found("function-length", "base/a.cpp", 2, text)
            text = "namespace n {\n" + self.function(signature, 70) + "}\n"
            self.assert_clean("function-length", "base/a.cpp", text)

    def test_function_length_counts_from_the_first_line_of_the_signature(self) -> None:
        text = "// About f.\nvoid f(int a,\n" + self.function("       int b) {", 70)
        self.assert_found("function-length", "base/a.cpp", 2, text)

    def test_a_member_function_and_the_one_after_it(self) -> None:
        text = "class A final : public B<int> {\n public:\n  A() : x_{1} {}\n"
        text += self.function("  void f() {", 71, "  }") + "  void g() {}\n  int x_{2};\n};\n"
        self.assert_found("function-length", "base/a.cpp", 4, text)

    def test_a_lambda_counts_with_its_function(self) -> None:
        inner = self.function("  auto each = [&](int a) {", 60, "  };")
        self.assert_found("function-length", "base/a.cpp", 1,
                          "void f() {\n" + inner + "  g();\n" * 12 + "}\n")

    def test_types_tables_and_namespaces_are_not_functions(self) -> None:
        rows = '  {"name", f(1), {1, 2}},\n' * 80
        for opening in ("constexpr Row kRows[] = {", "const std::array<Row, size(3)> kRows{{",
                        "enum class Kind : uint8_t {", "struct alignas(64) Row : Base<int> {",
                        "namespace diptych::base {", 'extern "C" {', "template <class T> class A{"):
            closing = "}" * opening.count("{") + ";\n"
            self.assert_clean("function-length", "base/a.cpp", opening + "\n" + rows + closing)

    def test_a_long_lambda_in_a_table_is_a_function(self) -> None:
        text = "const Row kRow[] = {\n" + self.function('  {"x", [](int a) {', 71, "  }},") + "};\n"
        self.assert_found("function-length", "base/a.cpp", 2, text)

    def test_braces_in_literals_and_comments_are_no_braces(self) -> None:
        text = ('void f() { g("{", \'{\', R"x({{")x", 1\'000); /* { */ }  // {\n'
                + self.function("void h() {", 70))
        self.assert_clean("function-length", "base/a.cpp", text)


class NameRules(RuleTest):
    def test_banned_words(self) -> None:
        for path in ("base/string_util.cpp", "olap/helpers/a.cpp", "base/common.cpp"):
            self.assert_found("name", path, 1, "\n")
        for line in ("namespace diptych::utils {}", "class ScanHelper {};", "struct Misc;",
                     "enum class CommonKind { kA };", "using PageUtil = int;"):
            self.assert_found("name", "base/a.cpp", 2, "\n" + line + "\n")

    def test_words_that_only_contain_one(self) -> None:
        for line in ("class Utilization {};", "struct CommonTableExpression {};",
                     "using T = std::common_type_t<int, long>;", "// a helper of sorts",
                     "using std::common_type_t;", "class Uncommon {};"):
            self.assert_clean("name", "base/a.cpp", line + "\n")
        self.assert_clean("name", "base/utilization.cpp", "\n")


class AtomicRules(RuleTest):
    DECLARED = "std::atomic<uint64_t> pushed_{0};\n"

    def test_an_order_without_a_reason(self) -> None:
        self.assert_found("memory-order", "base/a.cpp", 2,
                          self.DECLARED + "auto x = pushed_.load(std::memory_order_acquire);\n")
        self.assert_found("memory-order", "base/a.cpp", 1,
                          "auto x = row->version.load(std::memory_order_relaxed);\n")
        self.assert_found("memory-order", "base/a.cpp", 3, "// The version.\n\n"
                          "row->version.store(1,\n   std::memory_order::release);\n")

    def test_a_reason_above_or_beside_or_inside(self) -> None:
        for text in (
            "// acquire: pairs with W1 in seal().\nx.load(std::memory_order_acquire);\n",
            "// acquire: pairs with W1,\n// that is in seal().\nx.load(std::memory_order_acquire);",
            "x.load(std::memory_order_relaxed);  // relaxed: the worker's own.\n",
            "if (x.compare_exchange_weak(a, b,\n  // acq_rel: as above.\n"
            "  std::memory_order_acq_rel, std::memory_order_relaxed)) {\n}\n",
            "// relaxed: counters.\na.store(1, std::memory_order_relaxed);\n"
            "b.store(1, std::memory_order_relaxed);\n",
        ):
            self.assert_clean("memory-order", "base/a.cpp", text)

    def test_a_blank_line_ends_what_a_reason_covers(self) -> None:
        self.assert_found("memory-order", "base/a.cpp", 4,
                          "// relaxed: counters.\na.store(1, std::memory_order_relaxed);\n\n"
                          "b.store(1, std::memory_order_relaxed);\n")

    def test_a_reason_that_speaks_of_another_order(self) -> None:
        self.assert_found("memory-order", "base/a.cpp", 2,
                          "// relaxed: a counter.\nx.load(std::memory_order_acquire);\n")

    def test_no_order(self) -> None:
        for declaration in (
            self.DECLARED, "Atomic<uint64_t>* pushed_;\n", "std::atomic_uint64_t pushed_;\n",
            "std::vector<std::atomic<int>> pushed_;\n",
            "std::array<std::atomic<int>, 8> pushed_;\n",
            "std::unique_ptr<Atomic<std::pair<int, int>>[]> pushed_;\n",
            "using Count = std::atomic<int>; Count pushed_;\n",
        ):
            for call in ("pushed_.load()", "pushed_->store(1)", "pushed_[i + f(2)].exchange(3)"):
                self.assert_found("memory-order", "base/a.cpp", 2, declaration + call + ";\n")
        self.assert_found("memory-order", "base/a.cpp", 1, "count().fetch_add(1);\n")

    def test_no_order_on_a_member_of_the_header(self) -> None:
        self.assert_found("memory-order", "base/a.cpp", 1, "pushed_.load();\n",
                          base__a=HEADER + self.DECLARED)
        self.assert_found("memory-order", "base/a.cpp", 2, '#include "base/b.h"\nb.pushed_.load();',
                          base__b=HEADER + self.DECLARED)

    def test_an_order_that_a_constant_names(self) -> None:
        self.assert_clean("memory-order", "base/a.cpp", self.DECLARED +
                          "// release, but a mutant weakens it.\npushed_.store(1, kSealOrder);\n")
        self.assert_found("memory-order", "base/a.cpp", 2,
                          self.DECLARED + "pushed_.store(1, kSealOrder);\n")

    def test_other_loads_and_stores(self) -> None:
        for text in ("database.load(table, file);\n", "hn::Load(d, p); page->store(3);\n",
                     "auto old = std::exchange(x, 1); file.exchange(y);\n",
                     "condition.wait(lock);\n", "// pushed_.load()\n" + self.DECLARED):
            self.assert_clean("memory-order", "base/a.cpp", text)

    def test_fences(self) -> None:
        self.assert_found("fence", "base/a.cpp", 2,
                          "\nstd::atomic_thread_fence(std::memory_order_seq_cst);\n")
        self.assert_clean("fence", "base/a.cpp", "// no atomic_thread_fence\n")


class HeaderRules(RuleTest):
    def test_pragma_once(self) -> None:
        self.assert_found("pragma-once", "base/a.h", 1, "// A thing.\n// #pragma once\n")
        self.assert_clean("pragma-once", "base/a.h", HEADER)
        self.assert_clean("pragma-once", "base/a.cpp", "int x;\n")

    def test_contract(self) -> None:
        self.assert_found("contract", "base/a.h", 1, "#pragma once\n// A thing.\n")
        self.assert_clean("contract", "base/a.h", "\n" + HEADER)

    def test_own_header(self) -> None:
        own = HEADER
        self.assert_found("own-header", "base/a.cpp", 2, "// A.\n#include <vector>\n"
                          '#include "base/a.h"\n', base__a=own)
        self.assert_found("own-header", "base/a.cpp", 1, "int x;\n", base__a=own)
        self.assert_clean("own-header", "base/a.cpp", '// A.\n#include "base/a.h"\n'
                          "#include <vector>\n", base__a=own)
        self.assert_clean("own-header", "base/a.cpp", "#include <vector>\n", base__b=own)

    def test_using_namespace(self) -> None:
        self.assert_found("using-namespace", "base/a.h", 3, HEADER + "using namespace std;\n")
        self.assert_clean("using-namespace", "base/a.h", HEADER + "// no using namespace std\n")
        self.assert_clean("using-namespace", "base/a.cpp", "using namespace std::literals;\n")


class LabelRules(RuleTest):
    HEADER = "// A thing.\n//\n// Invariants\n//   I1  It holds.\n//   I2  So does this.\n"

    def found_labels(self, **files: str) -> list[tuple[str, int]]:
        return self.found("label", {name.replace("__", "/").replace("_cpp", ".cpp")
                                    .replace("_h", ".h"): text for name, text in files.items()})

    def test_a_label_is_defined_once_in_a_folder(self) -> None:
        again = "// Another.\n//   I2  Else.\n"
        self.assertEqual(self.found_labels(oltp__a_h=self.HEADER, oltp__b_h=again),
                         [("oltp/b.h", 2)])
        self.assertEqual(self.found_labels(oltp__a_h=self.HEADER, storage__b_h=again), [])
        self.assertEqual(self.found_labels(oltp__a_h=self.HEADER, oltp__sub__b_h=again), [])

    def test_what_is_cited_is_defined_in_the_folder(self) -> None:
        for cited in ("// (I3)", "int a;  // here (I3).", "// (I1, I3)", "// (I1 and I3)",
                      'void f() { DIPTYCH_CHECK(g(")") > 0, "I3: why"); }',
                      'void f() { DIPTYCH_DCHECK(true, "I3"); }', "// (I3 of a.h)",
                      "// (I1 of b.h)"):
            self.assertEqual(self.found_labels(oltp__a_h=self.HEADER, oltp__b_h="// B.\n",
                                               oltp__c_cpp="\n" + cited + "\n"),
                             [("oltp/c.cpp", 2)], cited)
        self.assertEqual(self.found_labels(oltp__a_h=self.HEADER, storage__c_cpp="// (I1)\n"),
                         [("storage/c.cpp", 1)])
        for folder in ("olap", "dispatcher"):
            self.assertEqual(self.found_labels(**{f"{folder}__c_cpp": "// (I1)\n"}),
                             [(f"{folder}/c.cpp", 1)])

    def test_a_citation_that_leads_somewhere_and_what_is_none(self) -> None:
        for cited in ("// (I1)", "// (I1, I2)", "// (I1 and I2 of a.h)", "// (I1-I2)",
                      "// (M2 of Cas)", 'void f() { DIPTYCH_CHECK(true, "I2 of a.h: why"); }',
                      "// L2 holds (in L3, too)", "// as Q1 says (see Q2)",
                      'auto text = "Q7: no check";'):
            self.assertEqual(self.found_labels(oltp__a_h=self.HEADER, oltp__c_cpp=cited), [], cited)
        self.assertEqual(self.found_labels(storage__a_h=self.HEADER, oltp__c_cpp="// (I1 of a.h)"),
                         [])


class TextRules(RuleTest):
    def test_unfinished(self) -> None:
        for word in ("TO" + "DO", "FIX" + "ME", "X" * 3):
            for path in ("base/a.cpp", "tools/a.py", "docs/a.md", "cmake/a.cmake"):
                self.assert_found("unfinished", path, 2, f"\n# // {word}(me): later\n")
        self.assert_clean("unfinished", "base/a.cpp", 'mkdtemp("/tmp/a-' + "X" * 6 + '");\n')

    def test_dividers(self) -> None:
        for line in ("// " + "-" * 6, "//" + "=" * 20, "// " + "-" * 4 + " Scans " + "-" * 4,
                     "/" * 40, "/" + "*" * 30):
            self.assert_found("divider", "base/a.cpp", 2, "\n" + line + "\n")
        self.assert_found("divider", "tools/a.py", 1, "# " + "-" * 6 + "\n")
        for line in ("// | --- | --- |", "//   +------+------+", "//     ------>", "// -1 is none",
                     "x = a ------b;", "//   ^^^^^^^"):
            self.assert_clean("divider", "base/a.cpp", line + "\n")

    def test_machine_paths(self) -> None:
        for folder in ("work", "root", "home"):
            self.assert_found("machine-path", "tools/a.py", 1, f'open("/{folder}/x")\n')
            self.assert_found("machine-path", "docs/a.md", 1, f"see /{folder}/x\n")
        for line in ("a/work/b", "build/home/x", "/workloads/tpcc.h", "$root/report"):
            self.assert_clean("machine-path", "docs/a.md", line + "\n")

    def test_shared_ptr(self) -> None:
        line = "std::shared_ptr<Page> page;"
        self.assert_found("shared-ptr", "storage/a.cpp", 1, line + "\n")
        self.assert_found("shared-ptr", "olap/a.cpp", 1, "f(std::make_shared<Page>());\n")
        self.assert_clean("shared-ptr", "storage/a.cpp", line + "  // shared_ptr: cut by two.\n")
        self.assert_clean("shared-ptr", "workloads/a.cpp", line + "\n")

    def test_readme(self) -> None:
        self.assertEqual(self.found("readme", {"base/a.cpp": ""}), [("base/README.md", 1)])
        self.assertEqual(self.found("readme", {"base/a.cpp": "", "base/README.md": "x"}), [])


class Program(unittest.TestCase):
    def run_on(self, root: pathlib.Path) -> subprocess.CompletedProcess:
        return subprocess.run([sys.executable, str(ROOT / "tools/check_source.py"), str(root)],
                              capture_output=True, text=True, check=False)

    def test_exit_codes_and_the_form_of_a_line(self) -> None:
        with tempfile.TemporaryDirectory() as folder:
            root = pathlib.Path(folder)
            self.assertEqual(self.run_on(root).returncode, 2)
            (root / "base").mkdir()
            (root / "base/README.md").write_text("Base.\n")
            self.assertEqual(self.run_on(root).returncode, 0)
            (root / "base/a.h").write_text("// A thing.\n")
            done = self.run_on(root)
            self.assertEqual(done.returncode, 1)
            self.assertEqual(done.stdout, "base/a.h:1: pragma-once: a header has #pragma once\n")

    def test_every_rule_has_a_test_here(self) -> None:
        text = pathlib.Path(__file__).read_text()
        for name, _ in check_source.RULES:
            self.assertIn(f'"{name}"', text)

    def test_it_is_quick(self) -> None:
        body = "void f(int a) {\n  if (a) { g(\"x\", 'c', 1'000); }  // why\n}\n" * 150
        with tempfile.TemporaryDirectory() as folder:
            root = pathlib.Path(folder) / "base"
            root.mkdir()
            for number in range(100):
                (root / f"a{number}.cpp").write_text(body)
            began = time.process_time()
            list(check_source.findings(check_source.Project(root.parent)))
            self.assertLess(time.process_time() - began, 4.0)


if __name__ == "__main__":
    unittest.main()
