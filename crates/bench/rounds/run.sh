#!/bin/bash
# run.sh PEERS_DIR OUT.jsonl [ROUNDS [PLAN]]: the comparison in interleaved rounds, then its table.
# PEERS_DIR: the peers' harness, with scripts/rounds.py and scripts/pg.sh; PEERS_BIN: its program, where it is
# not where rounds.py looks for it. As root: caches are dropped. Waits for a quiet machine before each line.
set -e
peers=$(realpath "$1"); out=$(realpath "$2"); rounds=${3:-3}
here=$(realpath "$(dirname "$0")"); plan=${4:-$here/plan.txt}
target=${CARGO_TARGET_DIR:-$here/../../../target}
export PEERS_HOME=$peers ROUNDS=$here FURROW_BENCH=${FURROW_BENCH:-$target/release/furrow-bench}
[ -x "$FURROW_BENCH" ] || cargo build --release -p furrow-bench
mkdir -p /tmp/peers-data
if [ -d /tmp/peers-data/pg ]; then
    [ -f /tmp/peers-data/pg/postmaster.pid ] || "$peers/scripts/pg.sh" start
else
    "$peers/scripts/pg.sh" init
fi
psql="psql -h /tmp/peers-data/pgsock -p 5499 -U postgres -Atqc"
[ "$($psql "select 1 from pg_database where datname = 'w1'" postgres)" = 1 ] || $psql 'create database w1' postgres
python3 "$peers/scripts/rounds.py" "$plan" "$out" --rounds "$rounds" --wait "${QUIET_WAIT_S:-30}" --retry "${RETRY:-1}"
python3 "$here/table.py" "$out"
