//! Peer-comparison workloads. A run prints one line of JSON with the fields of the peers' harness, so that
//! rounds of this engine and of the others can be interleaved.
//!
//! ```text
//! furrow-bench w1 [--secs 10] [--threads 16] [--batch 1] [--keys seq|rand] [--payload 100]   durable inserts
//! furrow-bench w2 [--mb 2000] [--payload 100] [--batch 500000]     load in key order; leaves the database
//! furrow-bench w3 [--threads 1] [--ws 1000000] [--secs 5] [--reads_per_txn 1]    cached point reads of it
//! furrow-bench w4 [--cold 1] [--par 1]                             full scan of it
//! all: [--dir DIR] [--files N] [--pool MB] [--log MB] [--waits 1]; w1, w2, w4: [--prefault 0]
//! ```
//!
//! # Rules, the same for all engines
//! - A row is an 8-byte key and a payload of text that depends on the key ([`rows`]).
//! - Each commit of w1 is durable when it returns; w1 begins with an empty table, clustered on the key.
//! - w2 ends with a checkpoint, so its result is durable. w3 reads one row per transaction by default.
//! - Page checksums and wait statistics are on.
//! - The pool's memory is present before the clock starts, as in a server that has been running for a while.
//!   On a virtual machine the first use of memory can take a good part of a run (`--prefault 0` includes it).
//!
//! # What can fail
//! On any error the process prints one sentence instead of the JSON line, and ends with code 1.

mod loads;
mod meter;
mod options;
mod outcome;
mod reads;
mod rows;
mod store;

use outcome::Outcome;

use options::Options;
use std::process::ExitCode;

fn main() -> ExitCode {
    let words: Vec<String> = std::env::args().skip(1).collect();
    let Some((workload, rest)) = words.split_first() else {
        return usage("no workload is named");
    };
    let options = match Options::parse(rest) {
        Ok(options) => options,
        Err(text) => return usage(&text),
    };
    let done = match workload.as_str() {
        "w1" => loads::inserts(&options),
        "w2" => loads::bulk(&options),
        "w3" => reads::points(&options),
        "w4" => reads::scan(&options),
        other => return usage(&format!("there is no workload {other}")),
    };
    match done {
        Ok(()) => ExitCode::SUCCESS,
        Err(error) => {
            eprintln!("furrow-bench: {error}");
            ExitCode::FAILURE
        }
    }
}

fn usage(text: &str) -> ExitCode {
    eprintln!(
        "furrow-bench: {text}\nfurrow-bench w1|w2|w3|w4 [--secs N] [--threads N] [--batch N] ..."
    );
    ExitCode::from(2)
}
