"""Medians, spreads and ratios of the lines written by bench/run.sh: in each group segre first, then its peers."""
import json
import statistics
import sys

rates = {}
for line in open(sys.argv[1]):
    entry = json.loads(line)
    rates.setdefault((entry["case"], entry["batch"]), {}).setdefault(entry["who"], []).append(entry["steps_per_second"])
for (case, batch), group in rates.items():
    (who, ours), *peers = group.items()
    print(f"{case}, batch {batch}: {who} {statistics.median(ours):.1f} steps/s ({min(ours):.1f} to {max(ours):.1f})")
    for peer, theirs in peers:
        ratios = sorted(x / y for x, y in zip(ours, theirs))
        print(f"  {peer}: {statistics.median(theirs):.1f} steps/s ({min(theirs):.1f} to {max(theirs):.1f}); "
              f"ratio {statistics.median(ratios):.2f} ({ratios[0]:.2f} to {ratios[-1]:.2f}, {len(ratios)} pairs)")
