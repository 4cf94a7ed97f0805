#!/usr/bin/env python3
"""PHYSICAL_ONLY from the disk beside fio, in turn: check_disk.py FURROW CHECK_SPEED... DIR ROUNDS

FURROW is the program, each CHECK_SPEED a build of the example of that name, DIR a directory for the database: 12,000,000
rows, 2.7 GB in eight files. Needs fio, and root to drop the system's cache. Prints a line of JSON for each round, in
millions of bytes a second: fio reads the used part of the same files past the cache, in blocks of 512 KB, with one, two
and four threads; the check has one worker, and two. The order within a round is random: what was read last is in caches of
the host."""
import json, os, random, re, subprocess, sys

furrow, *builds, place, rounds = sys.argv[1:]
files = [f'{place}/s1.mdf'] + [f'{place}/s{number}.ndf' for number in range(2, 9)]
USED, ROWS, STEPS = '316m', 3_000_000, 4


def sql(text):
    instance = ['--instance', f'{place}/instance', '--pool', '1GB', '-b', '-Q', text]
    subprocess.run([furrow, 'sql', *instance], check=True, stdout=subprocess.DEVNULL)


def make():
    os.makedirs(place, exist_ok=True)
    of_file = [f"(NAME = s{at}, FILENAME = '{path}', SIZE = 400MB)" for at, path in enumerate(files)]
    sql(f"CREATE DATABASE speed ON {', '.join(of_file)} LOG ON (NAME = l, FILENAME = '{place}/s.ldf', SIZE = 300MB); "
        'ALTER DATABASE speed SET RECOVERY SIMPLE; CREATE TABLE speed.dbo.t '
        '(id bigint NOT NULL PRIMARY KEY, c int NOT NULL, d int NOT NULL, filler varchar(400) NOT NULL);')
    for step in range(STEPS):
        sql("INSERT INTO speed.dbo.t (id, c, d, filler) SELECT value, value * 7919 % 1000003, value * 104729 % 999983, "
            "REPLICATE('x', 180) + CAST(value AS varchar(20)) FROM GENERATE_SERIES("
            f'CAST({step * ROWS + 1} AS bigint), CAST({(step + 1) * ROWS} AS bigint));')


def drop():
    with open('/proc/sys/vm/drop_caches', 'w') as caches:
        caches.write('3')


def fio(threads):
    drop()
    words = ['fio', '--thread', '--readonly', '--direct=1', '--rw=read', '--bs=512k', '--ioengine=psync',
             '--file_service_type=sequential', '--output-format=json']
    for at in range(threads):
        words += [f'--name=t{at}', f"--filename={':'.join(files[at::threads])}", f'--filesize={USED}']
    out = subprocess.run(words, capture_output=True, text=True, check=True).stdout
    reads = [job['read'] for job in json.loads(out[out.index('{'):])['jobs']]
    return round(sum(read['io_bytes'] for read in reads) / 1e3 / max(read['runtime'] for read in reads))


def check(build, workers):
    drop()
    words = [build, 'physical', 'disk', f'workers={workers}', '1', *files]
    out = subprocess.run(words, capture_output=True, text=True, check=True).stdout
    return int(re.search(r'(\d+) MB/s', out).group(1))


if not os.path.exists(files[0]):
    make()
measures = {f'fio {threads}': lambda threads=threads: fio(threads) for threads in (1, 2, 4)}
for at, build in enumerate(builds):
    for workers in (1, 2):
        measures[f'check {at}, {workers} workers'] = lambda build=build, workers=workers: check(build, workers)
for _ in range(int(rounds)):
    names = random.sample(list(measures), len(measures))
    print(json.dumps({name: measures[name]() for name in names}), flush=True)
