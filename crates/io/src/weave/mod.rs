//! Interleavings, drawn by a seed: the engine's threads run one at a time, in an order that can be repeated.
//!
//! With the feature `weave`, which only tests turn on, each lock, atomic, sleep and wake-up of
//! [`crate::sync`], [`crate::thread`] and [`crate::time`] is a place where the running thread may have to
//! give way to another. The threads are real, so thread-local data works, but only one of them runs at a
//! time. A random number decides which is next: a seed is a schedule.
//!
//! There are two ways of drawing, for even and odd seeds. In the one, the running thread goes on most of the
//! time, and otherwise any thread is next. In the other, threads have priorities: the first of those that can
//! run does, and sometimes it falls behind all others (after Burckhardt and others, "A Randomized Scheduler
//! with Probabilistic Guarantees of Finding Bugs"): few changes at places that matter.
//!
//! The schedule also drives the clock: a step takes a microsecond, sometimes a thread stalls for long, and
//! when all threads sleep the clock advances to the first whose time is over. A schedule ends in a finding
//! when a thread panics, when all threads wait for each other, or when it does not end.
//!
//! Without the feature [`explore`] runs a body a few times as the system schedules it.

pub use crate::schedule::{Finding, Tried};
#[cfg(feature = "weave")]
use crate::schedule::{run, strand};

/// Whether schedules are tried, or bodies only run.
pub const ENABLED: bool = cfg!(feature = "weave");

/// How often a body runs where there are no schedules.
#[cfg(not(feature = "weave"))]
const PLAIN_RUNS: u64 = 3;

/// Tries `body` under so many schedules and panics at the first that ends badly. `FURROW_SEED` names the
/// first seed, `FURROW_SCHEDULES` another number. The body is given the seed of its schedule.
pub fn explore(what: &str, schedules: u64, body: impl Fn(u64) + Send + Sync + 'static) {
    let asked = std::env::var("FURROW_SCHEDULES");
    let schedules = asked.ok().and_then(|n| n.parse().ok()).unwrap_or(schedules);
    let first = crate::random::test_seed();
    println!("{what}: FURROW_SEED={first}");
    match try_explore(first, schedules, body) {
        Ok(tried) => println!(
            "{what}: {} schedules, {} of them distinct, {} steps",
            tried.schedules, tried.distinct, tried.steps
        ),
        Err(Finding { seed, text }) => {
            panic!("{what}: {text}\nsee it again with FURROW_SEED={seed} FURROW_SCHEDULES=1")
        }
    }
}

/// Tries `body` under the schedules of the seeds from `first` on; the first that ends badly.
#[cfg(feature = "weave")]
pub(crate) fn try_explore(
    first: u64,
    schedules: u64,
    body: impl Fn(u64) + Send + Sync + 'static,
) -> Result<Tried, Finding> {
    run::all(first, schedules, std::sync::Arc::new(body))
}

/// Runs `body` a few times with seeds from `first` on; a panic of it is passed on.
#[cfg(not(feature = "weave"))]
pub(crate) fn try_explore(
    first: u64,
    schedules: u64,
    body: impl Fn(u64) + Send + Sync + 'static,
) -> Result<Tried, Finding> {
    let runs = schedules.min(PLAIN_RUNS);
    (0..runs).for_each(|n| body(first.wrapping_add(n)));
    Ok(Tried {
        schedules: runs,
        ..Tried::default()
    })
}

/// Runs all of `bodies` side by side, each on a thread of its own, and waits for their ends.
pub fn together(bodies: Vec<Box<dyn FnOnce() + Send>>) {
    let spawn = |(n, body)| crate::thread::spawn_named(format!("strand {n}"), body);
    let handles: Vec<_> = bodies.into_iter().enumerate().map(spawn).collect();
    for handle in handles {
        match handle.map(crate::thread::JoinHandle::join) {
            Ok(Ok(())) => {}
            Ok(Err(panic)) => std::panic::resume_unwind(panic),
            Err(error) => panic!("no thread: {error}"),
        }
    }
}

/// A place where another thread may run, besides those of locks and atomics.
#[inline]
pub fn point() {
    #[cfg(feature = "weave")]
    strand::point();
}

/// Calls `body` while no other thread of the schedule runs: for what is initialised once, while others would
/// really wait for it.
#[inline]
pub fn quietly<T>(body: impl FnOnce() -> T) -> T {
    #[cfg(feature = "weave")]
    return strand::quietly(body);
    #[cfg(not(feature = "weave"))]
    body()
}

#[cfg(all(test, feature = "weave"))]
mod tests;
