//! How much CPU time reading takes: a short SELECT, a procedure, a megabyte.

use furrow_io::process::thread_cpu_ns;
use furrow_tsql::{Options, parse};

fn nanoseconds(text: &str, times: u32) -> u64 {
    let mut best = u64::MAX;
    for _ in 0..10 {
        let begin = thread_cpu_ns();
        for _ in 0..times {
            std::hint::black_box(parse(std::hint::black_box(text), Options::default()).is_ok());
        }
        best = best.min((thread_cpu_ns() - begin) / u64::from(times));
    }
    best
}

fn main() {
    let short = "SELECT id, name FROM dbo.orders WHERE id = 42 AND qty > 1";
    let script = include_str!("../tests/golden/oltp.sql");
    let procedure = script.split("\nGO").next().unwrap_or("");
    let long = "SELECT a, b + 1 AS c FROM dbo.t WHERE x = 'y' AND z IN (1, 2);\n".repeat(16_000);
    println!(
        "{} characters: {} ns",
        short.len(),
        nanoseconds(short, 2_000)
    );
    println!(
        "{} characters: {} ns",
        procedure.len(),
        nanoseconds(procedure, 200)
    );
    let ns = nanoseconds(&long, 1);
    let rate = long.len() as u64 * 1_000 / ns.max(1);
    println!("{} characters: {} us, {rate} MB/s", long.len(), ns / 1_000);
}
