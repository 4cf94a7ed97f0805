//! Peer-comparison workloads: one line of JSON a run, with the fields of the peers' harness, so that its
//! rounds can interleave this engine with the others.
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
//! - w2 ends durable: with a checkpoint. w3 reads one row a transaction unless told otherwise.
//! - Page checksums and wait statistics are on.
//! - The pool's memory is there before the clock starts (`--prefault 0`: it comes as pages are used first),
//!   as that of a server is which has been running: where a hypervisor lends memory, its first use takes
//!   a good part of a run.
//!
//! # What can fail
//! Anything: the process ends with a sentence and code 1, and prints no line.

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
