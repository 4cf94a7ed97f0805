//! Checks data files a number of times from memory: divide the CPU time it takes by the pages it prints.
//!
//! `time cargo run --release -p furrow-check --example check_speed -- TIMES FILE...`

use furrow_check::{Options, check};
use furrow_datafile::{DataFiles, MemoryFiles, PageSource};
use furrow_format::{PAGE_SIZE, PageNo};
use furrow_io::SystemVolume;
use furrow_io::time::Moment;
use std::path::PathBuf;

fn main() -> Result<(), Box<dyn std::error::Error>> {
    let mut words = std::env::args().skip(1);
    let times: u32 = words.next().and_then(|word| word.parse().ok()).unwrap_or(1);
    let paths: Vec<PathBuf> = words.map(PathBuf::from).collect();
    let on_disk = DataFiles::open(&SystemVolume::new(), &paths)?;
    let mut files = MemoryFiles::new();
    for file in on_disk.files() {
        let mut pages = vec![[0; PAGE_SIZE]; file.pages as usize];
        on_disk.read(file.id, PageNo(0), &mut pages)?;
        files.add(pages.as_flattened())?;
    }
    let options = Options {
        workers: 1,
        at_rest: true,
        ..Options::default()
    };
    let began = Moment::now();
    let (mut pages, mut findings) = (0, 0);
    for _ in 0..times {
        let report = check(&files, &options, None)?;
        pages += report.pages_checked;
        findings = report.findings.len();
    }
    let seconds = began.elapsed_us() as f64 / 1e6;
    let megabytes = pages as f64 * PAGE_SIZE as f64 / 1e6;
    println!(
        "{pages} pages, {findings} findings, {:.2} us a page, {:.0} MB/s",
        seconds * 1e6 / pages as f64,
        megabytes / seconds
    );
    Ok(())
}
