//! Counts how often the lab names the cause that was planted, in real experiments.
//!
//! ```text
//! cargo build --release --package furrow
//! cargo run --release -p furrow-lab --example planted -- [--each 10] [--fast DIR]
//!     [--slow DIR[,write=8MB/s]] [--out DIR] [--furrow target/release/furrow] [--only NAME]
//! ```
//!
//! A slow volume is a directory on a slow device (a loop device under a limit of the system),
//! or one whose drive is modelled, as behind `furrow lab --volume`. Without `--slow` it is modelled. The
//! machine has to be quiet. Ends with code 1 where a cause was named in fewer than nine of ten experiments,
//! or where another one was named.

mod cases;

use cases::Case;
use furrow_lab::journal::{Event, Line, State};
use furrow_lab::plan::Plan;
use furrow_lab::results::{Confidence, Results};
use std::error::Error;
use std::path::{Path, PathBuf};
use std::process::{Child, Command, ExitCode, Stdio};
use std::time::Duration;

type Done<T> = Result<T, Box<dyn Error>>;

/// Programs that do nothing but compute.
const BUSY_PROGRAMS: usize = 6;

struct Options {
    each: u32,
    fast: PathBuf,
    slow: String,
    out: PathBuf,
    furrow: PathBuf,
    only: Option<String>,
}

impl Options {
    fn parse() -> Done<Options> {
        let mut options = Options {
            each: 10,
            fast: PathBuf::new(),
            slow: String::new(),
            out: std::env::temp_dir().join("furrow-planted"),
            furrow: PathBuf::from("target/release/furrow"),
            only: None,
        };
        let mut words = std::env::args().skip(1);
        while let Some(word) = words.next() {
            let value = words.next().ok_or(format!("{word} needs a value"))?;
            match word.as_str() {
                "--each" => options.each = value.parse()?,
                "--fast" => options.fast = PathBuf::from(value),
                "--slow" => options.slow = value,
                "--out" => options.out = PathBuf::from(value),
                "--furrow" => options.furrow = PathBuf::from(value),
                "--only" => options.only = Some(value),
                other => return Err(format!("there is no option {other}").into()),
            }
        }
        std::fs::create_dir_all(&options.out)?;
        if options.fast.as_os_str().is_empty() {
            options.fast = options.out.join("fast");
            std::fs::create_dir_all(&options.fast)?;
        }
        if options.slow.is_empty() {
            let dir = options.out.join("slow");
            std::fs::create_dir_all(&dir)?;
            options.slow = format!("{},write=8MB/s,latency=5ms", dir.display());
        }
        options.furrow = options.furrow.canonicalize()?;
        Ok(options)
    }
}

/// Programs that use the processors while this lives.
struct Busy(Vec<Child>);

impl Busy {
    fn start() -> Done<Busy> {
        let start = || {
            Command::new("sh")
                .args(["-c", "while :; do :; done"])
                .spawn()
        };
        let programs: Result<Vec<Child>, _> = (0..BUSY_PROGRAMS).map(|_| start()).collect();
        Ok(Busy(programs?))
    }
}

impl Drop for Busy {
    fn drop(&mut self) {
        for program in &mut self.0 {
            // One that is gone already needs no end.
            let _ = program.kill().and_then(|()| program.wait());
        }
    }
}

/// The run that is being measured, by its level, as the journal says.
fn measured_level(dir: &Path) -> Option<String> {
    let text = std::fs::read_to_string(dir.join("journal.jsonl")).ok()?;
    let lines = text.lines().filter(|line| !line.is_empty());
    let mut plan: Option<Box<Plan>> = None;
    let mut current = None;
    for line in lines.filter_map(|line| serde_json::from_str::<Line>(line).ok()) {
        match line.event {
            Event::Plan { plan: found, .. } => plan = Some(found),
            Event::Step { run, state } => current = (state == State::Measure).then_some(run),
            _ => {}
        }
    }
    let (plan, id) = (plan?, current?);
    let run = plan.runs().into_iter().find(|run| run.id == id)?;
    Some(run.cell.key(&plan.factors))
}

/// Runs one experiment; what its report names as the cause.
fn experiment(case: &Case, options: &Options, number: u32) -> Done<(String, Confidence)> {
    let dir = options.out.join(format!("{}-{number}", case.name));
    if dir.exists() {
        std::fs::remove_dir_all(&dir)?;
    }
    std::fs::create_dir_all(&dir)?;
    case.prepare(&dir)?;
    let out = dir.join("out");
    let mut child = Command::new(&options.furrow)
        .args(["lab", "run"])
        .args(&case.arguments)
        .args(["--plain", "--out"])
        .arg(&out)
        .current_dir(&dir)
        .stdout(Stdio::null())
        .stderr(std::fs::File::create(dir.join("stderr"))?)
        .spawn()?;
    let mut busy: Option<Busy> = None;
    let status = loop {
        if let Some(status) = child.try_wait()? {
            break status;
        }
        if let Some(level) = case.busy_beside {
            let wanted = measured_level(&out).as_deref() == Some(level);
            busy = match (wanted, busy.take()) {
                (true, None) => Some(Busy::start()?),
                (true, running) => running,
                (false, _) => None,
            };
        }
        std::thread::sleep(Duration::from_millis(50));
    };
    if !status.success() {
        let said = std::fs::read_to_string(dir.join("stderr"))?;
        return Err(format!("{}: {status}: {said}", case.name).into());
    }
    let results = std::fs::read_to_string(out.join("results.json"))?;
    let results: Results = serde_json::from_str(&results)?;
    let why = results.attribution.clone();
    for text in why.evidence_for.iter().chain(&why.evidence_against) {
        println!("    {text}");
    }
    match filled(&results) {
        // Without a verdict the report says what filled the time of each level.
        Some(category) => Ok((category, Confidence::Likely)),
        None => Ok((why.resource, why.confidence)),
    }
}

/// What filled the time of all levels, in a report without a verdict.
fn filled(results: &Results) -> Option<String> {
    let fills = results.attribution.fills.as_deref()?;
    println!("    no verdict: {}", results.answer.sentence);
    let first = fills.first()?;
    let is_everywhere = results.levels.iter().all(|level| {
        let mut own = fills.iter().filter(|fill| fill.level == level.level);
        own.any(|fill| fill.category == first.category)
    });
    is_everywhere.then(|| first.category.clone())
}

/// Runs a case as often as asked. Whether it was named often enough, and never taken for something else.
fn holds(case: &Case, options: &Options) -> Done<bool> {
    let (mut named, mut unnamed, mut wrong) = (0, 0, 0);
    println!("{}: {}", case.name, case.planted);
    for number in 1..=options.each {
        let (cause, confidence) = experiment(case, options, number)?;
        println!("  {number}: {} ({})", cause, confidence.word());
        match &cause {
            cause if case.causes.iter().any(|text| cause.contains(text)) => named += 1,
            cause if cause.is_empty() || confidence == Confidence::Unknown => unnamed += 1,
            _ => wrong += 1,
        }
    }
    println!(
        "{}: named {named}, not named {unnamed}, called something else {wrong}",
        case.name
    );
    Ok(wrong == 0 && named * 10 >= options.each * 9)
}

fn run() -> Done<bool> {
    let options = Options::parse()?;
    let fast = options.fast.display().to_string();
    let mut all_hold = true;
    let wanted = |case: &Case| options.only.as_deref().is_none_or(|only| only == case.name);
    for case in cases::all(&options.slow, &fast)
        .iter()
        .filter(|case| wanted(case))
    {
        all_hold &= holds(case, &options)?;
    }
    Ok(all_hold)
}

fn main() -> ExitCode {
    match run() {
        Ok(true) => ExitCode::SUCCESS,
        Ok(false) => ExitCode::FAILURE,
        Err(error) => {
            eprintln!("planted: {error}");
            ExitCode::from(2)
        }
    }
}
