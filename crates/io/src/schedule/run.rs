//! One schedule: which thread runs, what each thread waits for, and how the schedule ends.

use super::draw::Draw;
use super::strand::{Strand, Waits, become_strand};
use super::tried::{Finding, Tried};
use std::any::Any;
use std::collections::{BTreeSet, HashMap, VecDeque};
use std::fmt::Write;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::sync::{Arc, Condvar, Mutex, MutexGuard, PoisonError};
use std::time::Duration;

/// A schedule of more steps has no end.
const MOST_STEPS: u64 = 5_000_000;
const STEP_NS: u64 = 1_000;
/// The clock at the beginning: not zero, which means "never" to some.
const START_NS: u64 = 1_000_000_000;
/// When no thread has taken a step for so long, one sleeps in a place outside of the schedule.
const STANDSTILL: Duration = Duration::from_secs(300);

#[derive(Debug)]
struct Thread {
    name: String,
    waits: Waits,
    /// Whether it was woken, and not by its time.
    woken: bool,
    turn: Arc<Condvar>,
}

#[derive(Debug)]
struct State {
    threads: Vec<Thread>,
    /// The thread that runs; `None` after the end.
    running: Option<usize>,
    queues: HashMap<usize, VecDeque<(usize, usize)>>,
    draw: Draw,
    clock_ns: u64,
    steps: u64,
    finding: Option<String>,
}

/// A schedule under way.
#[derive(Debug)]
pub(crate) struct Run {
    state: Mutex<State>,
    over: Condvar,
}

type Body = Arc<dyn Fn(u64) + Send + Sync>;

/// Tries the schedules of `schedules` seeds from `first` on.
pub(crate) fn all(first: u64, schedules: u64, body: Body) -> Result<Tried, Finding> {
    // Threads of two schedules would share the state of the process, and each schedule would be disturbed by
    // the other.
    static ONE_AT_A_TIME: Mutex<()> = Mutex::new(());
    let _turn = ONE_AT_A_TIME.lock().unwrap_or_else(PoisonError::into_inner);
    let mut tried = Tried::default();
    let mut prints = BTreeSet::new();
    for n in 0..schedules {
        let seed = first.wrapping_add(n);
        let run = Run::start(seed, &body);
        let (steps, print) = run.finish().map_err(|text| Finding { seed, text })?;
        tried.schedules += 1;
        tried.steps += steps;
        prints.insert(print);
    }
    tried.distinct = prints.len() as u64;
    Ok(tried)
}

fn text_of(panic: &(dyn Any + Send)) -> String {
    let literal = panic.downcast_ref::<&str>().map(|text| (*text).to_owned());
    let text = literal.or_else(|| panic.downcast_ref::<String>().cloned());
    text.unwrap_or_else(|| "a panic".to_owned())
}

impl Run {
    fn start(seed: u64, body: &Body) -> Arc<Run> {
        let run = Arc::new(Run {
            state: Mutex::new(State {
                threads: Vec::new(),
                running: Some(0),
                queues: HashMap::new(),
                draw: Draw::new(seed),
                clock_ns: START_NS,
                steps: 0,
                finding: None,
            }),
            over: Condvar::new(),
        });
        let strand = Run::add(&run, "the first");
        let body = Arc::clone(body);
        let begun = std::thread::Builder::new()
            .name("woven".to_owned())
            .spawn(move || strand.live(|| body(seed)));
        if let Err(error) = begun {
            run.lock().end_badly(format!("no thread: {error}"));
        }
        run
    }

    /// A thread more, which can run from now on.
    pub(crate) fn add(run: &Arc<Run>, name: &str) -> Strand {
        let mut state = run.lock();
        let number = state.threads.len();
        state.threads.push(Thread {
            name: name.to_owned(),
            waits: Waits::Not,
            woken: false,
            turn: Arc::default(),
        });
        state.draw.add();
        drop(state);
        Strand {
            run: Arc::clone(run),
            number,
        }
    }

    fn lock(&self) -> MutexGuard<'_, State> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Waits for the end of all threads, or for a finding; steps and print of the schedule.
    fn finish(&self) -> Result<(u64, u64), String> {
        let mut state = self.lock();
        loop {
            if let Some(text) = state.finding.take() {
                // The threads that are left sleep for good.
                state.finding = Some(String::new());
                return Err(text);
            }
            if state.running.is_none() {
                return Ok((state.steps, state.draw.print));
            }
            let before = state.steps;
            let waited = self.over.wait_timeout(state, STANDSTILL);
            let (next, slept) = waited.unwrap_or_else(PoisonError::into_inner);
            state = next;
            let stands = slept.timed_out() && state.steps == before;
            if stands && state.running.is_some() && state.finding.is_none() {
                let text = "a thread sleeps where the schedule does not know of it";
                state.end_badly(text.to_owned());
            }
        }
    }

    /// Passes the turn to the next thread, and waits until it is this thread's again. Returns whether it was
    /// woken.
    pub(super) fn step(&self, me: usize, waits: Waits, stands_back: bool) -> bool {
        let mut state = self.lock();
        state.threads[me].waits = waits;
        state.threads[me].woken = false;
        if state.finding.is_none() {
            state.pass_on(me, stands_back);
        }
        let state = self.await_turn(state, me);
        state.threads[me].woken
    }

    fn await_turn<'a>(
        &'a self,
        mut state: MutexGuard<'a, State>,
        me: usize,
    ) -> MutexGuard<'a, State> {
        let turn = Arc::clone(&state.threads[me].turn);
        loop {
            if state.finding.is_some() {
                self.over.notify_all();
            } else if state.running == Some(me) {
                return state;
            }
            state = turn.wait(state).unwrap_or_else(PoisonError::into_inner);
        }
    }

    pub(super) fn wake(&self, key: usize, only_one: bool) {
        let mut state = self.lock();
        let here = |thread: &Thread| match thread.waits {
            Waits::Key(at) | Waits::Until(_, at) => at == key,
            _ => false,
        };
        let mut sleepers: Vec<usize> = (0..state.threads.len())
            .filter(|&n| here(&state.threads[n]))
            .collect();
        if only_one && !sleepers.is_empty() {
            let which = state.draw.one_of(sleepers.len());
            sleepers = vec![sleepers[which]];
        }
        for sleeper in sleepers {
            state.rouse(sleeper);
        }
    }

    pub(super) fn clock_ns(&self) -> u64 {
        self.lock().clock_ns
    }

    pub(super) fn enqueue(&self, me: usize, key: usize, tag: usize) {
        self.lock()
            .queues
            .entry(key)
            .or_default()
            .push_back((me, tag));
    }

    pub(super) fn first_queued(&self, key: usize) -> Option<usize> {
        Some(self.lock().queues.get(&key)?.front()?.1)
    }

    pub(super) fn wake_first(&self, key: usize) {
        let mut state = self.lock();
        let first = state.queues.get_mut(&key).and_then(VecDeque::pop_front);
        if let Some((sleeper, _)) = first {
            state.rouse(sleeper);
        }
    }

    pub(super) fn has_ended(&self, number: usize) -> bool {
        self.lock().threads[number].waits == Waits::Over
    }
}

impl State {
    fn rouse(&mut self, sleeper: usize) {
        let thread = &mut self.threads[sleeper];
        thread.waits = Waits::Not;
        thread.woken = true;
    }

    fn end_badly(&mut self, text: String) {
        let mut text = text;
        for thread in &self.threads {
            let _ = write!(text, "\n  {}: {:?}", thread.name, thread.waits);
        }
        self.finding.get_or_insert(text);
    }

    /// The threads that can run; the clock moves when there are none.
    fn ready(&mut self) -> Vec<usize> {
        loop {
            let now = self.clock_ns;
            for thread in &mut self.threads {
                if matches!(thread.waits, Waits::Until(at, _) if at <= now) {
                    thread.waits = Waits::Not;
                }
            }
            let threads = self.threads.iter().enumerate();
            let ready: Vec<usize> = threads
                .filter_map(|(n, thread)| (thread.waits == Waits::Not).then_some(n))
                .collect();
            let times = self.threads.iter().filter_map(|thread| match thread.waits {
                Waits::Until(at, _) => Some(at),
                _ => None,
            });
            match times.min() {
                Some(first) if ready.is_empty() => self.clock_ns = first,
                _ => return ready,
            }
        }
    }

    fn pass_on(&mut self, me: usize, stands_back: bool) {
        self.steps += 1;
        self.clock_ns += STEP_NS + self.draw.stall_ns();
        if self.steps > MOST_STEPS {
            return self.end_badly(format!("no end after {MOST_STEPS} steps"));
        }
        let ready = self.ready();
        if ready.is_empty() {
            self.running = None;
            if self
                .threads
                .iter()
                .any(|thread| thread.waits != Waits::Over)
            {
                self.end_badly("all wait, and no thread is left to wake them".to_owned());
            }
            return;
        }
        let next = self.draw.next(&ready, me, stands_back);
        self.running = Some(next);
        if next != me {
            self.threads[next].turn.notify_one();
        }
    }
}

impl Strand {
    /// Lives as this thread of the schedule from its first turn to its end. A panic ends the schedule.
    pub(crate) fn live<T>(self, body: impl FnOnce() -> T) -> Option<T> {
        drop(self.run.await_turn(self.run.lock(), self.number));
        become_strand(Some(self.clone()));
        let ended = catch_unwind(AssertUnwindSafe(body));
        become_strand(None);
        let mut state = self.run.lock();
        let ended = match ended {
            Ok(value) => Some(value),
            Err(panic) => {
                let name = state.threads[self.number].name.clone();
                state.end_badly(format!("{name} panicked: {}", text_of(&*panic)));
                None
            }
        };
        let me = self.number;
        state.threads[me].waits = Waits::Over;
        for n in 0..state.threads.len() {
            if state.threads[n].waits == Waits::End(me) {
                state.rouse(n);
            }
        }
        if state.finding.is_none() {
            state.pass_on(me, false);
        }
        drop(state);
        self.run.over.notify_all();
        ended
    }
}
