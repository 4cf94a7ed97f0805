//! The scan: every page in use once, each file front to back, by several workers.
//!
//! Files are cut into runs of pages. A worker takes the next run of its file and, when that file is done, of
//! another: so every file is read in order, and files on several volumes at the same time. A thread beside
//! each worker reads the next run meanwhile ([`ahead`]). What a page says of itself is judged at once; what
//! it says of others becomes facts.

mod ahead;
mod frame;
mod iam;
mod index_rows;
mod page;
mod plain;
mod rows;
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
use crate::finding::Findings;
use crate::maps::page_at;
use ahead::{Ahead, Ending, Run, Turns};
use furrow_format::{PageBuf, PageId};
use furrow_io::IoError;
use furrow_io::thread::{Scope, scope, spawn_scoped};
use parking_lot::Mutex;
use std::sync::Arc;

impl Worker<'_> {
    /// Judges run after run that another thread reads.
    fn work_behind(&mut self, ahead: &Ahead, gatherer: &Gatherer) {
        let _ending = Ending(ahead);
        while let Some(mut run) = ahead.next() {
            if !self.run(&mut run, gatherer) {
                return;
            }
            ahead.give_back(run);
        }
    }

    /// Reads and judges run after run.
    fn work_alone(&mut self, number: usize, gatherer: &Gatherer) {
        let (mut run, mut turns) = (Run::new(), Turns::new(number));
        while run.fill(&mut turns, self.shared) && self.run(&mut run, gatherer) {}
    }

    /// Judges the pages of a run that were read; whether to go on.
    fn run(&mut self, run: &mut Run, gatherer: &Gatherer) -> bool {
        let (file, first, count) = (run.file, run.first, run.count);
        for part in run.parts.clone() {
            let pages = (part.at as usize)..(part.at + part.count) as usize;
            let pages = run.pages().get_mut(pages).unwrap_or_default();
            for (number, page) in (first + part.at..).zip(pages) {
                self.read_page(page_at(file, number), page, part.is_read);
            }
        }
        gatherer.relieve(&mut self.facts) && self.shared.advance(count)
    }

    /// Judges a page that was read together with its neighbours; is read alone if that has failed: one bad
    /// sector must not hide its neighbours.
    fn read_page(&mut self, id: PageId, page: &mut PageBuf, is_read: bool) {
        if !is_read {
            let one = std::slice::from_mut(page);
            if let Err(error) = self.shared.source.read(id.file, id.page, one) {
                self.unread(id, error.to_string());
                return;
            }
        }
        self.page(id, page);
    }

    fn unread(&mut self, id: PageId, error: String) {
        if self.shared.maps.is_in_use(id) || furrow_format::fixed_page_type(id.page).is_some() {
            let why = Why::Unread(error);
            self.facts.bad.push(BadPage { id, why });
        }
    }
}

/// Scans all files with so many workers.
pub(crate) fn scan(
    shared: &Shared<'_>,
    workers: usize,
    gatherer: Gatherer,
) -> Result<(Facts, Watch, Findings), IoError> {
    let all = Mutex::new(Findings::default());
    let (taker, taken) = (&gatherer, &all);
    scope(|scope| {
        for number in 1..workers.max(1) {
            let body = move || work(scope, (number, shared), taker, taken);
            // Without a thread to spare, those there are do the work.
            let _started = spawn_scoped(scope, "check", body);
        }
        work(scope, (0, shared), taker, taken);
    });
    let (facts, watch) = gatherer.finish(&|| shared.advance(0))?;
    Ok((facts, watch, all.into_inner()))
}

/// The work of one worker, with a thread that reads for it where reading takes time and there is one.
fn work<'scope>(
    scope: &'scope Scope<'scope, '_>,
    (number, shared): (usize, &'scope Shared<'_>),
    gatherer: &Gatherer,
    all: &Mutex<Findings>,
) {
    let mut worker = Worker::new(shared);
    let ahead = shared.source.is_slow().then(|| Arc::new(Ahead::new()));
    let reader = ahead.as_ref().and_then(|ahead| {
        let reads = Arc::clone(ahead);
        let read_all = move || reads.read_all(number, shared);
        spawn_scoped(scope, "check reads", read_all).ok()
    });
    match (&ahead, reader) {
        (Some(ahead), Some(reader)) => {
            worker.work_behind(ahead, gatherer);
            // A reader that has panicked has left pages out.
            if let Err(panic) = reader.join() {
                std::panic::resume_unwind(panic);
            }
        }
        _ => worker.work_alone(number, gatherer),
    }
    gatherer.give(worker.facts);
    all.lock().list.append(&mut worker.findings.list);
}
