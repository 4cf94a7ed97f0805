//! The live tasks of an instance, and which of them wait.

use super::Task;
use crate::waits::WaitType;
use furrow_io::sync::Mutex;
use furrow_io::time::Moment;
use std::collections::BTreeMap;
use std::sync::{Arc, Weak};

/// The live tasks of an instance.
#[derive(Debug, Default)]
pub struct Registry {
    tasks: Mutex<BTreeMap<u64, Weak<Task>>>,
}

/// A wait under way, as the view of waiting tasks shows it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct WaitingTask {
    /// The task.
    pub task_id: u64,
    /// Its session.
    pub session_id: i32,
    /// Which thread of the session.
    pub exec_context_id: u16,
    /// What the task is called.
    pub task_name: String,
    /// How long it has waited by now.
    pub wait_duration_us: u64,
    /// What kind of wait.
    pub wait_type: WaitType,
    /// What it waits for: `db:file:page` for a page, the class of a latch, the name of a lock.
    pub resource: String,
    /// The session that holds it, if known.
    pub blocking_session_id: Option<i32>,
}

impl Registry {
    pub(super) fn add(&self, task: &Arc<Task>) {
        self.tasks.lock().insert(task.id, Arc::downgrade(task));
    }

    pub(super) fn forget(&self, id: u64) {
        self.tasks.lock().remove(&id);
    }

    /// The live tasks, oldest first.
    pub fn tasks(&self) -> Vec<Arc<Task>> {
        // The references leave the lock before any of them can be the last one: a task's drop
        // takes the same lock.
        let weak: Vec<Weak<Task>> = self.tasks.lock().values().cloned().collect();
        weak.iter().filter_map(Weak::upgrade).collect()
    }

    /// The waits under way, by task, outer waits before inner ones. Taken task by task: not one moment
    /// of the whole instance.
    pub fn waiting_tasks(&self) -> Vec<WaitingTask> {
        let mut list = Vec::new();
        for task in self.tasks() {
            let waits = task.under_way.lock().waits.clone();
            let now = Moment::now();
            list.extend(waits.into_iter().map(|wait| WaitingTask {
                task_id: task.id,
                session_id: task.session_id,
                exec_context_id: task.exec_context_id,
                task_name: task.name.clone(),
                wait_duration_us: now.since_us(wait.since),
                wait_type: wait.kind,
                resource: wait.resource.to_string(),
                blocking_session_id: wait.blocking_session_id,
            }));
        }
        list
    }
}
