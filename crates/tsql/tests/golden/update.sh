#!/bin/sh
# Writes the outcomes of all golden scripts anew; look at the difference before committing it.
cd "$(dirname "$0")" || exit 1
cargo build -q -p furrow-tsql --example golden || exit 1
golden="${CARGO_TARGET_DIR:-../../../../target}/debug/examples/golden"
for script in *.sql; do
    "$golden" < "$script" > "${script%.sql}.out"
done
