"""A tool that is terminated ends what it has started, and what that has started, and leaves no
temporary folder."""

import os
import pathlib
import shutil
import signal
import subprocess
import sys
import tempfile
import time
import unittest

TOOLS = pathlib.Path(__file__).resolve().parents[2] / "tools"
SECONDS_MAX = 20
# In the place of a benchmark or of rounds: it has a child, leaves a file, and says who both are.
PROGRAM = """#!{python}
import os, pathlib, subprocess, sys, tempfile, time
child = subprocess.Popen([sys.executable, "-c", "import time; time.sleep({seconds})"])
tempfile.mkdtemp()
pids = pathlib.Path({pids!r})
pids.with_suffix(".new").write_text(f"{{os.getpid()}} {{child.pid}}")
pids.with_suffix(".new").rename(pids)
time.sleep({seconds})
"""


def is_running(process_id):
    try:
        stat = pathlib.Path(f"/proc/{process_id}/stat").read_text()
    except (FileNotFoundError, ProcessLookupError):
        return False
    return stat.rpartition(")")[2].split()[0] != "Z"


def waited_for(condition):
    """Whether it became true."""
    end = time.monotonic() + SECONDS_MAX
    while not condition() and time.monotonic() < end:
        time.sleep(0.02)
    return bool(condition())


class TerminatedTest(unittest.TestCase):
    def setUp(self):
        # Where the tests run in the background it is ignored, here and in what is started.
        before = signal.signal(signal.SIGINT, signal.default_int_handler)
        self.addCleanup(signal.signal, signal.SIGINT, before)
        folder = tempfile.TemporaryDirectory()
        self.addCleanup(folder.cleanup)
        self.root = pathlib.Path(folder.name)
        self.pids = self.root / "pids"
        self.temporary = self.root / "tmp"
        shutil.copytree(TOOLS, self.root / "tools")
        self.program = self.root / "build/release/diptych"
        self.put(self.program, PROGRAM.format(python=sys.executable, pids=str(self.pids),
                                              seconds=2 * SECONDS_MAX))

    def put(self, path, text):
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(text)
        path.chmod(0o755)

    def end(self, number, tool, *arguments):
        """Of the tool that is ended while its program runs, the exit code."""
        self.pids.unlink(missing_ok=True)
        shutil.rmtree(self.temporary, ignore_errors=True)
        self.temporary.mkdir()
        environment = {"PATH": f"{self.root / 'bin'}:/usr/bin:/bin", "TMPDIR": str(self.temporary)}
        with subprocess.Popen([self.root / "tools" / tool, *arguments], env=environment,
                              stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL) as it:
            self.assertTrue(waited_for(self.pids.exists))
            it.send_signal(number)
            it.wait(SECONDS_MAX)
        return it.returncode

    def test_what_it_started_ends_with_it(self):
        rounds = ("--program", self.program, "--power-program", self.program)
        for tool, *arguments in (("soak", "--seconds", "20"), ("crash-test", *rounds),
                                 ("crash-test", "--soak", *rounds),
                                 ("crash-test", "--power-cut", *rounds)):
            for number, code in ((signal.SIGTERM, 128 + 15), (signal.SIGINT, -2)):
                with self.subTest(tool=tool, arguments=arguments, number=number):
                    self.assertEqual(self.end(number, tool, *arguments), code)
                    for process_id in self.pids.read_text().split():
                        self.assertTrue(waited_for(lambda: not is_running(process_id)))
                    if tool == "crash-test":
                        self.assertEqual(list(self.temporary.iterdir()), [])

    def test_the_fuzzer_ends_with_its_script(self):
        for name in ("bin/cmake", "bin/clang++-16", "build/fuzz/tests/fuzz/fuzz_seeds"):
            self.put(self.root / name, "#!/bin/sh\n")
        self.put(self.root / "tests/fuzz/a_fuzz.cpp", "")
        self.put(self.root / "build/fuzz/tests/fuzz/a_fuzz", self.program.read_text())
        for number in (signal.SIGTERM, signal.SIGINT):
            self.assertEqual(self.end(number, "fuzz"), 128 + number)
            fuzzer, child = self.pids.read_text().split()
            self.assertTrue(waited_for(lambda: not is_running(fuzzer)))
            os.kill(int(child), signal.SIGKILL)  # libFuzzer has none


if __name__ == "__main__":
    unittest.main()
