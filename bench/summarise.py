"""Medians, spreads and ratios of the lines written by bench/run.sh or bench/transformer.sh: in each group segre first,
then its peers; with the memory they take if the lines give it."""
import json
import statistics
import sys

runs = {}
for line in open(sys.argv[1]):
    entry = json.loads(line)
    runs.setdefault((entry["case"], entry["batch"]), {}).setdefault(entry["who"], []).append(entry)


def rates(entries):
    return [entry["steps_per_second"] for entry in entries]


def digits(rate):
    return f"{rate:.1f}" if rate >= 10 else f"{rate:.3g}"


def describe(entries):
    """"12.3 steps/s (11.9 to 12.4), 1.20 GiB"."""
    steps = rates(entries)
    text = f"{digits(statistics.median(steps))} steps/s ({digits(min(steps))} to {digits(max(steps))})"
    gib = [entry["gib"] for entry in entries if "gib" in entry]
    return f"{text}, {statistics.median(gib):.2f} GiB" if gib else text


for (case, batch), group in runs.items():
    (who, ours), *peers = group.items()
    print(f"{case}, batch {batch}: {who} {describe(ours)}")
    for peer, theirs in peers:
        ratios = sorted(x / y for x, y in zip(rates(ours), rates(theirs)))
        print(f"  {peer}: {describe(theirs)}; "
              f"ratio {statistics.median(ratios):.2f} ({ratios[0]:.2f} to {ratios[-1]:.2f}, {len(ratios)} pairs)")
