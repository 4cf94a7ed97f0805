//! The commands that prove: worlds, histories, the long soak, and the faults that test the tests.

use furrow_io::mutation::{AVAILABLE, reached};
use furrow_io::random::random_seed;
use furrow_io::thread::{scope, spawn_scoped};
use furrow_io::time::Duration;
use furrow_soak::isolation::{self, Shape, level_name};
use furrow_soak::mutations::{FOUND, Order, PART, REACHED, Verdict, control, prove};
use furrow_soak::share::LEVELS;
use furrow_soak::worlds::{self, boundary, nth};
use furrow_soak::{Finding, backups, long, share};
use parking_lot::Mutex;
use std::path::PathBuf;
use std::process::{Command, ExitCode};
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};

/// The longest text of a finding in a list of many.
const LONGEST_LINE: usize = 160;

/// Does pieces 0 to `pieces`, so many at a time, until one fails.
fn side_by_side(
    pieces: usize,
    jobs: usize,
    one: &(dyn Fn(usize) -> Result<(), Box<Finding>> + Sync),
) -> ExitCode {
    let (next, failed) = (AtomicUsize::new(0), AtomicBool::new(false));
    let work = || {
        while !failed.load(Ordering::Relaxed) {
            let piece = next.fetch_add(1, Ordering::Relaxed);
            if piece >= pieces {
                return;
            }
            if let Err(finding) = one(piece) {
                failed.store(true, Ordering::Relaxed);
                println!("{finding}");
            }
        }
    };
    scope(|all| {
        for job in 1..jobs {
            if let Err(error) = spawn_scoped(all, format!("job {job}"), work) {
                println!("fewer at a time: {error}");
            }
        }
        work();
    });
    match failed.into_inner() {
        true => ExitCode::FAILURE,
        false => {
            println!("nothing found");
            ExitCode::SUCCESS
        }
    }
}

/// Every power loss and every failure of every small world.
pub(crate) fn worlds(jobs: usize) -> ExitCode {
    let all = worlds::all();
    side_by_side(2 * all.len(), jobs, &|piece| {
        let world = &all[piece / 2];
        if piece % 2 == 0 {
            let e = boundary::explore(world, boundary::Share::WHOLE)?;
            println!(
                "{}: {} moments, {} power losses, {} while opening",
                world.name, e.moments, e.crashes, e.in_recovery
            );
        } else {
            let o = nth::fail_everywhere(world, 1, 0)?;
            println!(
                "{}: {} failures reported, {} unnoticed",
                world.name, o.reported, o.unnoticed
            );
        }
        Ok(())
    })
}

/// Histories under each level.
pub(crate) fn histories(runs: u64, seed: Option<u64>, jobs: usize) -> ExitCode {
    let first = seed.unwrap_or_else(random_seed);
    println!("{runs} histories under each level from seed {first} on");
    side_by_side(LEVELS.len(), jobs, &|piece| {
        let shape = Shape::of(LEVELS[piece]);
        let mut all = isolation::Figures::default();
        for n in 0..runs {
            all.add(&isolation::run(&shape, first.wrapping_add(n))?);
            all.add(&isolation::run_registers(
                shape.level,
                first.wrapping_add(n),
            )?);
        }
        println!("{}: {all:?}", level_name(shape.level));
        Ok(())
    })
}

/// Runs between two lines.
const LINE_EVERY: u64 = 50;

/// Backups and restores, so many runs.
pub(crate) fn backups(runs: u64, seed: Option<u64>, jobs: usize) -> ExitCode {
    let first = seed.unwrap_or_else(random_seed);
    println!("{runs} runs of backups and restores from seed {first} on");
    let all = Mutex::new((0, backups::Figures::default()));
    side_by_side(
        usize::try_from(runs).unwrap_or(usize::MAX),
        jobs,
        &|piece| {
            let done = backups::run(first.wrapping_add(piece as u64))?;
            let mut all = all.lock();
            all.0 += 1;
            all.1.add(&done);
            if all.0 % LINE_EVERY == 0 || all.0 == runs {
                println!("{} runs: {:?}", all.0, all.1);
            }
            Ok(())
        },
    )
}

fn program() -> Result<PathBuf, ExitCode> {
    std::env::current_exe().map_err(|error| {
        eprintln!("where is this program? {error}");
        ExitCode::FAILURE
    })
}

fn soak_of(hours: f64, seed: u64, jobs: usize, home: PathBuf) -> Result<long::Soak, ExitCode> {
    Ok(long::Soak {
        program: program()?,
        home,
        seed,
        length: Duration::from_secs_f64(hours * 3600.0),
        jobs,
    })
}

/// All of it, for hours.
pub(crate) fn soak(hours: f64, seed: Option<u64>, jobs: usize, home: PathBuf) -> ExitCode {
    let seed = seed.unwrap_or_else(random_seed);
    println!("{hours} hours, seed {seed}, {jobs} pieces at a time");
    let ordered = match soak_of(hours, seed, jobs, home) {
        Ok(ordered) => ordered,
        Err(code) => return code,
    };
    match long::run(&ordered, &|line| println!("{line}")) {
        Ok(findings) if findings.is_empty() => {
            println!("nothing found");
            ExitCode::SUCCESS
        }
        Ok(findings) => {
            println!("{} findings, written down in the ledger", findings.len());
            ExitCode::FAILURE
        }
        Err(error) => {
            eprintln!("the ledger: {error}");
            ExitCode::FAILURE
        }
    }
}

/// A piece of a soak again.
pub(crate) fn piece(sort: usize, seed: u64) -> ExitCode {
    let ordered = match soak_of(1.0, seed, 1, PathBuf::from("furrow-soak")) {
        Ok(ordered) => ordered,
        Err(code) => return code,
    };
    match long::again(sort, seed, &ordered) {
        Ok(tries) => {
            println!("{tries} tries, nothing found");
            ExitCode::SUCCESS
        }
        Err(finding) => {
            println!("{finding}");
            ExitCode::FAILURE
        }
    }
}

/// The faults against the share; a program without them builds the one that has them.
pub(crate) fn mutations(
    seed: Option<u64>,
    jobs: usize,
    limit: u64,
    only: Option<String>,
) -> ExitCode {
    if !AVAILABLE {
        return build_and_go_on();
    }
    let seed = seed.unwrap_or_else(random_seed);
    let mut order = match program() {
        Ok(program) => Order {
            program,
            seed,
            jobs,
            limit: Duration::from_secs(limit),
            only,
        },
        Err(code) => return code,
    };
    println!("seed {seed}, {jobs} at a time");
    match control(&order) {
        Ok(seconds) => {
            println!("without any fault: nothing found in {seconds:.0} s");
            // What hangs must not be mistaken for what waits for a busy machine.
            order.limit = order.limit.max(Duration::from_secs_f64(seconds * 4.0));
        }
        Err(what) => {
            println!("without any fault: {what}");
            return ExitCode::FAILURE;
        }
    }
    let verdicts = prove(&order, &|line| println!("{line}"));
    let caught = verdicts
        .iter()
        .filter(|v| matches!(v.1, Verdict::Caught(..)));
    let caught = caught.count();
    println!("{caught} of {} faults caught", verdicts.len());
    match caught == verdicts.len() {
        true => ExitCode::SUCCESS,
        false => ExitCode::FAILURE,
    }
}

fn build_and_go_on() -> ExitCode {
    let cargo = std::env::var_os("CARGO").unwrap_or_else(|| "cargo".into());
    let profile: &[&str] = if cfg!(debug_assertions) {
        &[]
    } else {
        &["--release"]
    };
    let done = Command::new(cargo)
        .args(["run", "-q", "-p", "furrow-soak", "--features", "mutations"])
        .args(profile)
        .arg("--")
        .args(std::env::args_os().skip(1))
        .status();
    match done {
        Ok(status) if status.success() => ExitCode::SUCCESS,
        Ok(_) => ExitCode::FAILURE,
        Err(error) => {
            eprintln!("the program with the faults cannot be built: {error}");
            ExitCode::FAILURE
        }
    }
}

/// The share, reported to `mutations` line by line. Any panic of any thread ends it.
pub(crate) fn share(seed: u64, first: Option<&str>) -> ExitCode {
    std::panic::set_hook(Box::new(|panic| {
        let text = panic.to_string().replace('\n', " ");
        let text: String = text.chars().take(LONGEST_LINE).collect();
        println!("{FOUND}{text}");
        std::process::exit(101);
    }));
    let reported = |finding: &Finding| {
        let line: Vec<&str> = finding.what.lines().take(2).collect();
        let text: String = line.join(" | ").chars().take(LONGEST_LINE).collect();
        println!("{FOUND}{}: {text}", finding.place);
        ExitCode::FAILURE
    };
    for (name, part) in share::parts(first) {
        println!("{PART}{name}");
        if let Err(finding) = part(seed) {
            return reported(&finding);
        }
        println!("{REACHED}{}", reached());
    }
    println!("{PART}killed processes");
    let killed = program().and_then(|program| {
        let home = tempfile::tempdir().map_err(|_| ExitCode::FAILURE)?;
        let path = home.path().to_path_buf();
        share::kills(program, path, seed).map_err(|finding| reported(&finding))
    });
    if let Err(code) = killed {
        return code;
    }
    println!("{REACHED}{}", reached());
    ExitCode::SUCCESS
}
