#!/bin/sh
# The speed of the consistency check beside other engines, on the same rows: check.sh FURROW EXAMPLES DIR ROWS ROUNDS
#
# FURROW is the program, EXAMPLES the directory of the example check_speed (target/release/examples), DIR a directory
# for the databases (350 bytes for each row). Needs fio, sqlite3, and PostgreSQL 15 in PGBIN. Prints a line for each measurement,
# round by round.
set -eu
furrow=$1 speed=$2/check_speed dir=$3 rows=$4 rounds=$5
pgbin=${PGBIN:-/usr/lib/postgresql/15/bin}
mkdir -p "$dir"

if [ ! -f "$dir/speed.mdf" ]; then
    "$furrow" sql --instance "$dir/instance" --pool 512MB -b -Q "
        CREATE DATABASE speed ON (NAME = speed1, FILENAME = '$dir/speed.mdf', SIZE = 100MB)
            LOG ON (NAME = speedl, FILENAME = '$dir/speed.ldf', SIZE = 100MB);
        CREATE TABLE speed.dbo.t (id bigint NOT NULL PRIMARY KEY, c int NOT NULL, d int NOT NULL, filler varchar(100) NOT NULL);
        INSERT INTO speed.dbo.t (id, c, d, filler)
            SELECT value, value * 7919 % 1000003, value * 104729 % 999983, REPLICATE('x', 60) + CAST(value AS varchar(20))
            FROM GENERATE_SERIES(CAST(1 AS bigint), CAST($rows AS bigint));
        CREATE INDEX by_c ON speed.dbo.t (c);
        CREATE INDEX by_d ON speed.dbo.t (d);" > "$dir/furrow.txt"
fi
if [ ! -f "$dir/speed.sqlite" ]; then
    sqlite3 "$dir/speed.sqlite" "
        CREATE TABLE t (id INTEGER PRIMARY KEY, c INTEGER NOT NULL, d INTEGER NOT NULL, filler TEXT NOT NULL);
        WITH RECURSIVE n(v) AS (VALUES (1) UNION ALL SELECT v + 1 FROM n WHERE v < $rows)
            INSERT INTO t SELECT v, v * 7919 % 1000003, v * 104729 % 999983,
                'xxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxx' || v FROM n;
        CREATE INDEX by_c ON t (c); CREATE INDEX by_d ON t (d);"
fi
as=
if [ "$(id -u)" = 0 ]; then
    as="setpriv --reuid=postgres --regid=postgres --clear-groups"
    chmod 755 "$dir"
fi
socket="$dir/pg"
if [ ! -d "$dir/pg/data" ]; then
    mkdir -p "$socket"
    [ -z "$as" ] || chown postgres "$socket"
    $as "$pgbin/initdb" -D "$dir/pg/data" -U postgres -k > "$dir/initdb.txt"
fi
$as "$pgbin/pg_ctl" -D "$dir/pg/data" -w -l "$socket/log" -o "-p 5498 -k $socket -c listen_addresses='' -c shared_buffers=1GB" start > /dev/null
trap '$as "$pgbin/pg_ctl" -D "$dir/pg/data" -m fast stop > /dev/null' EXIT
sql="$pgbin/psql -q -h $socket -p 5498 -U postgres"
if ! $sql -c "SELECT 1 FROM t LIMIT 1" > /dev/null 2>&1; then
    $sql -c "CREATE EXTENSION IF NOT EXISTS amcheck" \
        -c "CREATE TABLE t (id bigint PRIMARY KEY, c int NOT NULL, d int NOT NULL, filler varchar(100) NOT NULL)" \
        -c "INSERT INTO t SELECT v, v * 7919 % 1000003, v * 104729 % 999983, repeat('x', 60) || v FROM generate_series(1::bigint, $rows) v" \
        -c "CREATE INDEX by_c ON t (c)" -c "CREATE INDEX by_d ON t (d)" -c "VACUUM ANALYZE t" -c "CHECKPOINT"
fi

timed() {
    name=$1
    shift
    begun=$(date +%s.%N)
    "$@" > "$dir/out.txt" 2>&1 || { cat "$dir/out.txt"; exit 1; }
    ended=$(date +%s.%N)
    echo "$name: $(echo "$ended $begun" | awk '{ printf "%.2f s", $1 - $2 }') $(tail -n 1 "$dir/out.txt" | cut -c 1-120)"
}

for round in $(seq "$rounds"); do
    echo "round $round"
    for depth in 1 2; do
        fio --name=read --filename="$dir/speed.mdf" --readonly --direct=1 --rw=read --bs=512k --ioengine=psync --numjobs="$depth" \
            --offset_increment=$((100 / depth))% --size=$((100 / depth))% --group_reporting --minimal > "$dir/fio.txt"
        echo "fio, depth $depth: $(cut -d ';' -f 7 "$dir/fio.txt") KB/s"
        timed "physical, disk, $depth workers" "$speed" physical disk workers="$depth" 1 "$dir/speed.mdf"
    done
    timed "physical, memory, 1 worker" "$speed" physical 3 "$dir/speed.mdf"
    timed "full, memory, 1 worker" "$speed" 3 "$dir/speed.mdf"
    timed "SQLite integrity_check" sqlite3 "$dir/speed.sqlite" "PRAGMA integrity_check"
    timed "pg_amcheck --heapallindexed" "$pgbin/pg_amcheck" -h "$socket" -p 5498 -U postgres --heapallindexed -t t postgres
done
