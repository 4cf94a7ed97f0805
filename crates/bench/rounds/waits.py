#!/usr/bin/env python3
"""waits.py WITH WITHOUT PAIRS DIR: processor time a commit of two builds, run in turn, the first one of a pair drawn by lot."""
import json, random, statistics, subprocess, sys

binaries, pairs, where = {'with': sys.argv[1], 'without': sys.argv[2]}, int(sys.argv[3]), sys.argv[4]
LOADS = {
    '16 sessions, 1 row a commit': ['w1', '--threads', '16', '--secs', '2', '--batch', '1'],
    '16 sessions, 100 rows a commit': ['w1', '--threads', '16', '--secs', '2', '--batch', '100'],
}
random.seed(7)
for title, words in LOADS.items():
    ratios, cost = [], {'with': [], 'without': []}
    for _ in range(pairs):
        order = random.sample(sorted(binaries), 2)
        for name in order:
            line = subprocess.run([binaries[name], *words, '--dir', where + '/db'], capture_output=True, text=True, check=True).stdout
            d = json.loads(line)
            cost[name].append(d['cpu_self_pct'] / 100 * 1e6 / d['commits_s'])
        ratios.append(cost['with'][-1] / cost['without'][-1])
    ratios.sort()
    draws = sorted(statistics.median(random.choices(ratios, k=len(ratios))) for _ in range(2000))
    median = {name: statistics.median(values) for name, values in cost.items()}
    print(f"{title}: {median['with']:.2f} us a commit with wait statistics, {median['without']:.2f} without; "
          f"ratio {statistics.median(ratios):.4f} (95% of resampled medians {draws[50]:.4f} to {draws[-51]:.4f}, {pairs} pairs)")
