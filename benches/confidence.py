#!/usr/bin/env python3
"""Fits and judges `confidence` by cross-validation over projects. Standard library only.

  confidence.py QUESTIONS.jsonl --store MEMORY --memtree BINARY

QUESTIONS has one {"qid","query","gold":[{"flavor","id","file"}]} a line, MEMORY is a swept memory. Every question is asked
as it is, and once more without the project that it is about (`-project:NAME`), where nothing can be right. Each project is
left out once: the regression and the threshold (1 in 20 of the others' questions without an answer, to be below 1 in 15 on it) are
chosen on the others and reported on it. Printed are the share of
questions without an answer that get a hit at or above the threshold (goal: at most 1 in 15), the share of questions whose
right session is found with confidence, both also at the threshold that the program has, and how calibrated it is.
"""
import argparse, collections, json, math, os, re, subprocess

ask = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
ask.add_argument("questions")
ask.add_argument("--store", required=True)
ask.add_argument("--memtree", required=True)
args = ask.parse_args()
# Up to so many parts a page is short; as in src/index/confidence.rs.
FEW_PARTS = 4
environment = dict(os.environ, MEMTREE_STORE=args.store)


def hits(query):
    command = [args.memtree, "--store", args.store, "search", "--json", "--cached", "--limit", "10", "--", query]
    answer = subprocess.run(command, env=environment, capture_output=True, text=True)
    return json.loads(answer.stdout).get("hits", []) if answer.stdout.strip() else []


def is_right(hit, gold):
    flavor, _, native = hit["source_id"].partition(":")
    return any(flavor == g["flavor"] and native in (g["id"], os.path.splitext(os.path.basename(g["file"]))[0]) for g in gold)


Row = collections.namedtuple("Row", "project answerable hits")


def of_hit(hit, right):
    """Confidence, the features, whether it is weak, whether it is right."""
    has = hit["evidence"]
    many = 1 + math.log(max(1, has["parts"] / FEW_PARTS))
    features = (has["part"], has["page"] / many, math.log(has["asked"]), 1.0)
    return hit["confidence"], features, hit["weak"], right, hit["project"]


rows = []
for question in map(json.loads, open(args.questions, encoding="utf-8")):
    gold = question["gold"]
    found = [of_hit(h, is_right(h, gold)) for h in hits(question["query"])]
    project = next((h[4] for h in found if h[3]), None)
    if gold and not project:
        continue
    rows.append(Row(project or "none " + question["qid"], bool(gold), found))
    if project:
        without = [of_hit(h, False) for h in hits(f'-project:"{project}" {question["query"]}')]
        rows.append(Row(project, False, without))


# What the program has.
source = open(os.path.join(os.path.dirname(os.path.abspath(__file__)), "../src/index/confidence.rs"), encoding="utf-8").read()
NAMES = ("BY_PART", "BY_PAGE", "BY_ASKED", "AGAINST")
built = [float(re.search(rf"const {name}: f32 = (-?[0-9.]+)", source)[1]) for name in NAMES]
built = [value if name.startswith("BY_") else -value for name, value in zip(NAMES, built)]


def is_guess_by_rule(hit):
    """A name is lacking, or the session is put aside: it stays a guess, however much it has."""
    return hit[2] and 1 / (1 + math.exp(-logit(built, hit))) > hit[0] + 0.05


def logit(weights, hit):
    return sum(weight * value for weight, value in zip(weights, hit[1]))


def fit(some):
    weights = [0.0] * len(NAMES)
    points = [(hit, hit[3]) for row in some for hit in row.hits[:1] if hit[0] > 0]
    for _ in range(3000):
        slope = [0.0] * len(weights)
        for hit, right in points:
            off = right - 1 / (1 + math.exp(-logit(weights, hit)))
            slope = [s + off * x for s, x in zip(slope, hit[1])]
        weights = [w + 4 * s / len(points) for w, s in zip(weights, slope)]
    return weights


def rates(some, sure):
    unanswerable = [row for row in some if not row.answerable]
    answerable = [row for row in some if row.answerable]
    wrong = sum(any(sure(hit) for hit in row.hits) for row in unanswerable)
    right = sum(any(sure(hit) and hit[3] for hit in row.hits[:5]) for row in answerable)
    return wrong, len(unanswerable), right, len(answerable)


sizes = collections.Counter(row.project for row in rows)
large = [project for project, count in sizes.items() if count >= 20]
folds = [[project] for project in sorted(large)] + [[project for project in sizes if project not in large]]
CHOSEN = 20
total, chosen = [0, 0, 0, 0], []
for fold in folds:
    train = [row for row in rows if row.project not in fold]
    test = [row for row in rows if row.project in fold]
    weights = fit(train)
    value = lambda hit: -99.0 if is_guess_by_rule(hit) else logit(weights, hit)
    highest = sorted((max(map(value, row.hits), default=-99.0) for row in train if not row.answerable), reverse=True)
    threshold = highest[len(highest) // CHOSEN]
    chosen.append(1 / (1 + math.exp(-threshold)))
    total = [a + b for a, b in zip(total, rates(test, lambda hit: value(hit) > threshold))]
print(f"left out: {total[0]} of {total[1]} unanswerable get a confident hit; {total[2]} of {total[3]} answerable get the right one")
wrong, unanswerable, right, answerable = rates(rows, lambda hit: not hit[2])
print(f"as built: {wrong} of {unanswerable} unanswerable get a confident hit; {right} of {answerable} answerable get the right one")
own = [row for row in rows if row.project.startswith("none ")]
print(f"of the set's own questions without an answer: {rates(own, lambda hit: not hit[2])[0]} of {len(own)}")
print("thresholds chosen:", [round(one, 2) for one in sorted(chosen)])
weights = fit(rows)
value = lambda hit: -99.0 if is_guess_by_rule(hit) else logit(weights, hit)
highest = sorted((max(map(value, row.hits), default=-99.0) for row in rows if not row.answerable), reverse=True)
for of in (15, 20, 25):
    print(f"fitted on all: {[round(weight, 2) for weight in weights]}, 1 in {of} at {1 / (1 + math.exp(-highest[len(highest) // of])):.2f}")
bins = collections.defaultdict(list)
for row in rows:
    for hit in row.hits[:1]:
        bins[int(hit[0] * 5) / 5].append(hit[3])
for low in sorted(bins):
    print(f"confidence {low:.1f} to {low + 0.2:.1f}: {sum(bins[low])} of {len(bins[low])} first hits are right")
