"""Reading a document: its sections, its fenced blocks, its console sessions."""

import pathlib
import re


def section(document: pathlib.Path, title: str) -> str:
    return re.search(rf"^## {title}\n(.*?)^## ", document.read_text(), re.M | re.S).group(1)


def blocks(text: str) -> list[tuple[str, str]]:
    """(language, content) of each fenced block."""
    return re.findall(r"^```(\w*)\n(.*?)^```$", text, re.M | re.S)


def console_steps(session: str) -> list[tuple[str, str]]:
    """(command, what it printed) of a console session; a command may go on over several lines."""
    steps = []
    for step in re.split(r"^\$ ", session, flags=re.M)[1:]:
        lines = step.splitlines(keepends=True)
        command = lines.pop(0)
        while command.count('"') % 2 == 1:
            command += lines.pop(0)
        steps.append((command.strip(), "".join(lines)))
    return steps


def without_times(text: str) -> str:
    return re.sub(r"\b\d+\.\d+ (s|ms)\b", r"N \1", text)
