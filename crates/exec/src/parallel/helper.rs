//! What the thread of a helper does.

use super::ParallelPlan;
use super::exchange::{Batch, Exchange, Report};
use crate::operator::Plan;
use furrow_context::context::Context;
use furrow_context::error::{Result, SqlError};
use furrow_context::memory::row_bytes;
use furrow_engine::EngineError;
use furrow_io::process::thread_cpu_ns;
use furrow_observe::task::{enter, page_work};
use std::sync::Arc;

/// Rows and bytes after which a batch is passed on.
const BATCH_ROWS: usize = 256;
const BATCH_BYTES: usize = 32 << 10;

/// Reports the end of a helper, however it ends.
struct Ending {
    helper: usize,
    exchange: Arc<Exchange>,
    failed: Option<Box<SqlError>>,
    report: Report,
}

impl Drop for Ending {
    fn drop(&mut self) {
        self.report.pages = page_work();
        self.report.cpu_ns = thread_cpu_ns();
        self.exchange.done(
            self.helper,
            self.failed.take(),
            std::mem::take(&mut self.report),
        );
    }
}

/// Runs the plan on parts of its scan until there are no more.
pub(super) fn run(plan: &ParallelPlan, helper: usize, mut cx: Context, exchange: &Arc<Exchange>) {
    let text = "a thread of a parallel scan has ended unexpectedly".to_owned();
    let mut ending = Ending {
        helper,
        exchange: Arc::clone(exchange),
        // Replaced below, unless it panics.
        failed: Some(EngineError::Damaged(text).into()),
        report: Report::default(),
    };
    let task = Arc::clone(cx.sessions.task());
    let entered = enter(&task);
    let done = match &plan.input {
        Plan::Aggregate(aggregate) => match aggregate.partial(&mut cx) {
            Ok(Some(groups)) => {
                exchange.send(Batch::Groups(Box::new(groups)), 0);
                Ok(())
            }
            Ok(None) => {
                exchange.give_up();
                Ok(())
            }
            Err(error) => Err(error),
        },
        input => pass_rows(input, &mut cx, exchange),
    };
    let (null_eliminated, made_null) = cx.notes();
    ending.report.null_eliminated = null_eliminated;
    ending.report.made_null = made_null.to_vec();
    ending.failed = done.err();
    // Its session ends before it is reported: the statement may end right behind that.
    drop(cx);
    drop(entered);
}

fn pass_rows(input: &Plan, cx: &mut Context, exchange: &Exchange) -> Result<()> {
    let mut cursor = input.open(cx)?;
    let mut rows = Vec::new();
    let (mut row, mut bytes) = (Vec::new(), 0);
    let done = loop {
        let found = match cursor.next(cx, &mut row) {
            Ok(found) => found,
            Err(error) => break Err(error),
        };
        if found {
            bytes += row_bytes(&row);
            rows.push(row.clone());
        }
        let is_full = rows.len() >= BATCH_ROWS || bytes >= BATCH_BYTES;
        if (is_full || !found) && !rows.is_empty() {
            let batch = Batch::Rows(std::mem::take(&mut rows));
            if !exchange.send(batch, std::mem::take(&mut bytes)) {
                break Ok(());
            }
        }
        if !found {
            break Ok(());
        }
    };
    cursor.close(cx);
    done
}
