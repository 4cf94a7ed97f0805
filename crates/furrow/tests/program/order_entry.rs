//! The order-entry load and `kill -9`: what is consistent after the database is opened again.

use super::shell_run::sql;
use super::*;
use furrow_experiments::workloads::order_entry::conditions;
use furrow_io::time::{Duration, sleep};
use std::io::{BufRead, BufReader};
use std::process::Stdio;

/// How often the process is killed, unless the test is asked for more.
const KILLS: u64 = 1;
const ASKED_KILLS: &str = "FURROW_KILLS";

/// Transactions after which sessions have had new orders for certain: eight decks have 104 other cards.
const ENOUGH: f64 = 200.0;
/// Seconds of the load at most.
const SECONDS: f64 = 60.0;

/// Transactions of run 1 by its progress: the rate of each look for the time since the one before.
fn done_so_far(lines: impl Iterator<Item = String>) -> impl Iterator<Item = f64> {
    let (mut done, mut before) = (0.0, 0.0);
    lines.filter_map(move |line| {
        let event: serde_json::Value = serde_json::from_str(&line).ok()?;
        if event["event"] != "live" || event["run"] != 1 {
            return None;
        }
        let (share, rate) = (event["share"].as_f64()?, event["rate"].as_f64()?);
        // The load of the tables has a share, and no rate.
        done += rate * SECONDS * (share - before).max(0.0);
        before = share;
        Some(done)
    })
}

/// Starts the load, kills the process after sessions have worked, and gives the directory of the run.
fn killed(out: &Path, after_ms: u64) -> PathBuf {
    let words = format!(
        "lab run users --users 8,9 --files 1 --churn on --warehouses 1 --seconds {SECONDS} \
         --json-progress --out"
    );
    let mut child = furrow()
        .args(words.split(' '))
        .arg(out)
        .stdout(Stdio::null())
        .stderr(Stdio::piped())
        .spawn()
        .unwrap();
    let lines = BufReader::new(child.stderr.take().unwrap()).lines();
    let mut done = done_so_far(lines.map_while(Result::ok));
    let has_worked = done.any(|done| done >= ENOUGH);
    sleep(Duration::from_millis(after_ms));
    child.kill().unwrap();
    child.wait().unwrap();
    assert!(has_worked, "the load did no {ENOUGH} transactions");
    let of_run = |name: &String| name.starts_with("lab_") && name.contains("_r1_");
    out.join(names(out).into_iter().find(of_run).unwrap())
}

#[test]
fn the_conditions_hold_after_a_kill_in_the_middle_of_the_load() {
    let asked = std::env::var(ASKED_KILLS).ok();
    let kills = asked.and_then(|n| n.parse().ok()).unwrap_or(KILLS);
    for kill in 0..kills {
        let dir = tempfile::tempdir().unwrap();
        let run = killed(&dir.path().join("out"), 37 * kill);
        let database = run.file_name().unwrap().to_str().unwrap();
        let mut script = format!("USE [{database}];\n");
        let queries = conditions::queries();
        for (number, query) in &queries {
            script += &format!("PRINT 'condition {number}';\n{query}\n");
        }
        script +=
            "SELECT CONCAT('new orders: ', SUM(d_next_o_id) - 30010) FROM dbo.district;\nGO\n";
        let output = sql(&run, &["-W"], &script);
        let (said, wrong) = (out(&output), err(&output));
        assert_eq!(output.status.code(), Some(0), "{said}{wrong}");
        let zeros = said.lines().filter(|line| line.trim() == "0").count();
        assert_eq!(zeros, queries.len(), "kill {kill}: {said}{wrong}");
        let orders = said
            .lines()
            .find_map(|line| line.trim().strip_prefix("new orders: "));
        let orders: u64 = orders.unwrap().trim().parse().unwrap();
        assert!(orders > 0, "the load had worked before the kill: {said}");
    }
}
