#!/usr/bin/env python3
"""Compares `memtree memories` with the reference implementation in Anthropic's Python SDK, word for word, over a table
of commands and many random ones; then lets the SDK's own loop drive it against a model that is played here. No network:
`memory_tool.py PROGRAM STORE SEED COMMANDS`. Ends with 1 where the two differ."""
import json
import random
import re
import subprocess
import sys
import tempfile
from importlib.metadata import version
from pathlib import Path

import httpx2 as httpx
from anthropic import Anthropic
from anthropic.lib.tools import BetaAbstractMemoryTool, ToolError
from anthropic.tools import BetaLocalFilesystemMemoryTool

PROGRAM, STORE, SEED, COMMANDS = sys.argv[1], sys.argv[2], int(sys.argv[3]), int(sys.argv[4])


class Memtree(BetaAbstractMemoryTool):
    """Each command of the tool, answered by one `memtree memories` that stays."""

    def __init__(self):
        super().__init__()
        words = [PROGRAM, "--store", STORE, "memories"]
        self.program = subprocess.Popen(words, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True, encoding="utf-8")

    def ask(self, command):
        given = command if isinstance(command, dict) else command.model_dump(exclude_none=True)
        self.program.stdin.write(json.dumps(given) + "\n")
        self.program.stdin.flush()
        answer = json.loads(self.program.stdout.readline())
        if answer["is_error"]:
            raise ToolError(answer["content"])
        return answer["content"]

    view = create = str_replace = insert = delete = rename = ask


def told(tool, command):
    try:
        return "ok", tool.call(dict(command))
    except ToolError as error:
        return "error", str(error)


# How large a folder is differs from disk to disk, and ours shows two folders more.
FOLDER = re.compile(r"^[0-9.]+[BKMG]\t(.*/|/memories|/memories/[^.\n]*)$", re.M)
OURS = re.compile(r"^[0-9.]+[BKMG]\t/memories/(core|digests)/.*\n?", re.M)


def comparable(said):
    kind, text = said
    return kind, FOLDER.sub(r"-\t\1", OURS.sub("", text)).rstrip("\n") if text.startswith("Here're") else text


def table():
    a, b, deep = "/memories/a.md", "/memories/b.txt", "/memories/deep/er/c.md"
    yield {"command": "view", "path": "/memories"}
    for path, text in [(a, "x\ny\nx\n"), (b, ""), (deep, "no end"), (a, "again"), ("/memories/uml.md", "ü\r\nß\t\n")]:
        yield {"command": "create", "path": path, "file_text": text}
    for path in ["/memories", "/memories/deep", a, b, deep, "/memories/uml.md", "/memories/none", "/elsewhere", "/memories/../x"]:
        yield {"command": "view", "path": path}
        yield {"command": "view", "path": path, "view_range": [2, 3]}
        yield {"command": "view", "path": path, "view_range": [2, -1]}
        yield {"command": "str_replace", "path": path, "old_str": "x", "new_str": "z"}
        yield {"command": "str_replace", "path": path, "old_str": "y\nx", "new_str": "new\nlines\n"}
        yield {"command": "insert", "path": path, "insert_line": 1, "insert_text": "in\n"}
        yield {"command": "insert", "path": path, "insert_line": 99, "insert_text": "in"}
        yield {"command": "insert", "path": path, "insert_line": -1, "insert_text": "in"}
        yield {"command": "view", "path": path}
    for old, new in [(a, b), ("/memories/none", "/memories/n"), (a, "/memories/moved/a.md"), ("/memories", "/memories/m"), ("/memories/deep", "/memories/d"), (a, "/etc/x")]:
        yield {"command": "rename", "old_path": old, "new_path": new}
    for path in ["/memories", "/memories/none", b, "/memories/d", "/memories/../y"]:
        yield {"command": "delete", "path": path}
    yield {"command": "view", "path": "/memories"}


def at_random(chance, count):
    names = [f"/memories/{name}" for name in ("one.md", "two.txt", "box", "box/three.md", "box/four", "box/in/five.md")]
    words = ["tide", "low\n", "high", "\n", "12:30 ", "ebb\nflow\n", "é", ""]
    text = lambda: "".join(chance.choice(words) for _ in range(chance.randrange(6)))
    for _ in range(count):
        path = chance.choice(names)
        yield chance.choice([
            {"command": "view", "path": path},
            {"command": "view", "path": path, "view_range": [chance.randrange(5), chance.choice([-1, 1, 3, 9])]},
            {"command": "create", "path": path, "file_text": text()},
            {"command": "str_replace", "path": path, "old_str": chance.choice(words[:-1]), "new_str": text()},
            {"command": "insert", "path": path, "insert_line": chance.randrange(-1, 6), "insert_text": text()},
            {"command": "delete", "path": path},
            {"command": "rename", "old_path": path, "new_path": chance.choice(names)},
            {"command": "view", "path": "/memories"},
        ])


def is_ours_alone(theirs, ours):
    """Where the reference has no sentence of its own, but hands the system's error on."""
    return theirs[0] == "crash" and ours[0] == "error"


def remove_what_is_left(reference):
    """The reference makes folders before it finds that it cannot go on; ours makes none in vain."""
    for folder in sorted(reference.memory_root.rglob("*"), reverse=True):
        ours = Path(STORE, "memories", folder.relative_to(reference.memory_root))
        if folder.is_dir() and not any(folder.iterdir()) and not ours.exists():
            folder.rmdir()


def compare(memtree, reference):
    compared = 0
    for command in [*table(), *at_random(random.Random(SEED), COMMANDS)]:
        try:
            theirs = comparable(told(reference, command))
        except OSError as error:
            theirs = ("crash", str(error))
        ours = comparable(told(memtree, command))
        if theirs != ours and not is_ours_alone(theirs, ours):
            sys.exit(f"{command}\n  theirs: {theirs!r}\n  ours:   {ours!r}")
        if theirs[0] != "ok":
            remove_what_is_left(reference)
        compared += 1
    return compared


def driven_by_the_loop(memtree):
    """The SDK asks a model that is played here; it wants a file made and looked at, and says what it saw."""
    seen = []
    steps = [
        {"command": "create", "path": "/memories/coffee.md", "file_text": "The person likes coffee\n"},
        {"command": "view", "path": "/memories/coffee.md"},
        {"command": "delete", "path": "/memories/coffee.md"},
    ]

    def model(request):
        body = json.loads(request.content)
        seen.append(body)
        step = len(seen) - 1
        if step < len(steps):
            content = [{"type": "tool_use", "id": f"toolu_{step}", "name": "memory", "input": steps[step]}]
        else:
            content = [{"type": "text", "text": "Done."}]
        message = {"id": f"msg_{step}", "type": "message", "role": "assistant", "model": "played", "content": content,
                   "stop_reason": "tool_use" if step < len(steps) else "end_turn", "stop_sequence": None,
                   "usage": {"input_tokens": 1, "output_tokens": 1}}
        return httpx.Response(200, json=message)

    client = Anthropic(api_key="none", http_client=httpx.Client(transport=httpx.MockTransport(model)))
    last = client.beta.messages.tool_runner(
        model="played", max_tokens=100, tools=[memtree], messages=[{"role": "user", "content": "Remember that I like coffee"}]
    ).until_done()
    assert last.content[0].text == "Done.", last
    assert seen[0]["tools"] == [{"type": "memory_20250818", "name": "memory"}], seen[0]["tools"]
    results = [json.dumps(body["messages"][-1]) for body in seen[1:]]
    says = ["File created successfully at: /memories/coffee.md", "The person likes coffee", "Successfully deleted"]
    assert all(said in result for said, result in zip(says, results, strict=True)), results


def main():
    memtree = Memtree()
    with tempfile.TemporaryDirectory() as folder:
        compared = compare(memtree, BetaLocalFilesystemMemoryTool(folder))
    driven_by_the_loop(memtree)
    memtree.program.stdin.close()
    memtree.program.wait()
    print(f"  ok     anthropic {version('anthropic')} of PyPI: {compared} commands answered as its own tool answers them, and its loop")


main()
