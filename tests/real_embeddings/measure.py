"""Asks questions about real sessions with embeddings and without: measure.py QUESTIONS.jsonl CORPUS [MEMTREE]. Standard library only.

QUESTIONS has one {"qid","query","gold":[{"flavor","id","file"}]} a line; CORPUS holds <flavor>/<logs…>. All of it is swept into a
fresh memory, the server that $MEMTREE_EMBEDDINGS_SERVER names makes the vectors, and each question is asked twice. Printed are how
often the right session is the first hit and among the first five, and how long a search takes. `tests/real_embeddings/run measure`
starts the server.
"""

import json
import os
import subprocess
import sys
import tempfile
import time

questions, corpus = sys.argv[1:3]
memtree = os.path.abspath(sys.argv[3] if len(sys.argv) > 3 else "target/debug/memtree")
home = os.environ.get("MEMTREE_MEASURE_HOME") or tempfile.mkdtemp(prefix="memtree-embeddings-")
store, own = os.path.join(home, "memory"), os.path.join(home, ".config", "memtree", "config.toml")
environment = dict(os.environ, HOME=home, MEMTREE_STORE=store)


def run(*arguments):
    ran = subprocess.run([memtree, "--store", store, *arguments], env=environment, capture_output=True, text=True)
    return json.loads(ran.stdout) if ran.stdout.strip() else {}


def configure(text):
    os.makedirs(os.path.dirname(own), exist_ok=True)
    with open(own, "w", encoding="utf-8") as out:
        out.write(text)


def is_right(hit, gold):
    flavor, _, native = hit["source_id"].partition(":")
    stems = [(one["flavor"], name) for one in gold for name in (one["id"], os.path.splitext(os.path.basename(one["file"]))[0])]
    return any(flavor == f and len(native) >= 8 and (name.endswith(native) or native.endswith(name)) for f, name in stems)


def ask(name):
    ranks, took, used = [], [], 0
    for question in map(json.loads, open(questions, encoding="utf-8")):
        if question["gold"]:
            began = time.monotonic()
            answer = run("search", "--json", "--limit", "10", "--", question["query"])
            took.append(time.monotonic() - began)
            used += answer.get("embeddings", {}).get("used", False)
            hits = answer.get("hits", [])
            ranks.append(next((at for at, hit in enumerate(hits, 1) if is_right(hit, question["gold"])), 0))
    share = lambda most: 100 * sum(0 < rank <= most for rank in ranks) / len(ranks)
    median = sorted(took)[len(took) // 2] * 1000
    print(f"{name:<16} n={len(ranks)} hit@1 {share(1):.1f}  hit@5 {share(5):.1f}  hit@10 {share(10):.1f}  median {median:.0f} ms  with vectors {used}", flush=True)


configure("")
flavors = sorted(one for one in os.listdir(corpus) if os.path.isdir(os.path.join(corpus, one)) and not one.startswith("_"))
sources = [word for one in flavors for word in ("--source", f"{one}={os.path.join(os.path.abspath(corpus), one)}")]
run("sweep", "--json", *sources)
ask("words")
configure(f'[embeddings]\nbase_url = "{os.environ["MEMTREE_EMBEDDINGS_SERVER"]}"\nmodel = "all-MiniLM-L6-v2"\nsearch_ms = 20000\nsweep_seconds = 3000\ntimeout_seconds = 300\n')
began = time.monotonic()
print("vectors:", run("sweep", "--json", *sources).get("embeddings"), f"{time.monotonic() - began:.0f} s", flush=True)
ask("with embeddings")
