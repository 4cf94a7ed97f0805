//! What sessions got before the process was killed, against what the database has after it.

use super::*;
use furrow_io::SystemVolume;
use std::io::{BufRead, BufReader};
use std::process::{Child, Command, Stdio};

/// Set in the process that is to be killed: the directory that it works in.
const TO_BE_KILLED: &str = "FURROW_ORDER_ENTRY_TO_BE_KILLED";

/// Runs the load and prints again and again how many new orders and payments were confirmed to sessions.
fn work_until_killed(root: &Path) {
    let volume: Arc<dyn Volume> = Arc::new(SystemVolume::new());
    let (target, population) = loaded_at((&volume, root), Scale::small(1), HotRows::Packed);
    let manner = Manner {
        calling: Calling::Procedures,
        churn: Churn::Off,
        has_pauses: false,
    };
    let work = OrderEntry::new(&target, "oe", population, manner, 79).unwrap();
    let (begun, stop) = (Clock::now(), &AtomicBool::new(false));
    thread::scope(|scope| {
        for place in 0..6 {
            let mut session = session_in(&target, "oe").unwrap();
            let mut job = work.open(place, session.as_mut()).unwrap();
            let body = move || {
                while !stop.load(Ordering::Relaxed) {
                    assert_eq!(job.next(session.as_mut(), Piece::now(1)), Ok(1));
                }
            };
            thread::spawn_scoped(scope, format!("user {place}"), body).unwrap();
        }
        // No process stays behind a test that was killed itself.
        while begun.elapsed_us() < 600_000_000 {
            let asked = work.asked();
            println!(
                "confirmed {} {} .",
                asked.new_orders,
                asked.of(Kind::Payment)
            );
            sleep(Duration::from_millis(1));
        }
        stop.store(true, Ordering::Relaxed);
    });
}

/// New orders and payments of a whole line of that process.
fn confirmed(line: &str) -> Option<(u64, u64)> {
    let (_, counts) = line.split_once("confirmed ")?;
    let (orders, payments) = counts.strip_suffix(" .")?.split_once(' ')?;
    Some((orders.parse().ok()?, payments.parse().ok()?))
}

#[test]
fn what_was_confirmed_before_a_kill_is_there_after_it() {
    if let Ok(root) = std::env::var(TO_BE_KILLED) {
        return work_until_killed(Path::new(&root));
    }
    struct Killed(Child);
    impl Drop for Killed {
        fn drop(&mut self) {
            self.0.kill().unwrap();
            self.0.wait().unwrap();
        }
    }
    let dir = tempfile::tempdir().unwrap();
    let name =
        "workloads::order_entry::tests::killed::what_was_confirmed_before_a_kill_is_there_after_it";
    let mut child = Command::new(std::env::current_exe().unwrap())
        .args(["--exact", name, "--nocapture", "--test-threads", "1"])
        .env(TO_BE_KILLED, dir.path())
        .stdout(Stdio::piped())
        .stderr(Stdio::null())
        .spawn()
        .unwrap();
    let lines = BufReader::new(child.stdout.take().unwrap()).lines();
    let mut lines = lines
        .map_while(Result::ok)
        .filter_map(|line| confirmed(&line));
    let killed = Killed(child);
    let enough = lines.find(|(orders, payments)| *orders >= 300 && *payments >= 300);
    drop(killed);
    // What it had still written is read, too.
    let enough = enough.expect("the process ended before it had confirmed 300 of both");
    let (orders, payments) = lines.last().unwrap_or(enough);
    let volume: Arc<dyn Volume> = Arc::new(SystemVolume::new());
    let target = started((&volume, dir.path()));
    let scale = Scale::small(1);
    assert_eq!(broken(&target, "oe", scale, Moment::Any).unwrap(), none());
    let found = totals(&target, "oe").unwrap();
    let districts = u64::from(scale.districts);
    let new_orders = found.next_orders - districts * u64::from(scale.customers + 1);
    assert!(
        new_orders >= orders,
        "{new_orders} orders are there of {orders}"
    );
    let paid = found.payments - districts * u64::from(scale.customers);
    assert!(paid >= payments, "{paid} payments are there of {payments}");
}
