#!/usr/bin/env python3
"""Does `memtree search --deep` lead to the right episode? Standard library only.

  episodes.py QUESTIONS.jsonl --memtree BINARY --store MEMORY

MEMORY has the sessions that the questions are about, already swept. Each line of QUESTIONS.jsonl is an object with
`query` and `gold`, a list of {"flavor", "id", "file", "prompt"}; `prompt` is the number of the episode. Asked is each
question that names one; it counts when one of the first three hits is that episode of that session.
"""
import argparse, json, os, subprocess


def main():
    ask = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    ask.add_argument("questions")
    ask.add_argument("--memtree", required=True)
    ask.add_argument("--store", required=True)
    args = ask.parse_args()
    asked = first = three = 0
    took = []
    for line in open(args.questions, encoding="utf-8"):
        question = json.loads(line)
        gold = [(g, i) for g in question["gold"] if g.get("prompt") for i in (g["id"], g.get("alt_id") or "", os.path.splitext(os.path.basename(g["file"]))[0]) if len(i) >= 8]
        if not gold:
            continue
        command = [args.memtree, "--store", args.store, "search", "--deep", "--json", "--limit", "3", "--", question["query"]]
        answer = json.loads(subprocess.run(command, capture_output=True, text=True).stdout)
        took.append(answer["took_ms"])

        def right(hit):
            flavor, _, native = hit["source_id"].partition(":")
            same = lambda i: native == i or i.endswith(native) or native.endswith(i)
            return any(flavor == g["flavor"] and same(i) and hit["episode"] == f"EP_{g['prompt']:03}" for g, i in gold)
        ranks = [right(hit) for hit in answer["hits"]]
        asked += 1
        first += bool(ranks and ranks[0])
        three += any(ranks)
    took.sort()
    print(f"{asked} questions: the right episode first in {100 * first / asked:.1f} %, within three in {100 * three / asked:.1f} %; "
          f"median {took[len(took) // 2]} ms, longest {took[-1]} ms")


if __name__ == "__main__":
    main()
