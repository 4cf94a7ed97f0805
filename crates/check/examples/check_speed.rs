//! Checks data files a number of times, from memory or from the disk, and prints the speed.
//!
//! `cargo run --release -p furrow-check --example check_speed -- [physical] [disk] [workers=N] TIMES FILE...`

use furrow_check::{Depth, Options, check};
use furrow_datafile::{DataFiles, MemoryFiles, PageSource};
use furrow_format::{PAGE_SIZE, PageNo};
use furrow_io::SystemVolume;
use furrow_io::time::Moment;
use std::path::PathBuf;

fn main() -> Result<(), Box<dyn std::error::Error>> {
    let (mut options, mut from_disk) = (
        Options {
            workers: 1,
            at_rest: true,
            ..Options::default()
        },
        false,
    );
    let mut words = std::env::args().skip(1).peekable();
    while let Some(word) = words.next_if(|word| word.parse::<u32>().is_err()) {
        match word.strip_prefix("workers=") {
            Some(number) => options.workers = number.parse()?,
            None if word == "physical" => options.depth = Depth::Physical,
            None if word == "disk" => from_disk = true,
            None => return Err(format!("'{word}' is not known").into()),
        }
    }
    let times: u32 = words.next().and_then(|word| word.parse().ok()).unwrap_or(1);
    let paths: Vec<PathBuf> = words.map(PathBuf::from).collect();
    let on_disk = DataFiles::open(&SystemVolume::new(), &paths)?;
    let mut files = MemoryFiles::new();
    for file in on_disk.files().into_iter().filter(|_| !from_disk) {
        let mut pages = vec![[0; PAGE_SIZE]; file.pages as usize];
        on_disk.read(file.id, PageNo(0), &mut pages)?;
        files.add(pages.as_flattened())?;
    }
    let source: &dyn PageSource = if from_disk { &on_disk } else { &files };
    let began = Moment::now();
    let (mut pages, mut rows, mut findings) = (0, 0, 0);
    for _ in 0..times {
        let report = check(source, &options, None)?;
        pages += report.pages_checked;
        rows += report.rows;
        findings = report.findings.len();
    }
    let seconds = began.elapsed_us() as f64 / 1e6;
    let megabytes = pages as f64 * PAGE_SIZE as f64 / 1e6;
    println!(
        "{pages} pages, {rows} rows, {findings} findings, {seconds:.3} s, {:.2} us a page, {:.0} MB/s",
        seconds * 1e6 / pages as f64,
        megabytes / seconds
    );
    Ok(())
}
