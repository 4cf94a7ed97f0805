//! Statements that want more memory than `ulimit -v` leaves: they succeed or are refused, and the process
//! goes on.

use super::*;

/// The limit in KB: the program itself takes about two thirds of it.
const LIMIT_KB: u32 = 320_000;

/// Hungry statements. Each keeps something else: rows, keys, groups, texts, trees of statements.
const HUNGRY: &[&str] = &[
    "SELECT value AS k, value * 7919 % 100003 AS n, REPLICATE('x', 90) AS p INTO #b \
     FROM GENERATE_SERIES(1, 200000) ORDER BY n",
    "SELECT COUNT(*) FROM (SELECT REPLICATE('x', 200) + STR(value) AS t, COUNT(*) AS c \
     FROM GENERATE_SERIES(1, 150000) GROUP BY REPLICATE('x', 200) + STR(value)) AS x",
    "SELECT COUNT(*) FROM (SELECT DISTINCT REPLICATE('x', 200) + STR(value) AS t \
     FROM GENERATE_SERIES(1, 150000)) AS x",
    "SELECT COUNT(*) FROM GENERATE_SERIES(1, 150000) AS a JOIN (SELECT value, REPLICATE('x', 300) AS p \
     FROM GENERATE_SERIES(1, 150000)) AS b ON a.value = b.value WHERE LEN(b.p) > 1",
    "SELECT COUNT(*) FROM (SELECT SUM(value * 1.0) OVER () AS s, REPLICATE('x', 300) AS p \
     FROM GENERATE_SERIES(1, 150000)) AS x WHERE LEN(p) > 1",
    "SELECT LEN(STRING_AGG(CAST(REPLICATE('x', 900) AS VARCHAR(MAX)), ',') \
     WITHIN GROUP (ORDER BY value DESC)) FROM GENERATE_SERIES(1, 150000)",
    "DECLARE @x NVARCHAR(MAX) = (SELECT value, REPLICATE('x', 900) AS p \
     FROM GENERATE_SERIES(1, 100000) FOR XML PATH('r'))",
    "DECLARE @x NVARCHAR(MAX) = (SELECT value, REPLICATE('x', 900) AS p \
     FROM GENERATE_SERIES(1, 100000) FOR JSON PATH)",
    "DECLARE @s VARCHAR(MAX) = 'x', @i INT = 0; WHILE @i < 31 BEGIN SET @s = @s + @s; SET @i += 1 END",
    "DECLARE @s NVARCHAR(MAX) = 'x', @i INT = 0; \
     WHILE @i < 30 BEGIN SET @s = CONCAT(@s, @s); SET @i += 1 END",
    "DECLARE @s VARCHAR(MAX) = REPLICATE(CAST('x' AS VARCHAR(MAX)), 2000000000)",
    "SELECT LEN(STRING_ESCAPE(REPLICATE(CAST(CHAR(1) AS VARCHAR(MAX)), 30000000), 'json'))",
    "SELECT LEN(REPLACE(REPLICATE(CAST('ab' AS VARCHAR(MAX)), 15000000), 'a', 'xyz'))",
    "SELECT COUNT(DISTINCT value) FROM STRING_SPLIT(REPLICATE(CAST('ab,' AS VARCHAR(MAX)), 9000000), ',')",
    "SELECT COUNT(*) FROM OPENJSON('[' + REPLICATE(CAST('{\"a\":1},' AS VARCHAR(MAX)), 2000000) + '1]')",
    "SELECT COUNT(*) FROM (SELECT TOP (20) REPLICATE(CAST('x' AS VARCHAR(MAX)), 10000000) + STR(value) AS b \
     FROM GENERATE_SERIES(1, 20) ORDER BY b DESC) AS q",
    "CREATE TABLE t1 (a INT PRIMARY KEY, b CHAR(200)); \
     INSERT t1 SELECT value, 'x' FROM GENERATE_SERIES(1, 60000); \
     UPDATE t1 SET b = 'y' OUTPUT deleted.b; UPDATE t1 SET a = a + 1; CREATE INDEX i ON t1 (b, a); \
     MERGE t1 USING (SELECT value FROM GENERATE_SERIES(1, 60000)) AS s ON s.value = t1.a + 30000 \
     WHEN MATCHED THEN UPDATE SET b = 'z' WHEN NOT MATCHED THEN INSERT VALUES (value + 1000000, 'n') \
     WHEN NOT MATCHED BY SOURCE THEN DELETE; DELETE t1",
    "DECLARE @q VARCHAR(MAX) = 'SELECT 1 WHERE 1 IN (1' + REPLICATE(CAST(',1' AS VARCHAR(MAX)), 3000000); \
     SET @q += ')'; EXEC (@q)",
    "DECLARE @q VARCHAR(MAX) = REPLICATE(CAST('SELECT 1;' AS VARCHAR(MAX)), 1000000); EXEC (@q)",
];

#[test]
#[cfg(target_os = "linux")]
fn hungry_statements_succeed_or_are_refused_under_a_limit_of_the_address_space() {
    let mut refused = 0;
    for statement in HUNGRY {
        let dir = tempfile::tempdir().unwrap();
        let script = dir.path().join("hungry.sql");
        let text_of = format!("SET NOCOUNT ON\nGO\n{statement}\nGO\nPRINT 'alive'\nGO\n");
        furrow_io::write_file(&SystemVolume::new(), &script, text_of.as_bytes()).unwrap();
        let output = Command::new("sh")
            .arg("-c")
            .arg(format!(
                "ulimit -v {LIMIT_KB}; exec \"$0\" sql --pool 8MB --instance \"$1\" -i \"$2\""
            ))
            .arg(env!("CARGO_BIN_EXE_furrow"))
            .args([dir.path().join("i"), script])
            .output()
            .unwrap();
        let shown = out(&output) + &err(&output);
        assert_eq!(
            output.status.code(),
            Some(0),
            "{statement}: {}",
            tail(&shown)
        );
        assert!(shown.contains("alive"), "{statement}: {}", tail(&shown));
        let mut messages = shown.lines().filter(|line| line.starts_with("Msg "));
        for line in messages.clone() {
            assert!(line.starts_with("Msg 701,"), "{statement}: {line}");
        }
        refused += usize::from(messages.next().is_some());
    }
    // The limit is one: some of them find too little, and not all.
    println!("{refused} of {} were refused", HUNGRY.len());
    assert!((1..HUNGRY.len()).contains(&refused));
}

fn tail(text: &str) -> &str {
    let from = text.len().saturating_sub(400);
    text.get(from..).unwrap_or(text)
}
