//! Statements that need more than the process may have: memory under `ulimit -v`, stack of the main thread.

use super::*;
use furrow_io::thread::spawn_named;
use std::io::Write;
use std::process::Stdio;

#[path = "../../../sql/tests/support/nesting.rs"]
mod nesting;

/// Runs a script in a process whose address space has so many KB.
fn limited(kib: &str, script: String) -> Output {
    let dir = tempfile::tempdir().unwrap();
    let program = env!("CARGO_BIN_EXE_furrow");
    let command = format!(
        "ulimit -v {kib}; exec '{program}' sql --pool 16MB --instance '{}'",
        text(dir.path())
    );
    let mut child = Command::new("sh")
        .args(["-c", &command])
        .env("NO_COLOR", "1")
        .stdin(Stdio::piped())
        .stdout(Stdio::piped())
        .stderr(Stdio::piped())
        .spawn()
        .unwrap();
    let mut input = child.stdin.take().unwrap();
    let writer = spawn_named("script", move || input.write_all(script.as_bytes()));
    let output = child.wait_with_output().unwrap();
    // A process that died reads no more: its output tells.
    let _ = writer.unwrap().join().unwrap();
    output
}

/// Statements that keep all they get; none of them can go through files, or not all of it.
const HUNGRY: &[&str] = &[
    "SELECT k, n INTO #big FROM $BIG ORDER BY n",
    "SELECT LEN((SELECT k, n FROM $BIG FOR JSON PATH))",
    "SELECT LEN((SELECT k, n FROM $BIG FOR XML PATH('r')))",
    "SELECT LEN(STRING_AGG(CAST(k AS VARCHAR(MAX)), ',')) FROM $BIG",
    "SELECT LEN(STRING_AGG(CAST(k AS VARCHAR(MAX)), ',') WITHIN GROUP (ORDER BY n)) FROM $BIG",
    "DECLARE @t VARCHAR(MAX) = REPLICATE(CAST('x' AS VARCHAR(MAX)), 2000000000); SELECT LEN(@t)",
    "DECLARE @t VARCHAR(MAX) = 'x'; WHILE 1 = 1 SET @t = @t + @t",
    "DECLARE @t VARCHAR(MAX) = REPLICATE(CAST('x' AS VARCHAR(MAX)), 60000000);
     SELECT LEN(UPPER(REVERSE(@t + @t))), LEN(CAST(@t AS NVARCHAR(MAX)))",
    "SELECT COUNT(*) FROM STRING_SPLIT(REPLICATE(CAST('a,' AS VARCHAR(MAX)), 30000000), ',')",
    "SELECT COUNT(*) FROM OPENJSON('[1' + REPLICATE(CAST(',1' AS VARCHAR(MAX)), 30000000) + ']')",
    "WITH r AS (SELECT 1 AS n UNION ALL SELECT r.n + 1 FROM r JOIN $BIG ON x.n < 900 WHERE r.n < 3)
     SELECT COUNT(*) FROM r OPTION (MAXRECURSION 0)",
];

#[test]
fn a_statement_that_needs_more_than_ulimit_allows_fails_with_701_and_the_session_goes_on() {
    const BIG: &str = "(SELECT a.value * 2000 + b.value AS k, a.value AS n
        FROM GENERATE_SERIES(1, 2000) a CROSS JOIN GENERATE_SERIES(1, 2000) b) AS x";
    for sql in HUNGRY {
        let sql = sql.replace("$BIG", BIG);
        let script = format!("SET NOCOUNT ON\nGO\n{sql}\nGO\nPRINT 'alive'\nGO\n");
        let output = limited("700000", script);
        let shown = out(&output) + &err(&output);
        assert!(
            shown.contains("alive"),
            "{sql}\n{:?}\n{shown}",
            output.status
        );
        println!("{}: {sql}", shown.contains("Msg 701, Level 17"));
        // Some find room in files.
        let errors = shown.lines().filter(|line| line.starts_with("Msg "));
        assert!(
            errors
                .clone()
                .all(|line| line.starts_with("Msg 701, Level 17")),
            "{sql}\n{shown}"
        );
    }
}

#[test]
fn nesting_of_every_kind_works_or_is_refused_on_the_main_thread() {
    for depth in [nesting::WORKS, 2500] {
        let batches = nesting::shapes(depth)
            .into_iter()
            .flat_map(|(_, batches)| batches);
        let script: String = batches.map(|batch| batch + "\nGO\n").collect();
        let output = limited("unlimited", script);
        assert_eq!(output.status.code(), Some(0), "{depth}: {}", err(&output));
        let shown = out(&output) + &err(&output);
        let numbers = shown.lines().filter_map(|line| line.strip_prefix("Msg "));
        let numbers = numbers.filter_map(|line| line.split(',').next()?.parse::<u32>().ok());
        for number in numbers {
            // A view over one that was refused is not there.
            let refused = nesting::REFUSALS.contains(&number) || number == 208;
            assert!(depth > nesting::WORKS && refused, "{number}");
        }
    }
}
