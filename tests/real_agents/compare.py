#!/usr/bin/env python3
"""Sweeps a HOME full of real agents' logs and compares what memtree says of each session with what is known of it.

  compare.py --memtree target/debug/memtree FOLDER

FOLDER holds `home/` and `expected.tsv` (path, agent, prompts, calls, files, failed, tests, in, out, cached; a path may
end in `#id` where many sessions share a file). The home is copied, swept with nothing in the environment but PATH and
HOME, and every row is compared; then what the table `MORE` below knows of further sessions. Opt-in, because such logs
are no part of the project. Standard library only. Exits 1 on any difference.
"""
import argparse, collections, glob, hashlib, json, os, re, shutil, subprocess, sys, tempfile

# Agent and beginning of its own id -> what is right, as far as it is not in expected.tsv.
MORE = [
    ("claude", "59175279", dict(compactions=0, interventions=0, project=1, cwd=1, branch="feat/slug")),
    ("claude", "92333834", dict(prompts=3, subagents=1, commits=1)),
    ("claude", "d4a22c2c", dict(prompts=1, calls=1, inherited=27, forked_from="92333834")),
    ("claude", "c17a62c1", dict(interventions=1)),
    ("claude", "07931c31", dict(prompts=2, calls=2, failed=1)),
    ("claude", "adefa005", dict(prompts=2, calls=6, failed=1, compactions=1)),
    ("claude", "c467e809", dict(prompts=2, calls=2, failed=1)),
    ("claude", "90b5860f", dict(prompts=3, calls=8, failed=2, compactions=1)),
    ("claude", "f94e7773", dict(prompts=1, calls=0)),
    ("claude", "version 2.1.142", {"prompts": 1, "in": 1261, "out": 40}),
    ("claude", "version 2.1.190", {"prompts": 1, "in": 1288, "out": 40}),
    ("claude", "version 2.1.233", {"prompts": 1, "in": 1304, "out": 40}),
    ("claude", "538ce985", dict(prompts=1, calls=1)),
    ("claude", "43a944b5", dict(prompts=1, calls=1)),
    ("codex", "raw 05-26-45", dict(compactions=0, interventions=0, project=1, cwd=1, branch="feat/slug")),
    ("codex", "raw 05-46-35", dict(prompts=1, commits=1)),
    ("codex", "raw 05-46-40", dict(prompts=1, calls=0)),
    ("codex", "raw 05-37-50", dict(prompts=1)),
    ("codex", "raw 05-38-07", dict(prompts=1)),
    ("codex", "raw 05-42-33", dict(prompts=3, calls=8, failed=2, compactions=1)),
    ("codex", "raw 05-41-10", dict(prompts=2, calls=0, compactions=1)),
    ("codex", "raw 05-49-53", dict(prompts=1, own_commands=1)),
    ("codex", "raw 05-51-32", dict(prompts=1, calls=1, failed=1, subagents=0)),
    ("codex", "01a1e80f-f706", dict(prompts=1, subagents=1, interventions=0)),
    ("codex", "raw 05-52-33", dict(prompts=1, calls=1)),
    ("codex", "raw 05-59-48", {"prompts": 1, "in": 1111, "out": 40}),
    ("codex", "raw 05-59-56", {"prompts": 1, "in": 1118, "out": 40}),
    ("codex", "raw 06-00-02", {"prompts": 1, "in": 1102, "out": 40}),
    ("gemini", "cwd gemini1", dict(compactions=0, interventions=0, project=1, cwd=1)),
    ("gemini", "cwd sub-gemini", dict(prompts=1, subagents=1)),
    ("qwen", "cwd qwen1", dict(project=1, cwd=1, branch="feat/slug")),
    ("qwen", "cwd sub-qwen", dict(prompts=1, subagents=1, tokens=1)),
    ("opencode", "cwd sub-opencode", dict(prompts=1, subagents=1)),
    ("kilo", "cwd sub-kilo", dict(prompts=1, subagents=1)),
    ("copilot", "62c4d3c1", {"prompts": 3, "calls": 9, "in": 14625, "out": 520, "cached": 3900}),
    ("grok", "cwd grok1", dict(interventions=0, compactions=0, project=1, cwd=1)),
    ("grok", "cwd sub-grok", dict(prompts=1, subagents=1)),
    ("goose", "20261117_3", dict(compactions=0, project=1, cwd=1)),
    ("goose", "20261117_1", dict(prompts=1, subagents=1)),
    ("kimi", "cwd sub-kimi", dict(prompts=1, subagents=1)),
    ("openclaw", "std-openclaw", dict(compactions=0, cwd=1)),
    ("aider", "first", dict(prompts=1, files=1, commits=1, calls=0)),
    ("aider", "second", dict(prompts=1, files=1, commits=1, calls=0)),
]
# How many sessions of a person there are; subagents are parts of theirs.
SESSIONS = dict(claude=14, codex=15, gemini=3, qwen=2, opencode=2, kilo=2, copilot=3, pi=1, grok=2, goose=2, kimi=2,
                vibe=1, droid=1, cline=1, openclaw=1, aider=2)
SESSIONS["continue"] = 1


def front(text, key):
    found = re.search(rf"^{key}: (.*)$", text, re.M)
    value = found.group(1).strip().strip('"') if found else ""
    return "" if value == "null" else value


def sessions(store):
    """What memtree says of each session, by its pages alone."""
    for folder in sorted(glob.glob(store + "/sessions/*/")):
        pages = glob.glob(folder + "*_DIGEST.md")
        if not pages:
            continue
        digest = open(pages[0], encoding="utf-8").read()
        vitals = open(folder + "snapshot/state/vitals.yaml", encoding="utf-8").read()
        number = lambda key: int((re.findall(rf"^{key}: (\d+)", vitals, re.M) or ["0"])[0])
        models = lambda key: sum(int(n) for n in re.findall(rf"^  {key}: (\d+)", vitals, re.M))
        listed = lambda key: [one for one in re.split(r",\s*", front(digest, key).strip("[]")) if one]
        subagents = re.search(r"^subagents:\n((?:- .*\n)*)", vitals, re.M)
        runs = re.findall(r"^- EP_\d+ (passed|failed)", vitals, re.M)
        manifest = open(folder + "snapshot/MANIFEST.sha256", encoding="utf-8").read()
        raw = re.findall(r"^([0-9a-f]{64})  raw/(.*)$", manifest, re.M)
        yield dict(
            session=os.path.basename(folder[:-1]), flavor=front(digest, "flavor"),
            id=front(digest, "source_id").split(":", 1)[1], hashes={sha for sha, _ in raw}, raw=[name for _, name in raw],
            prompts=number("prompts"), calls=number("tool_calls"), failed=number("failed_calls"),
            files=len(listed("files")), tests=",".join(runs), commits=len(listed("commits")),
            out=models("output"), cached=models("cache_read") + models("cache_write"),
            compactions=number("compactions"), interventions=number("interventions"), inherited=number("inherited"),
            subagents=len(subagents.group(1).splitlines()) if subagents else 0,
            own_commands=number("own_commands"), tokens=models("input"), started=front(digest, "started"),
            forked_from=front(vitals, "forked_from"), version=front(vitals, "agent_version"),
            project=front(digest, "project"), cwd=front(digest, "cwd"), branch=front(digest, "branch"),
            **{"in": models("input")})


def below(path):
    files = [path] if os.path.isfile(path) else [os.path.join(d, f) for d, _, fs in os.walk(path) for f in fs]
    texts = (open(file, "rb").read() for file in files)
    return {hashlib.sha256(text).hexdigest() for text in texts if text}


def by_row(found, home, path, agent):
    place, _, id = path.partition("#")
    if id:
        return [s for s in found if s["flavor"] == agent and s["id"] == id]
    hashes = below(os.path.join(home, place))
    own = [s for s in found if s["flavor"] == agent]
    named = [s for s in own if s["id"] in place]
    # Some files, such as a system prompt, are the same in many sessions.
    most = max((len(s["hashes"] & hashes) for s in own), default=0)
    return named or [s for s in own if most and len(s["hashes"] & hashes) == most]


def by_mark(found, agent, mark):
    own = [s for s in found if s["flavor"] == agent]
    kind, _, value = mark.partition(" ")
    if mark in ("first", "second"):
        own.sort(key=lambda s: s["started"])
        return own[("first", "second").index(mark):][:1]
    if kind == "version":
        return [s for s in own if s["version"] == value]
    if kind == "raw":
        return [s for s in own if any(value in name for name in s["raw"])]
    if kind == "cwd":
        return [s for s in own if s["cwd"].endswith("/" + value)]
    return [s for s in own if s["id"].startswith(mark)]


def compare(name, matches, expected):
    if len(matches) != 1:
        print(f"DIFFERS {name}: {len(matches)} sessions {[s['session'] for s in matches]}")
        return False
    got, wrong = matches[0], {}
    for key, value in expected.items():
        there = got[key]
        if key in ("project", "cwd", "version", "tokens"):
            right = bool(there) == bool(value)
        elif isinstance(value, str):
            right = there.startswith(value) if value else not there
        else:
            right = there == value
        if not right:
            wrong[key] = f"{there!r}, not {value!r}"
    shown = wrong or " ".join(f"{key}={got[key]}" for key in expected)
    print(f"{'DIFFERS' if wrong else 'agrees '} {name} ({got['session']}): {shown}")
    return not wrong


def main():
    ask = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    ask.add_argument("folder")
    ask.add_argument("--memtree", required=True)
    ask.add_argument("--agents", default="", help="only these, separated by commas")
    ask.add_argument("--keep", help="keep the memory here")
    args = ask.parse_args()
    only = set(filter(None, args.agents.split(",")))
    work = tempfile.mkdtemp()
    home, store = os.path.join(work, "home"), args.keep or os.path.join(work, "memory")
    shutil.copytree(os.path.join(args.folder, "home"), home, symlinks=True)
    subprocess.run(["chmod", "-R", "u+rwX", home], check=True)
    command = [os.path.abspath(args.memtree), "--store", store, "sweep", "--json"]
    clean = {"PATH": os.environ["PATH"], "HOME": home}
    swept = subprocess.run(command, env=clean, capture_output=True, text=True)
    # Aider keeps its history in the repository, which nothing in the home names.
    named = ["--source", "aider=" + home + "/repos/aider1"]
    subprocess.run(command + named, env=clean, capture_output=True)
    report = json.loads(swept.stdout) if swept.stdout.startswith("{") else {}
    print(f"sweep: exit {swept.returncode}, captured {report.get('captured')}, skipped {report.get('skipped')}")
    found, right, rows = list(sessions(store)), 0, 0
    counted = collections.Counter(s["flavor"] for s in found)
    for agent, count in sorted(SESSIONS.items()):
        if not only or agent in only:
            rows += 1
            right += counted[agent] == count
            print(f"{'agrees ' if counted[agent] == count else 'DIFFERS'} {agent}: {counted[agent]} of {count} sessions")
    for line in open(os.path.join(args.folder, "expected.tsv"), encoding="utf-8").read().splitlines()[1:]:
        path, agent, *values = line.split("\t")
        if only and agent not in only:
            continue
        names = ["prompts", "calls", "files", "failed", "tests", "in", "out", "cached"]
        expected = {n: v if n == "tests" else int(v) for n, v in zip(names, values)}
        # Each of them makes a quiet commit and then shows it.
        expected["commits"] = 1
        rows += 1
        right += compare(f"{agent} {path}", by_row(found, home, path, agent), expected)
    for agent, mark, expected in MORE:
        if only and agent not in only:
            continue
        rows += 1
        right += compare(f"{agent} {mark}", by_mark(found, agent, mark), expected)
    shutil.rmtree(work)
    print(f"{right} of {rows} rows agree")
    sys.exit(0 if right == rows else 1)


if __name__ == "__main__":
    main()
