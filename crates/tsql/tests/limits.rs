//! Hostile sizes: deep nesting is refused, long texts take time in proportion.

use furrow_io::process::thread_cpu_ns;
use furrow_tsql::{Options, parse, print};

/// Number of the first error; 0 if there is none. A tree that was made is printed, compared and dropped too.
fn first_error(text: &str) -> u32 {
    match parse(text, Options::default()) {
        Ok(tree) => {
            assert_eq!(tree.clone(), tree);
            assert!(!print(&tree).is_empty());
            0
        }
        Err(errors) => errors.first().map_or(0, |e| e.number),
    }
}

fn nested(open: &str, inside: &str, close: &str, depth: usize) -> String {
    format!("{}{inside}{}", open.repeat(depth), close.repeat(depth))
}

#[test]
fn nesting_without_end_is_error_191_not_an_overflow() {
    let cases = [
        ("SELECT ", "(", "1", ")"),
        ("SELECT ", "- ", "1", ""),
        ("SELECT ", "~", "1", ""),
        ("SELECT ", "f(", "1", ")"),
        ("SELECT ", "CASE WHEN 1 = 1 THEN ", "1", " END"),
        ("SELECT ", "IIF(1 = 1, 1, ", "1", ")"),
        ("SELECT ", "(SELECT ", "1", ")"),
        ("SELECT ", "a AT TIME ZONE (", "1", ")"),
        ("SELECT 1 WHERE ", "NOT ", "1 = 1", ""),
        ("SELECT 1 WHERE ", "(", "1 = 1", ")"),
        ("SELECT 1 WHERE ", "1 = 1 AND (", "1 = 1", ")"),
        ("SELECT 1 WHERE ", "EXISTS (SELECT 1 WHERE ", "1 = 1", ")"),
        ("SELECT * FROM ", "(", "t", ")"),
        ("SELECT * FROM ", "(SELECT * FROM ", "t", ") a"),
        ("SELECT * FROM ", "a JOIN ", "b", " ON 1 = 1"),
        ("", "(", "SELECT 1", ")"),
        ("", "BEGIN ", "SELECT 1", " END"),
        ("", "IF 1 = 1 ", "SELECT 1", ""),
        ("", "IF 1 = 1 SELECT 1 ELSE ", "SELECT 1", ""),
        ("", "WHILE 1 = 1 ", "SELECT 1", ""),
        (
            "",
            "BEGIN TRY ",
            "SELECT 1",
            " END TRY BEGIN CATCH END CATCH",
        ),
        ("SELECT a FROM t GROUP BY ", "ROLLUP(", "a", ")"),
        ("ALTER DATABASE d SET QUERY_STORE ", "(a = ", "1", ")"),
    ];
    for (start, open, inside, close) in cases {
        let shallow = format!("{start}{}", nested(open, inside, close, 30));
        assert_eq!(first_error(&shallow), 0, "30 of {open:?} are refused");
        let deep = format!("{start}{}", nested(open, inside, close, 100_000));
        assert_eq!(first_error(&deep), 191, "100,000 of {open:?}");
        // As deep as it goes: what is accepted must be printable and droppable on this thread's stack.
        let mut most = 30;
        while first_error(&format!(
            "{start}{}",
            nested(open, inside, close, most + 10)
        )) == 0
        {
            most += 10;
        }
    }
}

#[test]
fn chains_without_end_are_error_191_or_flat() {
    let flat = [
        ("SELECT 1 WHERE 1 = 1", " AND 1 = 1"),
        ("SELECT 1 WHERE 1 = 1", " OR 1 = 1"),
    ];
    for (start, more) in flat {
        assert_eq!(
            first_error(&format!("{start}{}", more.repeat(50_000))),
            0,
            "{more}"
        );
    }
    assert_eq!(
        first_error(&format!("SELECT 1 WHERE a IN (1{})", ", 1".repeat(50_000))),
        0
    );
    let high = [
        ("SELECT 1", " + 1"),
        ("SELECT 'a'", " COLLATE x"),
        ("SELECT 1", " UNION ALL SELECT 1"),
        ("SELECT 1", " INTERSECT SELECT 1"),
        ("SELECT * FROM a", " CROSS JOIN b"),
        ("SELECT * FROM a", " PIVOT (MAX(x) FOR y IN ([1])) p"),
    ];
    for (start, more) in high {
        assert_eq!(
            first_error(&format!("{start}{}", more.repeat(500))),
            0,
            "{more}"
        );
        assert_eq!(
            first_error(&format!("{start}{}", more.repeat(50_000))),
            191,
            "{more}"
        );
    }
}

#[test]
fn chains_within_nests_do_not_add_up_beyond_the_limit() {
    let mut text = "1".to_string();
    for _ in 0..100 {
        text = format!("({text}){}", " + 1".repeat(400));
    }
    assert_eq!(first_error(&format!("SELECT {text}")), 191);
}

#[test]
fn time_grows_with_the_text_not_faster() {
    let shapes: [(&str, &str, &str); 7] = [
        (
            "",
            "SELECT a, b + 1 AS c FROM dbo.t WHERE x = 'y' AND z IN (1, 2);\n",
            "",
        ),
        ("SELECT 1 FROM t WHERE 1 = 1", " AND (a = 1 OR (b) = 2)", ""),
        ("SELECT a", ", a.b.c AS d, [x]]y]", ""),
        ("", "IF @a = 1 BEGIN SET @b = 1 END ELSE PRINT 'x' ", ""),
        ("/*", "/* -- ' */", "*/ SELECT 1"),
        ("SELECT '", "''", "'"),
        ("SELECT 1 + ", "((((", ""),
    ];
    for (start, more, end) in shapes {
        let text = |bytes: usize| format!("{start}{}{end}", more.repeat(bytes / more.len()));
        let time_us = |text: &str| {
            let best = (0..4).map(|_| {
                let begin = thread_cpu_ns();
                let _ = parse(text, Options::default());
                (thread_cpu_ns() - begin) / 1000
            });
            best.min().unwrap_or(0).max(50)
        };
        let (small, large) = (time_us(&text(64 << 10)), time_us(&text(2 << 20)));
        // 32 times the text: about 32 times the time, where a square would be 1,024; the rest is for busy
        // machines.
        assert!(
            large < small * 256,
            "{more:?}: {small} us for 64 KB, {large} us for 2 MB"
        );
    }
}
