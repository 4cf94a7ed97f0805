#!/bin/bash
# waits.sh [PAIRS]: what wait statistics cost: two builds of the benchmark, one without them, in turn; processor time of the
# process for each commit, so that neighbours disturb little. As root if the disk's counters are wanted.
set -e
here=$(realpath "$(dirname "$0")"); pairs=${1:-15}; cd "$here/../../.."
target=${CARGO_TARGET_DIR:-target}; dir=${TMPDIR:-/tmp}/furrow-waits
mkdir -p "$dir"
if [ -z "$WITH" ]; then
    cargo build --release -p furrow-bench; cp "$target/release/furrow-bench" "$dir/with"
    cargo build --release -p furrow-bench --features no-waits; cp "$target/release/furrow-bench" "$dir/without"
    cargo build --release -p furrow-bench
    WITH=$dir/with WITHOUT=$dir/without
fi
python3 "$here/waits.py" "$WITH" "$WITHOUT" "$pairs" "$dir"
