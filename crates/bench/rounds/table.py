#!/usr/bin/env python3
"""table.py OUT.jsonl [--quiet PERCENT]: the table of ratios, in Markdown.

A ratio is taken within a round, from lines that ran a minute apart; the table has its median and its range over the rounds.
`best peer` is the one with the highest median among all that ran. With --quiet, lines are left out during which others used
more of a core than so much."""
import json, statistics, sys

words = sys.argv[1:]
limit = float(words[words.index('--quiet') + 1]) if '--quiet' in words else None
lines = [json.loads(line) for line in open(words[0]) if line.startswith('{')]
if limit is not None:
    lines = [d for d in lines if d.get('cpu_other_pct', 0) <= limit]


def w1(threads, batch, keys, payload):
    return lambda d: d['w'] == 'w1' and (d.get('threads', 16), d.get('batch', 1), d.get('keys', 'seq'),
                                         d.get('payload', 100)) == (threads, batch, keys, payload)


def group(rec):
    return lambda d: d['w'] == 'limit' and d.get('what') == 'group' and d.get('rec') == rec


def scan(cold):
    return lambda d: d['w'] == 'w4' and d.get('cold') == cold and d.get('par', 1) == 1 and d['engine'] != 'fio'


def reads(threads):
    return lambda d: d['w'] == 'w3' and d.get('threads', 1) == threads and 'variant' not in d


def named(cell, engine):
    return lambda d: cell(d) and d.get('engine') == engine


FSYNC = lambda d: d['w'] == 'limit' and d.get('what') == 'fsync' and d.get('mode') == 'over'
FIO = lambda d: d['w'] == 'w4' and d.get('engine') == 'fio'
LOAD = lambda d: d['w'] == 'w2'
BEST = 'best peer'
A, B = w1(16, 1, 'seq', 100), w1(1, 1, 'seq', 100)
C, D, E = w1(16, 100, 'seq', 100), w1(16, 100, 'rand', 100), w1(16, 100, 'rand', 1000)
# Cell, its lines, the figure, what it is compared with, that one's lines and figure, the goal.
ROWS = [
    ('W1 16 x 1 x 100 B, commits/s', A, 'commits_s', BEST, None, None, 1.3),
    ('', A, 'commits_s', 'group commit loop, one write in flight', group(168), 'commits_s', 1.0),
    ('W1 1 thread, commits/s', B, 'commits_s', 'overwrite + fdatasync loop', FSYNC, 'per_s', 0.9),
    ('', B, 'commits_s', BEST, None, None, None),
    ('W1 16 x 100 x 100 B in key order, rows/s', C, 'rows_s', 'pg', named(C, 'pg'), 'rows_s', 1.5),
    ('', C, 'rows_s', BEST, None, None, 1.5),
    ('W1 16 x 100 x 100 B random, rows/s', D, 'rows_s', BEST, None, None, 1.5),
    ('W1 16 x 100 x 1000 B random, rows/s', E, 'rows_s', BEST, None, None, 1.3),
    ('W2 2 GB load, MB/s', LOAD, 'mb_s', BEST, None, None, 1.0),
    ('W3 point reads, 1 thread, reads/s', reads(1), 'reads_s', 'redb', named(reads(1), 'redb'), 'reads_s', 1.0),
    ('', reads(1), 'reads_s', 'lmdb', named(reads(1), 'lmdb'), 'reads_s', None),
    ('W3 point reads, 16 threads, reads/s', reads(16), 'reads_s', 'redb', named(reads(16), 'redb'), 'reads_s', 1.0),
    ('', reads(16), 'reads_s', 'lmdb', named(reads(16), 'lmdb'), 'reads_s', None),
    ('W4 scan, warm, MB/s', scan(0), 'mb_s', 'redb', named(scan(0), 'redb'), 'mb_s', 1.0),
    ('', scan(0), 'mb_s', 'lmdb', named(scan(0), 'lmdb'), 'mb_s', None),
    ('W4 scan, cold, MB/s from the disk', scan(1), 'disk_mb_s', 'fio, 512 KB, depth 4', FIO, 'disk_mb_s', 0.85),
]


def rounds(select, figure):
    found = {}
    for d in lines:
        if select(d) and isinstance(d.get(figure), (int, float)):
            found[d.get('round', 1)] = d[figure]
    return found


def shown(value):
    return f'{value:,.0f}' if value >= 20 else f'{value:.2f}'


def spread(values):
    values = sorted(values)
    text = shown(statistics.median(values))
    return text if len(values) < 2 else f'{text} [{shown(values[0])}-{shown(values[-1])}]'


def best(cell, figure):
    engines = {d['engine'] for d in lines if cell(d)} - {'furrow', 'fio'}
    medians = {e: statistics.median(rounds(named(cell, e), figure).values()) for e in engines if rounds(named(cell, e), figure)}
    return max(medians, key=medians.get) if medians else None


print('| cell | Furrow | compared with | its figure | ratio | goal | reached |')
print('|---|---|---|---|---|---|---|')
for title, cell, figure, name, other, its, goal in ROWS:
    own = rounds(named(cell, 'furrow'), figure)
    if name == BEST:
        engine = best(cell, figure)
        name, other, its = f'{BEST}: {engine}', named(cell, engine), figure
    theirs = rounds(other, its)
    pairs = [own[r] / theirs[r] for r in sorted(own) if theirs.get(r)]
    if not pairs:
        print(f'| {title} | {spread(own.values()) if own else "-"} | {name} | - | - | {goal or ""} | - |')
        continue
    ratio = statistics.median(pairs)
    reached = '' if goal is None else 'yes' if ratio >= goal else 'no'
    print(f'| {title} | {spread(own.values())} | {name} | {spread(theirs.values())} '
          f'| {spread(pairs)} n={len(pairs)} | {goal or ""} | {reached} |')
others = [d['cpu_other_pct'] for d in lines if 'cpu_other_pct' in d]
if others:
    print(f'\nOthers used {statistics.median(others):.0f}% of a core (median; at most {max(others):.0f}%) during a line.')
own = [d for d in lines if d.get('engine') == 'furrow']
for field, text in [('peak_rss_mb', 'Peak memory'), ('open_ms', 'Opening, ms')]:
    values = [(d['w'], d[field]) for d in own if field in d]
    if values:
        kinds = sorted({w for w, _ in values})
        print(f'{text}: ' + ', '.join(f'{w} {max(v for k, v in values if k == w):,.0f}' for w in kinds) + '.')
