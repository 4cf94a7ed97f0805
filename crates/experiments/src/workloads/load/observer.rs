//! The observer of a load: a session of its own that reads counters, and shows how far the load has come.

use super::{Load, Look, Shared, TICK};
use crate::targets::{Counters, Session, Target, TargetError, Value, quoted};
use furrow_io::time::{Duration, Moment, sleep};
use furrow_lab::experiment::RunContext;
use furrow_lab::terminal::Live;
use std::sync::atomic::Ordering;

/// A session of its own that reads counters.
pub(super) struct Observer<'a> {
    target: &'a dyn Target,
    load: &'a Load,
    pub(super) session: Box<dyn Session>,
}

impl<'a> Observer<'a> {
    pub(super) fn new(target: &'a dyn Target, load: &'a Load) -> Result<Observer<'a>, TargetError> {
        let mut session = target.connect()?;
        session.batch(&format!("USE {};", quoted(&load.database)))?;
        Ok(Observer {
            target,
            load,
            session,
        })
    }

    pub(super) fn counters(&mut self) -> Result<Counters, TargetError> {
        let session = self.session.as_mut();
        self.target.counters(session, &self.load.database)
    }

    /// The few figures that are looked at ten times a second.
    pub(super) fn look(&mut self) -> Result<Look, TargetError> {
        let pages = self.session.batch(
            "SELECT counter_name, cntr_value FROM sys.dm_os_performance_counters WHERE counter_name IN \
             (N'Checkpoint pages/sec', N'Background writer pages/sec', N'Lazy writes/sec');",
        )?;
        let mut look = Look::default();
        for row in &pages.rows {
            let [name, value] = row.as_slice() else {
                continue;
            };
            match name.to_string().as_str() {
                "Lazy writes/sec" => look.lazy_pages += value.count(),
                _ => look.checkpoint_pages += value.count(),
            }
        }
        let sizes = self.session.batch(
            "SELECT size_on_disk_bytes FROM sys.dm_io_virtual_file_stats(DB_ID(), NULL) ORDER BY file_id;",
        )?;
        let size = |row: &Vec<Value>| row.first().map_or(0, Value::count);
        look.sizes = sizes.rows.iter().map(size).collect();
        if self.load.looks_at_extents {
            let free = self.session.batch(
                "SELECT file_id, unallocated_extent_page_count / 8 FROM sys.dm_db_file_space_usage;",
            )?;
            let file = |row: &Vec<Value>| match row.as_slice() {
                [id, free] => Some((u32::try_from(id.count()).ok()?, free.count())),
                _ => None,
            };
            look.free_extents = free.rows.iter().filter_map(file).collect();
        }
        Ok(look)
    }
}

/// Looks on until every session has ended; ends their statements where the load has to stop.
pub(super) fn look_on(
    observer: &mut Observer<'_>,
    shared: &Shared<'_>,
    cancels: &[Box<dyn Fn() + Send + Sync>],
    (start, first): (Moment, Look),
    context: &mut RunContext<'_>,
) -> Vec<Look> {
    let mut looks: Vec<Look> = vec![first];
    loop {
        let next = start.after(TICK * looks.len() as u32);
        while Moment::now() < next && shared.running.load(Ordering::Acquire) > 0 {
            sleep(next.since(Moment::now()).min(Duration::from_millis(10)));
        }
        let running = shared.running.load(Ordering::Acquire) > 0;
        if shared.must_stop() {
            cancels.iter().for_each(|cancel| cancel());
        }
        match observer.look() {
            Ok(look) => looks.push(Look {
                at_s: start.elapsed_us() as f64 / 1e6,
                units: shared.units().iter().sum(),
                ..look
            }),
            Err(error) => shared.fail(format!("counters cannot be read: {}", error.full())),
        }
        show(&looks, shared.load, context);
        if !running {
            return looks;
        }
    }
}

/// Shows how far the load has come, with the rate of the last second.
fn show(looks: &[Look], load: &Load, context: &mut RunContext<'_>) {
    let Some(look) = looks.last() else { return };
    let before = looks.iter().rev().find(|b| look.at_s - b.at_s >= 1.0);
    let rate = before
        .or(looks.first())
        .map(|b| look.units.saturating_sub(b.units) as f64 / (look.at_s - b.at_s).max(1e-3));
    let of_units = load
        .end
        .units()
        .map(|units| look.units as f64 / units.max(1) as f64);
    let of_time = load
        .end
        .seconds()
        .map(|seconds| look.at_s / seconds.max(1e-3));
    let share = of_units.unwrap_or(0.0).max(of_time.unwrap_or(0.0));
    context.live(&Live {
        share: Some(share.min(1.0)),
        rate,
        rate_unit: format!("{}/s", load.unit),
        free_bytes: None,
    });
}
