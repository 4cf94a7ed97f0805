use super::*;
use furrow_io::time::{Duration, Moment, sleep};
use std::sync::mpsc;

fn session(id: i32) -> (Arc<Instruments>, Arc<Task>) {
    let instruments = Instruments::new();
    let task = Task::new(&instruments, id, "test");
    (instruments, task)
}

#[test]
fn a_wait_is_charged_to_the_session_and_to_the_instance() {
    let (instruments, task) = session(51);
    let other = Task::new(&instruments, 52, "other");
    {
        let _guard = enter(&task);
        let wait = wait(WaitType::WriteLog, Resource::None);
        sleep(Duration::from_micros(2000));
        assert!(wait.finish() >= 2000);
    }
    {
        let _guard = enter(&other);
        wait(WaitType::WriteLog, Resource::None).finish();
    }
    let (mine, whole) = (
        task.waits().row(WaitType::WriteLog),
        instruments.waits.row(WaitType::WriteLog),
    );
    assert_eq!((mine.count, whole.count), (1, 2));
    assert!(mine.total_us >= 2000 && whole.total_us >= mine.total_us);
    assert_eq!(whole.max_us, mine.max_us);
    assert_eq!(other.waits().row(WaitType::WriteLog).count, 1);
}

#[test]
fn a_wait_under_way_is_listed_and_counted_but_not_timed() {
    let (instruments, task) = session(51);
    let _guard = enter(&task);
    let held = wait(
        WaitType::PageLatchUp,
        Resource::Page {
            db: 2,
            file: 1,
            page: 1,
        },
    );
    held.blocked_by(77);
    sleep(Duration::from_micros(1500));
    let list = instruments.tasks.waiting_tasks();
    assert_eq!(list.len(), 1);
    assert_eq!(
        (list[0].session_id, list[0].wait_type),
        (51, WaitType::PageLatchUp)
    );
    assert_eq!(
        (list[0].resource.as_str(), list[0].blocking_session_id),
        ("2:1:1", Some(77))
    );
    assert!(list[0].wait_duration_us >= 1500);
    let row = instruments.waits.row(WaitType::PageLatchUp);
    assert_eq!((row.count, row.total_us, row.max_us), (1, 0, 0));
    drop(held);
    assert!(instruments.tasks.waiting_tasks().is_empty());
    assert!(instruments.waits.row(WaitType::PageLatchUp).total_us >= 1500);
    assert_eq!(task.last_wait_type(), Some(WaitType::PageLatchUp));
}

#[test]
fn the_signal_part_runs_from_the_signal_to_the_end() {
    let (instruments, task) = session(51);
    let _guard = enter(&task);
    let before = Moment::now();
    let held = wait(WaitType::LckMX, Resource::lock("KEY: 5:720575 (a1b2)"));
    sleep(Duration::from_micros(3000));
    let signalled_at = Moment::now();
    sleep(Duration::from_micros(1000));
    let total_us = held.finish_signalled(signalled_at);
    let row = instruments.waits.row(WaitType::LckMX);
    assert_eq!(row.total_us, total_us);
    assert!(
        row.signal_us >= 1000 && row.resource_us() >= 3000,
        "{row:?}"
    );
    // A signal from before the wait makes all of it signal time, never more.
    wait(WaitType::LckMS, Resource::None).finish_signalled(before);
    let row = instruments.waits.row(WaitType::LckMS);
    assert_eq!(row.signal_us, row.total_us);
}

#[test]
fn a_wait_on_another_thread_is_seen_while_it_lasts() {
    let (instruments, task) = session(60);
    let (release, released) = mpsc::channel::<()>();
    let (ready, is_ready) = mpsc::channel();
    furrow_io::thread::scope(|scope| {
        let task = &task;
        scope.spawn(move || {
            let _guard = enter(task);
            let held = wait(WaitType::LckMIx, Resource::lock("OBJECT: 5:245575913"));
            ready.send(()).unwrap();
            released.recv().unwrap();
            held.finish();
        });
        is_ready.recv().unwrap();
        let list = instruments.tasks.waiting_tasks();
        assert_eq!(list.len(), 1);
        assert_eq!(list[0].resource, "OBJECT: 5:245575913");
        release.send(()).unwrap();
    });
    assert!(instruments.tasks.waiting_tasks().is_empty());
}

#[test]
fn guards_nest_and_give_the_thread_back() {
    let (instruments, outer) = session(51);
    let inner = Task::new(&instruments, 52, "inner");
    let guard = enter(&outer);
    {
        let _guard = enter(&inner);
        assert_eq!(current().session_id(), 52);
    }
    assert_eq!(current().session_id(), 51);
    drop(guard);
    assert_eq!(current().name(), "no task");
}

#[test]
fn a_thread_without_a_task_is_charged_to_the_process() {
    let before = Instruments::process()
        .waits
        .row(WaitType::DiskIoSuspend)
        .count;
    wait(WaitType::DiskIoSuspend, Resource::None).finish();
    assert_eq!(
        Instruments::process()
            .waits
            .row(WaitType::DiskIoSuspend)
            .count,
        before + 1
    );
}

#[test]
fn the_helpers_of_a_session_share_its_account_and_are_listed_apart() {
    let (instruments, task) = session(51);
    let child = task.child(3);
    let (outer, inner);
    {
        let _guard = enter(&task);
        outer = wait(WaitType::ExecSync, Resource::None);
    }
    {
        let _guard = enter(&child);
        inner = wait(WaitType::CxPacket, Resource::None);
    }
    let list = instruments.tasks.waiting_tasks();
    let seen: Vec<(i32, u16)> = list
        .iter()
        .map(|row| (row.session_id, row.exec_context_id))
        .collect();
    assert_eq!(seen, [(51, 0), (51, 3)]);
    drop((outer, inner));
    assert_eq!(task.waits().row(WaitType::CxPacket).count, 1);
    drop(child);
    assert_eq!(
        instruments.tasks.tasks().len(),
        1,
        "a task that ended is forgotten"
    );
}
