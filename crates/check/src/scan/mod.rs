//! The scan: every page in use once, each file front to back, by several workers.
//!
//! Files are cut into runs of pages. A worker takes the next run of its file and, when that file is done, of
//! another: so every file is read in order, and files on several volumes at the same time. Free extents are
//! not read. What a page says of itself is judged at once; what it says of others becomes facts.
//!
//! Where reads take time a worker has two threads. Each takes and reads a run of its own, then judges it, one
//! of them at a time: the device reads while pages are judged. No thread waits to be woken for each run: that
//! costs a tenth of the time that a read of 512 KB takes, or more.

mod frame;
mod iam;
mod index_rows;
mod page;
mod plain;
mod rows;
mod runs;
mod salvage;
mod shape;
mod text;
mod value;
mod wanted;
mod worker;

pub(crate) use rows::{bytes_of, home_of, values_of};
pub(crate) use salvage::Judged;
pub(crate) use text::ANY_LENGTH;
pub(crate) use wanted::Wanted;
pub use worker::{Listener, Progress};
pub(crate) use worker::{Shared, Worker};

use crate::facts::{BadPage, Facts, Gatherer, Watch, Why};
use crate::findings::Findings;
use crate::maps::page_at;
use furrow_format::{PageBuf, PageId};
use furrow_io::IoError;
use furrow_io::sync::Mutex;
use furrow_io::thread::{Scope, scope, spawn_scoped};
use runs::{Run, Turns};
use std::sync::Arc;

impl Worker<'_> {
    /// Judges the pages of a run that were read; whether to go on.
    fn run(&mut self, run: &mut Run, (gatherer, all): Taker<'_>) -> bool {
        let (file, first, count) = (run.file, run.first, run.count);
        for part in run.parts.clone() {
            let pages = (part.at as usize)..(part.at + part.count) as usize;
            let pages = run.pages().get_mut(pages).unwrap_or_default();
            for (number, page) in (first + part.at..).zip(pages) {
                self.read_page(page_at(file, number), page, part.is_read);
            }
        }
        if !self.findings.list.is_empty() {
            all.lock().take(&mut self.findings);
        }
        gatherer.relieve(&mut self.facts) && self.shared.advance(count)
    }

    /// Judges a page that was read together with its neighbours; is read alone if that has failed: one bad
    /// sector must not hide its neighbours.
    fn read_page(&mut self, id: PageId, page: &mut PageBuf, is_read: bool) {
        if !is_read {
            let one = std::slice::from_mut(page);
            if let Err(error) = self.shared.source.read(id.file, id.page, one) {
                self.unread(id, &error.to_string());
                return;
            }
        }
        self.page(id, page);
    }

    fn unread(&mut self, id: PageId, error: &str) {
        if self.shared.maps.is_in_use(id) || furrow_format::fixed_page_type(id.page).is_some() {
            let why = Why::Unread(self.facts.keys.keep_text(error));
            self.facts.bad.push(BadPage { id, why });
        }
    }
}

/// What takes the facts and the findings of the workers.
type Taker<'t> = (&'t Gatherer, &'t Mutex<Findings>);

/// Scans all files with so many workers, and adds to the findings.
pub(crate) fn scan(
    shared: &Shared<'_>,
    workers: usize,
    gatherer: Gatherer,
    findings: Findings,
) -> Result<(Facts, Watch, Findings), IoError> {
    let all = Mutex::new(findings);
    let taker = (&gatherer, &all);
    scope(|scope| {
        for number in 1..workers.max(1) {
            let body = move || work(scope, [number, number + workers], shared, taker);
            // Without a thread to spare, those there are do the work.
            let _started = spawn_scoped(scope, "check", body);
        }
        work(scope, [0, workers], shared, taker);
    });
    let (facts, watch) = gatherer.finish(&|| shared.advance(0))?;
    Ok((facts, watch, all.into_inner()))
}

/// The work of one worker, in two threads where reads take time and there is a second one. Each thread begins
/// with the file of its number: threads that read one file in turns break up the device's own reading ahead.
fn work<'scope>(
    scope: &'scope Scope<'scope, '_>,
    [first, second]: [usize; 2],
    shared: &'scope Shared<'_>,
    taker: Taker<'scope>,
) {
    let worker = Arc::new(Mutex::new(Worker::new(shared)));
    let beside = shared.source.is_slow().then(|| {
        let worker = Arc::clone(&worker);
        let body = move || take_runs(&worker, (second, shared), taker);
        spawn_scoped(scope, "check reads", body)
    });
    take_runs(&worker, (first, shared), taker);
    if let Some(Ok(beside)) = beside
        && let Err(panic) = beside.join()
    {
        // A thread that has panicked has left pages out.
        std::panic::resume_unwind(panic);
    }
    let (gatherer, all) = taker;
    let mut worker = worker.lock();
    gatherer.give(std::mem::take(&mut worker.facts));
    all.lock().take(&mut worker.findings);
}

/// Reads run after run, and judges each when no other thread of the worker does.
fn take_runs(worker: &Mutex<Worker<'_>>, (number, shared): (usize, &Shared<'_>), taker: Taker<'_>) {
    let (mut run, mut turns) = (Run::new(), Turns::new(number));
    while run.fill(&mut turns, shared) && worker.lock().run(&mut run, taker) {}
}
