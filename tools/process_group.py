"""How the Python tools end: one that is terminated ends what it has started before.

The children of a tool get a process group of their own, so that what they have started ends too.
"""

import contextlib
import os
import signal
import subprocess
import sys

END_SECONDS_MAX = 10  # for a process to end by itself when it is asked to


def exit_when_terminated():
    """From now on SIGTERM raises SystemExit, so that `finally` and `with` do what they are for."""
    signal.signal(signal.SIGTERM, _exit)


def _exit(number, _):
    signal.signal(number, signal.SIG_IGN)  # a second one must not cut the ending short
    sys.exit(128 + number)


@contextlib.contextmanager
def running(command, **options):
    """A Popen, waited for at the block's end; where an exception leaves the block, ended before."""
    with subprocess.Popen([str(part) for part in command], process_group=0, **options) as process:
        try:
            yield process
        except BaseException:
            _end(process)
            raise


def _end(process):
    for number in (signal.SIGTERM, signal.SIGKILL):
        with contextlib.suppress(ProcessLookupError):
            os.killpg(process.pid, number)
        with contextlib.suppress(subprocess.TimeoutExpired):
            process.wait(END_SECONDS_MAX)
