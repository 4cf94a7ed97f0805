//! Connections that send the same text share its plans, as far as it means the same to them.

use super::{ok, run, server};
use furrow_sql::Kept;

#[test]
fn a_text_means_to_each_connection_what_it_would_mean_if_the_others_had_not_sent_it() {
    let server = server();
    let (mut a, mut b) = (server.connect().unwrap(), server.connect().unwrap());
    for (name, value) in [("one", 1), ("two", 2)] {
        ok(&mut a, &format!("CREATE DATABASE {name}"));
        ok(&mut a, &format!("CREATE TABLE {name}.dbo.t (a INT)"));
        ok(&mut a, &format!("INSERT {name}.dbo.t VALUES ({value})"));
    }
    a.execute("USE one", &mut Kept::default());
    b.execute("USE two", &mut Kept::default());
    let all = "SELECT * FROM t";
    let names = "SELECT DB_NAME(), @@SPID";
    for _ in 0..3 {
        assert_eq!(run(&mut a, all), "1");
        assert_eq!(run(&mut b, all), "2");
        let (mine, other) = (run(&mut a, names), run(&mut b, names));
        assert_eq!(mine, format!("one {}", a.id()));
        assert_eq!(other, format!("two {}", b.id()));
    }
    b.execute("USE one", &mut Kept::default());
    assert_eq!(run(&mut b, all), "1");
}

#[test]
fn settings_of_another_connection_do_not_change_what_a_text_gives() {
    let server = server();
    let (mut a, mut b) = (server.connect().unwrap(), server.connect().unwrap());
    ok(&mut b, "SET DATEFORMAT dmy; SET ANSI_NULLS OFF");
    ok(&mut a, "CREATE TABLE t (a INT); INSERT t VALUES (NULL)");
    let date = "SELECT MONTH('01/02/2020')";
    let null = "SELECT COUNT(*) FROM t WHERE a = NULL";
    for _ in 0..3 {
        assert_eq!(run(&mut a, date), "1");
        assert_eq!(run(&mut b, date), "2");
        assert_eq!(run(&mut a, null), "0");
        assert_eq!(run(&mut b, null), "1");
    }
}

#[test]
fn a_temporary_table_is_seen_in_the_same_text_by_its_own_connection_alone() {
    let server = server();
    let (mut a, mut b) = (server.connect().unwrap(), server.connect().unwrap());
    let all = "SELECT * FROM #t";
    ok(&mut a, "CREATE TABLE #t (a INT); INSERT #t VALUES (1)");
    assert_eq!(run(&mut a, all), "1");
    assert_eq!(run(&mut b, all), "Msg 208");
    ok(
        &mut b,
        "CREATE TABLE #t (x VARCHAR(5), y INT); INSERT #t VALUES ('b', 2)",
    );
    for _ in 0..3 {
        assert_eq!(run(&mut a, all), "1");
        assert_eq!(run(&mut b, all), "b 2");
    }
    let variable = "DECLARE @t TABLE (a INT); INSERT @t VALUES (@@SPID); SELECT * FROM @t";
    for _ in 0..3 {
        assert_eq!(run(&mut a, variable), a.id().to_string());
        assert_eq!(run(&mut b, variable), b.id().to_string());
    }
    ok(&mut a, "DROP TABLE #t");
    assert_eq!(run(&mut a, all), "Msg 208");
    assert_eq!(run(&mut b, all), "b 2");
}

#[test]
fn a_plan_of_another_connection_is_not_used_for_a_table_that_has_changed() {
    let server = server();
    let (mut a, mut b) = (server.connect().unwrap(), server.connect().unwrap());
    ok(&mut a, "CREATE TABLE t (a INT); INSERT t VALUES (1)");
    let all = "SELECT * FROM t";
    assert_eq!(run(&mut a, all), "1");
    assert_eq!(run(&mut b, all), "1");
    ok(&mut b, "ALTER TABLE t ADD b INT NOT NULL DEFAULT 7");
    assert_eq!(run(&mut b, all), "1 7");
    assert_eq!(run(&mut a, all), "1 7");
    ok(
        &mut a,
        "BEGIN TRANSACTION; DROP TABLE t; CREATE TABLE t (z INT)",
    );
    assert_eq!(run(&mut a, all), "");
    ok(&mut a, "ROLLBACK");
    assert_eq!(run(&mut b, all), "1 7");
    assert_eq!(run(&mut a, all), "1 7");
}

/// A plan refers to tables of its database, which cannot be dropped while a connection is in it.
#[test]
fn plans_that_connections_leave_behind_do_not_keep_a_database() {
    let server = server();
    let (mut a, mut b) = (server.connect().unwrap(), server.connect().unwrap());
    ok(&mut a, "CREATE DATABASE gone");
    for c in [&mut a, &mut b] {
        c.execute("USE gone", &mut Kept::default());
    }
    ok(&mut a, "CREATE TABLE t (a INT)");
    let all = "SELECT COUNT(*) FROM t";
    assert_eq!(
        (run(&mut a, all), run(&mut b, all)),
        ("0".into(), "0".into())
    );
    a.execute("USE master", &mut Kept::default());
    drop(b);
    ok(&mut a, "DROP DATABASE gone");
    ok(&mut a, "CREATE TABLE t (a INT); INSERT t VALUES (1), (2)");
    assert_eq!(run(&mut a, all), "2");
}

/// A long text is not stored: the addresses of its parts, and of what its statements parse, are used again.
#[test]
fn queries_that_a_statement_sends_itself_have_no_plans_of_the_text_around_it() {
    let mut c = server().connect().unwrap();
    for n in 0..6 {
        ok(
            &mut c,
            &format!(
                "CREATE TABLE t{n} (a INT); INSERT t{n} VALUES (-{n});
                 ALTER TABLE t{n} WITH NOCHECK ADD CONSTRAINT ck{n} CHECK (a > 10)"
            ),
        );
    }
    let checks: Vec<String> = (0..6)
        .map(|n| format!("DBCC CHECKCONSTRAINTS (t{n}) WITH NO_INFOMSGS; DBCC FREEPROCCACHE;"))
        .collect();
    let text = format!("/*{}*/ {}", "-".repeat(17 << 10), checks.join(" "));
    let found = run(&mut c, &text);
    for n in 0..6 {
        assert!(found.contains(&format!("[ck{n}]")), "ck{n}: {found}");
    }
}
