#!/bin/bash
# The speed of backup and restore beside the limits of the machine, in rounds: one line of JSON per measurement.
#
#   backup.sh make DIR [MB]     creates a database of about MB megabytes in two files (1024)
#   backup.sh run DIR [ROUNDS]  measures it (3 rounds); needs fio, lz4, zstd and GNU time
#
# FURROW names the program: target/release/furrow. Every rate is in millions of bytes a second, of the pages copied.
# Where PEERS names the program of the harness of other engines, the backup of its RocksDB database (w2) is measured, too.
set -eu
FURROW=${FURROW:-target/release/furrow}
COMMAND=$1; DIR=$(realpath -m "$2"); export TMPDIR=$DIR
I=$DIR/inst
RESTORE="RESTORE DATABASE back FROM DISK = '$DIR/1.bak', DISK = '$DIR/2.bak' WITH REPLACE,
    MOVE 's1' TO '$DIR/b1.mdf', MOVE 's2' TO '$DIR/b2.ndf', MOVE 'slog' TO '$DIR/b.ldf'"
sql() { "$FURROW" sql --instance "$I" -b -Q "$1"; }

make() {
    local mb=${1:-1024}
    rm -rf "$DIR"; mkdir -p "$DIR"
    sql "CREATE DATABASE speed ON (NAME = s1, FILENAME = '$DIR/s1.mdf', SIZE = $((mb * 6 / 10))MB),
            (NAME = s2, FILENAME = '$DIR/s2.ndf', SIZE = $((mb * 6 / 10))MB)
         LOG ON (NAME = slog, FILENAME = '$DIR/s.ldf', SIZE = 256MB);
         CREATE TABLE speed.dbo.t (id int IDENTITY PRIMARY KEY, a int, b varchar(120), c varchar(120));"
    # Text with the entropy of words and numbers: zstd at level 1 makes about a third of it.
    local n=0 rows=$((mb * 6600 / 20))
    while [ $n -lt 20 ]; do
        sql "INSERT speed.dbo.t (a, b, c) SELECT TOP ($rows) ABS(CHECKSUM(NEWID())) % 100000,
                 CONCAT(o.name, ' ', CONVERT(varchar(36), NEWID()), ' ', p.name),
                 CONCAT('customer ', ABS(CHECKSUM(NEWID())) % 5000, ' of region ', p.name, ' in status open')
             FROM sys.all_objects o, sys.all_objects p, sys.all_objects q;" > /dev/null
        n=$((n + 1))
    done
    sql "CHECKPOINT; USE speed; CHECKPOINT;" > /dev/null
    ls -l "$DIR"
}

# The rate of the last message 3014 (from its pages and seconds: its own MB are 1,048,576 bytes), and the largest memory
# of the process.
timed() {
    local name=$1; shift
    local out rss
    out=$(/usr/bin/time -f 'rss_kb %M' "$FURROW" sql --instance "$I" -b -Q "$1" 2>&1)
    rss=$(sed -n 's/^rss_kb //p' <<< "$out")
    python3 -c '
import json, re, sys
found = re.findall(r"successfully processed (\d+) pages in ([\d.]+) seconds \(([\d.]+) MB/sec\)", sys.argv[3])
pages, seconds = int(found[-1][0]), float(found[-1][1])
print(json.dumps({"what": sys.argv[1], "mb_per_s": round(pages * 8192 / 1e6 / seconds, 1), "pages": pages, "s": seconds,
                  "rss_mb": int(sys.argv[2]) // 1024}))' "$name" "$rss" "$out"
}

fio_read() {
    fio --name=read --filename="$DIR/s1.mdf:$DIR/s2.ndf" --readonly --rw=read --bs=1M --direct=1 --ioengine=libaio \
        --iodepth=8 --output-format=json 2>/dev/null | python3 -c '
import json, sys
j = json.load(sys.stdin)["jobs"][0]["read"]
print(json.dumps({"what": "fio read 1 MB, depth 8", "mb_per_s": round(j["bw_bytes"] / 1e6, 1)}))'
}

fio_write() {
    fio --name=write --filename="$DIR/fio.tmp" --rw=write --bs=1M --size=1g --direct=1 --ioengine=libaio --iodepth=8 \
        --end_fsync=1 --output-format=json 2>/dev/null | python3 -c '
import json, sys
j = json.load(sys.stdin)["jobs"][0]["write"]
print(json.dumps({"what": "fio write 1 MB, depth 8", "mb_per_s": round(j["bw_bytes"] / 1e6, 1)}))'
    rm -f "$DIR/fio.tmp"
}

# Reads the files and writes as much, at once: what a backup to the same device could reach.
fio_both() {
    fio --output-format=json --ioengine=libaio --direct=1 --bs=1M --iodepth=8 --runtime=3 --time_based \
        --name=r --rw=read --filename="$DIR/s1.mdf:$DIR/s2.ndf" \
        --name=w --rw=write --size=1g --filename="$DIR/fio.tmp" 2>/dev/null | python3 -c '
import json, sys
jobs = json.load(sys.stdin)["jobs"]
rates = [round(j[k]["bw_bytes"] / 1e6, 1) for j in jobs for k in ("read", "write") if j[k]["bw_bytes"]]
print(json.dumps({"what": "fio read and write at once, the slower of both", "mb_per_s": min(rates)}))'
    rm -f "$DIR/fio.tmp"
}

cli() {
    cat "$DIR/s1.mdf" "$DIR/s2.ndf" > /dev/null
    python3 -c '
import json, os, subprocess, sys, time
files = sys.argv[3:]
size = sum(os.path.getsize(f) for f in files)
begun = time.time()
cat = subprocess.Popen(["cat"] + files, stdout=subprocess.PIPE)
subprocess.run(sys.argv[2].split(), stdin=cat.stdout, stdout=subprocess.DEVNULL, check=True)
print(json.dumps({"what": sys.argv[1], "mb_per_s": round(size / 1e6 / (time.time() - begun), 1)}))' \
        "$1" "$2" "$DIR/s1.mdf" "$DIR/s2.ndf"
}

run() {
    local rounds=${1:-3} b
    for _ in $(seq "$rounds"); do
        fio_read
        timed "backup to NUL" "BACKUP DATABASE speed TO DISK = 'NUL' WITH COPY_ONLY"
        fio_both
        b="BACKUP DATABASE speed TO DISK = '$DIR/1.bak' WITH COPY_ONLY, FORMAT"
        timed "backup to 1 file" "$b"
        timed "backup to 2 files" "BACKUP DATABASE speed TO DISK = '$DIR/1.bak', DISK = '$DIR/2.bak' WITH COPY_ONLY, FORMAT"
        fio_write
        timed "restore from 2 files" "$RESTORE"
        rm -f "$DIR"/*.bak
        if [ -n "${PEERS:-}" ]; then "$PEERS" w5 --engine rocksdb --method engine --threads 2; fi
        for codec in "LZ4|LZ4|lz4 -1 -c" "ZSTD 1|ZSTD, LEVEL = 1|zstd -1 -T2 -c" "ZSTD 3|ZSTD, LEVEL = 3|zstd -3 -T2 -c"; do
            IFS='|' read -r name words command <<< "$codec"
            cli "$command" "$command"
            timed "backup to NUL, $name" \
                "BACKUP DATABASE speed TO DISK = 'NUL' WITH COPY_ONLY, COMPRESSION (ALGORITHM = $words)"
            timed "backup to 2 files, $name" "BACKUP DATABASE speed TO DISK = '$DIR/1.bak', DISK = '$DIR/2.bak'
                WITH COPY_ONLY, FORMAT, COMPRESSION (ALGORITHM = $words)"
            timed "restore from 2 files, $name" "$RESTORE"
            rm -f "$DIR"/*.bak
        done
    done
}

case $COMMAND in
    make) make "${3:-1024}" ;;
    run) run "${3:-3}" ;;
    *) echo "backup.sh make|run DIR" >&2; exit 2 ;;
esac
