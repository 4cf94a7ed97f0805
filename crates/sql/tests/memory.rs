//! What statements keep in memory has a limit: rows beyond it go through files, what can't is refused, and
//! nothing else suffers.

#![expect(clippy::unwrap_used, reason = "tests fail by panicking")]

use furrow_engine::{Instance, InstanceConfig};
use furrow_io::{Access, MemoryVolume, Open, Volume};
use furrow_sql::{Connection, Kept, Server};
use furrow_types::Value;
use std::path::{Path, PathBuf};
use std::sync::Arc;

const ROWS: i64 = 4000;

fn connect() -> Connection {
    let config = InstanceConfig {
        pool_pages: 2048,
        ..InstanceConfig::default()
    };
    let server = Server::start(Instance::in_memory(config).unwrap()).unwrap();
    let mut connection = server.connect().unwrap();
    fill(&mut connection);
    connection
}

fn fill(connection: &mut Connection) {
    run(
        connection,
        "CREATE TABLE t (id INT NOT NULL, v VARCHAR(100) NOT NULL)",
    );
    for from in (0..ROWS).step_by(1000) {
        let row = |n: i64| format!("({n}, '{n:0100}')");
        let rows: Vec<String> = (from..from + 1000).map(row).collect();
        run(
            connection,
            &format!("INSERT INTO t VALUES {}", rows.join(",")),
        );
    }
}

/// The first number of the first row, or the number of the first error, negative.
fn run(connection: &mut Connection, sql: &str) -> Option<i64> {
    let mut kept = Kept::default();
    connection.execute(sql, &mut kept);
    if let Some(error) = kept.errors().first() {
        return Some(-i64::from(error.number));
    }
    kept.sets.first()?.rows.first()?.first()?.as_i64()
}

/// All rows of the last result, or the number of the first error.
fn rows(connection: &mut Connection, sql: &str) -> Result<Vec<Vec<Value>>, u32> {
    let mut kept = Kept::default();
    connection.execute(sql, &mut kept);
    match kept.errors().first() {
        Some(error) => Err(error.number),
        None => Ok(kept.sets.pop().unwrap_or_default().rows),
    }
}

fn in_any_order(rows: Result<Vec<Vec<Value>>, u32>) -> Vec<String> {
    let mut lines: Vec<String> = rows.unwrap().iter().map(|r| format!("{r:?}")).collect();
    lines.sort();
    lines
}

/// Queries that keep more than a small grant has room for, in no order of their own.
const KEEPERS: &[&str] = &[
    "SELECT v, COUNT(*), MIN(id), SUM(id) FROM t GROUP BY v",
    "SELECT v, COUNT(*) FROM t GROUP BY GROUPING SETS ((v), (v, id), ())",
    "SELECT v, id % 7, COUNT(*) FROM t GROUP BY ROLLUP (v, id % 7)",
    "SELECT DISTINCT v FROM t",
    "SELECT v FROM t UNION SELECT v FROM t",
    "SELECT v FROM t EXCEPT SELECT v FROM t WHERE id % 3 = 0",
    "SELECT v FROM t INTERSECT SELECT v FROM t WHERE id % 3 = 0",
    "SELECT v FROM (SELECT v FROM t UNION ALL SELECT v FROM t) AS u EXCEPT SELECT v FROM t WHERE id > 50",
    "SELECT a.id, b.v FROM t AS a JOIN t AS b ON a.v = b.v",
    "SELECT a.id, b.id FROM t AS a LEFT JOIN t AS b ON a.v = b.v AND b.id % 2 = 0",
    "SELECT a.id, b.id FROM t AS a FULL JOIN t AS b ON a.id = b.id + 1000 AND a.v <> b.v",
    "SELECT a.id, b.id FROM t AS a RIGHT JOIN t AS b ON a.id = b.id * 2",
    "SELECT a.id, b.id FROM (SELECT id FROM t WHERE id < 3) AS a LEFT JOIN t AS b ON b.id < a.id",
    "SELECT COUNT(DISTINCT v), COUNT(*), SUM(DISTINCT id) FROM t",
    "SELECT id % 2, COUNT(DISTINCT v), MAX(v) FROM t GROUP BY id % 2",
    "SELECT id, COUNT(DISTINCT v) FROM t GROUP BY id",
    "SELECT id, ROW_NUMBER() OVER (ORDER BY v DESC), RANK() OVER (ORDER BY v DESC) FROM t",
    "SELECT id FROM t WHERE v IN (SELECT v FROM t WHERE id % 40 = 0) AND id < 50",
    "SELECT id, DENSE_RANK() OVER (PARTITION BY id % 5 ORDER BY v),
        SUM(id) OVER (PARTITION BY id % 1000), LAG(id) OVER (PARTITION BY id % 1000 ORDER BY id) FROM t",
    // Partitions that find no room themselves.
    "SELECT id, SUM(id) OVER (), COUNT(*) OVER (PARTITION BY id % 2), \
     MAX(v) OVER (PARTITION BY id % 2) FROM t",
    "SELECT id, SUM(id) OVER (ORDER BY v), AVG(id) OVER (ORDER BY id % 50), \
     NTILE(7) OVER (ORDER BY v) FROM t",
    "SELECT id, LAG(v, 3, 'none') OVER (ORDER BY id), LEAD(id, id % 1500) OVER (ORDER BY id) FROM t",
    "SELECT id, MIN(v) OVER (ORDER BY id ROWS BETWEEN 2 PRECEDING AND 700 FOLLOWING) FROM t WHERE id < 3000",
    "SELECT id, FIRST_VALUE(v) OVER (ORDER BY v DESC), LAST_VALUE(id) OVER (ORDER BY v ROWS BETWEEN
        CURRENT ROW AND UNBOUNDED FOLLOWING), RANK() OVER (ORDER BY id % 9),
        CUME_DIST() OVER (ORDER BY id % 9), PERCENT_RANK() OVER (ORDER BY id % 9) FROM t",
    "SELECT id, COUNT(*) OVER (PARTITION BY id / 3990 ORDER BY v RANGE UNBOUNDED PRECEDING) FROM t",
    "SELECT id, SUM(id) OVER (ORDER BY v ROWS BETWEEN CURRENT ROW AND UNBOUNDED FOLLOWING), \
     MAX(v) OVER (ORDER BY v ROWS BETWEEN 900 PRECEDING AND 900 FOLLOWING), \
     AVG(id) OVER (ORDER BY id % 90 RANGE BETWEEN CURRENT ROW AND UNBOUNDED FOLLOWING) FROM t",
    // Rows that find room, and values of theirs that do not.
    "SELECT id, LEN(MAX(w) OVER ()), COUNT(*) OVER (PARTITION BY id % 2) FROM (SELECT id, \
     CASE WHEN id = 7 THEN REPLICATE(CAST('x' AS VARCHAR(MAX)), 20000) END AS w FROM t WHERE id < 300) AS u",
];

/// Queries that keep as much, in an order of their own.
const SORTERS: &[&str] = &[
    "SELECT id, v FROM t ORDER BY v DESC",
    "SELECT id FROM t ORDER BY id % 10, v",
    "SELECT TOP 3500 id FROM t ORDER BY v DESC",
    "SELECT TOP 60 PERCENT id FROM t ORDER BY v",
    "SELECT id FROM t ORDER BY v OFFSET 1000 ROWS FETCH NEXT 2500 ROWS ONLY",
    "SELECT v, COUNT(*) FROM t GROUP BY v ORDER BY v",
    "SELECT a.v, b.id FROM t AS a JOIN t AS b ON a.v = b.v ORDER BY b.v DESC",
];

#[test]
fn what_finds_no_room_in_memory_goes_through_files_and_gives_the_same_rows() {
    let mut connection = connect();
    for sql in KEEPERS {
        let expected = in_any_order(rows(&mut connection, sql));
        connection.limit_query_memory(200_000);
        assert_eq!(in_any_order(rows(&mut connection, sql)), expected, "{sql}");
        connection.limit_query_memory(50_000);
        assert_eq!(in_any_order(rows(&mut connection, sql)), expected, "{sql}");
        connection.limit_query_memory(50_000_000);
    }
    for sql in SORTERS {
        let expected = rows(&mut connection, sql);
        connection.limit_query_memory(200_000);
        assert_eq!(rows(&mut connection, sql), expected, "{sql}");
        connection.limit_query_memory(50_000_000);
    }
}

#[test]
fn rows_with_equal_keys_stay_in_order_through_files() {
    let mut connection = connect();
    connection.limit_query_memory(200_000);
    let found = rows(&mut connection, "SELECT id % 3, id FROM t ORDER BY id % 3").unwrap();
    let mut expected: Vec<i64> = (0..ROWS).collect();
    expected.sort_by_key(|id| id % 3);
    let ids: Vec<i64> = found.iter().filter_map(|row| row[1].as_i64()).collect();
    assert_eq!(ids, expected);
}

fn spilled(volume: &dyn Volume) -> usize {
    let files = volume.list(Path::new("/instance")).unwrap();
    let is_spilled = |path: &&PathBuf| path.to_string_lossy().contains("tempdb_spill_");
    files.iter().filter(is_spilled).count()
}

#[test]
fn files_of_rows_go_with_their_statement_and_leftovers_at_the_next_start() {
    let volume: Arc<dyn Volume> = Arc::new(MemoryVolume::new());
    volume.create_dir(Path::new("/instance")).unwrap();
    let start = || {
        let config = InstanceConfig {
            pool_pages: 2048,
            directory: Some("/instance".into()),
            ..InstanceConfig::default()
        };
        let instance = Instance::start(Arc::clone(&volume), config).unwrap();
        (Arc::clone(&instance), Server::start(instance).unwrap())
    };
    let (instance, server) = start();
    let mut connection = server.connect().unwrap();
    fill(&mut connection);
    connection.limit_query_memory(200_000);
    let all = "SELECT id FROM t ORDER BY v DESC";
    assert_eq!(run(&mut connection, all), Some(ROWS - 1));
    let fails = "SELECT 1 / (id - 7) FROM t ORDER BY v DESC";
    assert_eq!(run(&mut connection, fails), Some(-8134));
    assert_eq!(spilled(&*volume), 0);
    drop((connection, server));
    instance.shut_down().unwrap();
    drop(instance);
    let left = Path::new("/instance/tempdb_spill_1.tmp");
    drop(volume.open(left, Open::Create, Access::Data).unwrap());
    assert_eq!(spilled(&*volume), 1);
    let _again = start();
    assert_eq!(spilled(&*volume), 0);
}

#[test]
fn the_first_of_many_sorted_rows_take_little() {
    let mut connection = connect();
    connection.limit_query_memory(200_000);
    let first = "SELECT TOP 5 id FROM t ORDER BY v DESC";
    assert_eq!(run(&mut connection, first), Some(ROWS - 1));
    let page = "SELECT id FROM t ORDER BY v OFFSET 100 ROWS FETCH NEXT 5 ROWS ONLY";
    assert_eq!(run(&mut connection, page), Some(100));
}

#[test]
fn what_cannot_go_through_files_is_refused_and_the_connection_goes_on() {
    let mut connection = connect();
    let list =
        "SELECT LEN(STRING_AGG(CAST(id AS VARCHAR(MAX)), '') WITHIN GROUP (ORDER BY v)) FROM t";
    let expected = run(&mut connection, list);
    assert_eq!(expected, Some(10 + 180 + 2700 + 12_000));
    connection.limit_query_memory(200_000);
    assert_eq!(run(&mut connection, list), Some(-701));
    // What it had kept is given back.
    assert_eq!(run(&mut connection, "SELECT COUNT(*) FROM t"), Some(ROWS));
    let few = "SELECT COUNT(*) FROM (SELECT DISTINCT id % 10 AS d FROM t) AS x";
    assert_eq!(run(&mut connection, few), Some(10));
    connection.limit_query_memory(50_000_000);
    assert_eq!(run(&mut connection, list), expected);
}

#[test]
fn a_statement_that_is_refused_leaves_nothing_behind() {
    let mut connection = connect();
    connection.limit_query_memory(200_000);
    assert_eq!(
        run(
            &mut connection,
            "INSERT INTO t SELECT 1, STRING_AGG(CAST(v AS VARCHAR(MAX)), '') WITHIN GROUP (ORDER BY v) FROM t"
        ),
        Some(-701)
    );
    assert_eq!(run(&mut connection, "SELECT COUNT(*) FROM t"), Some(ROWS));
}

#[test]
fn a_window_in_no_order_gives_the_first_rows_of_many_and_keeps_none() {
    let mut connection = connect();
    connection.limit_query_memory(50_000);
    let first = |connection: &mut Connection, what: &str| {
        // 64,000,000,000 rows.
        let sql = format!("SELECT TOP (10) {what} FROM t a CROSS JOIN t b CROSS JOIN t c");
        rows(connection, &sql)
    };
    let numbers = |from: i64| -> Vec<Vec<Value>> {
        (from..from + 10).map(|n| vec![Value::BigInt(n)]).collect()
    };
    let found = first(
        &mut connection,
        "ROW_NUMBER() OVER (ORDER BY (SELECT NULL))",
    );
    assert_eq!(found, Ok(numbers(1)));
    let found = first(
        &mut connection,
        "ROW_NUMBER() OVER (PARTITION BY 1 + 1 ORDER BY @@SPID)",
    );
    assert_eq!(found, Ok(numbers(1)));
    let one = vec![vec![Value::BigInt(1), Value::BigInt(1)]; 10];
    let ranks = "RANK() OVER (ORDER BY (SELECT 1)), DENSE_RANK() OVER (ORDER BY (SELECT NULL))";
    assert_eq!(first(&mut connection, ranks), Ok(one));
    let running = "COUNT_BIG(*) OVER (ORDER BY (SELECT NULL) ROWS UNBOUNDED PRECEDING)";
    assert_eq!(first(&mut connection, running), Ok(numbers(1)));
    let lag = "LAG(c.id, 2, -5) OVER (ORDER BY (SELECT NULL)), FIRST_VALUE(c.id) OVER (ORDER BY (SELECT 0))";
    let found = first(&mut connection, lag).unwrap();
    let (last, first_value): (Vec<i64>, Vec<i64>) = found
        .iter()
        .map(|row| (row[0].as_i64().unwrap(), row[1].as_i64().unwrap()))
        .unzip();
    assert_eq!(last, [-5, -5, 0, 1, 2, 3, 4, 5, 6, 7]);
    assert_eq!(first_value, [0; 10]);
}

#[test]
fn a_window_in_the_order_of_an_index_gives_what_one_that_sorts_gives() {
    let mut connection = connect();
    run(
        &mut connection,
        "CREATE TABLE o (g INT NOT NULL, n INT NOT NULL, v INT NULL, PRIMARY KEY (g, n DESC))",
    );
    run(
        &mut connection,
        "INSERT INTO o SELECT id % 7, id, CASE WHEN id % 3 > 0 THEN id % 11 END FROM t",
    );
    let calls = "ROW_NUMBER() OVER (PARTITION BY g ORDER BY n DESC),
        RANK() OVER (PARTITION BY g ORDER BY n DESC),
        DENSE_RANK() OVER (ORDER BY g), LAG(v, 3, -1) OVER (PARTITION BY g ORDER BY n DESC),
        SUM(v) OVER (PARTITION BY g ORDER BY n DESC ROWS UNBOUNDED PRECEDING),
        FIRST_VALUE(n) OVER (PARTITION BY g ORDER BY n DESC),
        LAST_VALUE(v) OVER (PARTITION BY g ORDER BY n DESC ROWS UNBOUNDED PRECEDING)";
    let by_index = format!("SELECT g, n, {calls} FROM o");
    let sorted =
        format!("SELECT g, n, {calls} FROM (SELECT TOP 10000 g, n, v FROM o ORDER BY v, n) AS o");
    let expected = in_any_order(rows(&mut connection, &sorted));
    assert_eq!(in_any_order(rows(&mut connection, &by_index)), expected);
    let backward = by_index
        .replace("n DESC", "n")
        .replace("ORDER BY g", "ORDER BY g DESC");
    let expected = sorted
        .replace("n DESC", "n")
        .replace("ORDER BY g", "ORDER BY g DESC");
    let expected = in_any_order(rows(&mut connection, &expected));
    assert_eq!(in_any_order(rows(&mut connection, &backward)), expected);
}

/// What runs on `big`, and the sum over its rows after that.
const CHANGES: &[(&str, &str)] = &[
    ("UPDATE big SET v = v + 'x'", "SELECT SUM(LEN(v)) FROM big"),
    ("UPDATE big SET id = id + 1", "SELECT SUM(id * 3) FROM big"),
    (
        "UPDATE big SET id = 4001 - id",
        "SELECT SUM(id * (id % 7)) FROM big",
    ),
    (
        "UPDATE b SET v = a.v + 'y' FROM big AS b JOIN t AS a ON a.id % 500 = b.id % 500",
        "SELECT SUM(LEN(v)) FROM big",
    ),
    (
        "UPDATE big SET v = 'out' OUTPUT deleted.v, inserted.id INTO seen",
        "SELECT COUNT(*) + SUM(id) + SUM(LEN(v)) FROM seen",
    ),
    (
        "DELETE b OUTPUT deleted.v, deleted.id INTO seen FROM big AS b JOIN t ON t.id % 900 = b.id",
        "SELECT (SELECT COUNT(*) FROM big) * 100000 + (SELECT COUNT(*) FROM seen)",
    ),
    ("DELETE big WHERE id % 2 = 0", "SELECT SUM(id) FROM big"),
    (
        "MERGE big USING (SELECT id, v FROM t WHERE id < 3000) AS s ON big.id = s.id
         WHEN MATCHED AND s.id % 3 = 0 THEN DELETE
         WHEN MATCHED THEN UPDATE SET id = 20000 - big.id, v = 'changed'
         WHEN NOT MATCHED BY SOURCE AND big.id % 2 = 0 THEN UPDATE SET v = 'alone'
         OUTPUT inserted.v, ISNULL(inserted.id, deleted.id) INTO seen;",
        "SELECT SUM(id % 100 * LEN(v)) + (SELECT SUM(id % 100 * LEN(v)) FROM seen WHERE v IS NOT NULL)
             FROM big",
    ),
    (
        "MERGE big USING (SELECT id + 2000 AS id, v FROM t) AS s ON big.id = s.id
         WHEN NOT MATCHED THEN INSERT VALUES (s.id, s.v) OUTPUT inserted.v, s.id INTO seen;",
        "SELECT SUM(id % 100 * LEN(v)) + (SELECT SUM(id % 100 * LEN(v)) FROM seen) FROM big",
    ),
    (
        "INSERT seen (id, v) EXEC ('SELECT id, v FROM t; SELECT id + 10000, v FROM t')",
        "SELECT SUM(id % 100 * LEN(v)) FROM seen",
    ),
];

#[test]
fn rows_that_a_statement_changes_go_through_files_where_they_find_no_room() {
    let outcome = |statement: &str, sum: &str, most: Option<usize>| {
        let mut connection = connect();
        run(
            &mut connection,
            "CREATE TABLE big (id INT NOT NULL PRIMARY KEY, v VARCHAR(120) NOT NULL);
             CREATE TABLE seen (v VARCHAR(120), id INT);
             INSERT INTO big SELECT id, v FROM t",
        );
        if let Some(most) = most {
            connection.limit_query_memory(most);
        }
        let mut kept = Kept::default();
        connection.execute(statement, &mut kept);
        assert!(kept.errors().is_empty(), "{statement}: {:?}", kept.errors());
        let rows = kept.counts.last().copied();
        connection.limit_query_memory(50_000_000);
        (rows, run(&mut connection, sum))
    };
    for (statement, sum) in CHANGES {
        let expected = outcome(statement, sum, None);
        assert!(expected.1.is_some_and(|sum| sum > 0), "{statement}");
        for most in [200_000, 20_000] {
            assert_eq!(outcome(statement, sum, Some(most)), expected, "{statement}");
        }
    }
}

#[test]
fn long_values_of_variables_count_until_others_take_their_place() {
    let mut connection = connect();
    connection.limit_query_memory(3_000_000);
    let long = "REPLICATE(CAST('x' AS VARCHAR(MAX)), 1000000)";
    let two = format!("DECLARE @a VARCHAR(MAX) = {long}, @b VARCHAR(MAX) = {long}");
    assert_eq!(
        run(&mut connection, &format!("{two}; SELECT LEN(@a + @b)")),
        Some(2_000_000)
    );
    let four = format!("{two}, @c VARCHAR(MAX) = {long}, @d VARCHAR(MAX) = {long}; SELECT 1");
    assert_eq!(run(&mut connection, &four), Some(-701));
    // A value that takes the place of another frees it, and a batch that ends frees all.
    let again = format!(
        "{two}; DECLARE @n INT = 0;
         WHILE @n < 9 BEGIN SET @a = {long}; SELECT @b = {long}, @n += 1 END; SELECT @n"
    );
    assert_eq!(run(&mut connection, &again), Some(9));
}

#[test]
fn a_cursor_reads_rows_by_number_from_memory_and_from_its_file_alike() {
    let volume: Arc<dyn Volume> = Arc::new(MemoryVolume::new());
    volume.create_dir(Path::new("/instance")).unwrap();
    let config = InstanceConfig {
        pool_pages: 2048,
        directory: Some("/instance".into()),
        ..InstanceConfig::default()
    };
    let instance = Instance::start(Arc::clone(&volume), config).unwrap();
    let server = Server::start(instance).unwrap();
    let mut connection = server.connect().unwrap();
    fill(&mut connection);
    connection.limit_query_memory(50_000);
    let open =
        "DECLARE c SCROLL CURSOR FOR SELECT id, v FROM t ORDER BY id; OPEN c; SELECT @@CURSOR_ROWS";
    assert_eq!(run(&mut connection, open), Some(ROWS));
    assert_eq!(spilled(&*volume), 1);
    let (mut at, mut state) = (0_i64, 42_u64);
    for step in 0..400 {
        state = state
            .wrapping_mul(6_364_136_223_846_793_005)
            .wrapping_add(1);
        let to = (state >> 33).cast_signed() % (ROWS + 20);
        let (fetch, row) = match step % 5 {
            0 => (format!("FETCH ABSOLUTE {to} FROM c"), to),
            1 => ("FETCH NEXT FROM c".to_owned(), at + 1),
            2 => ("FETCH PRIOR FROM c".to_owned(), at - 1),
            3 => (
                format!("FETCH ABSOLUTE -{to} FROM c"),
                if to == 0 { 0 } else { ROWS + 1 - to },
            ),
            _ => (format!("FETCH RELATIVE {} FROM c", to / 9), at + to / 9),
        };
        at = row.clamp(0, ROWS + 1);
        let expected = (1..=ROWS).contains(&at).then_some(at - 1);
        assert_eq!(run(&mut connection, &fetch), expected, "{step}: {fetch}");
    }
    // The rows stay those of OPEN, and the file goes with the cursor.
    assert_eq!(
        run(&mut connection, "TRUNCATE TABLE t; FETCH LAST FROM c"),
        Some(ROWS - 1)
    );
    assert_eq!(run(&mut connection, "CLOSE c"), None);
    assert_eq!(spilled(&*volume), 0);
    assert_eq!(
        run(&mut connection, "INSERT t VALUES (1, 'a'); OPEN c; FETCH c"),
        Some(1)
    );
}

#[test]
fn merge_and_insert_exec_keep_their_rows_in_files_where_they_find_no_room() {
    for statement in [
        "MERGE big USING t AS s ON 1 = 0 WHEN NOT MATCHED THEN INSERT VALUES (s.id, s.v);",
        "INSERT big EXEC ('SELECT id, v FROM t')",
    ] {
        let mut connection = connect();
        run(
            &mut connection,
            "CREATE TABLE big (id INT NOT NULL, v VARCHAR(120) NOT NULL)",
        );
        let files = "SELECT cntr_value FROM sys.dm_os_performance_counters \
                     WHERE counter_name = 'Worktables Created/sec'";
        let before = run(&mut connection, files).unwrap();
        connection.limit_query_memory(20_000);
        assert_eq!(run(&mut connection, statement), None, "{statement}");
        connection.limit_query_memory(50_000_000);
        let after = run(&mut connection, files).unwrap();
        assert_eq!(run(&mut connection, "SELECT COUNT(*) FROM big"), Some(ROWS));
        assert!(after > before, "{statement}: {before} files, then {after}");
    }
}

#[test]
fn a_scan_in_the_smallest_pool_reads_each_page_once() {
    let config = InstanceConfig {
        pool_pages: 512,
        ..InstanceConfig::default()
    };
    let server = Server::start(Instance::in_memory(config).unwrap()).unwrap();
    let mut connection = server.connect().unwrap();
    let mut number = |sql: &str| run(&mut connection, sql);
    number("CREATE DATABASE s");
    number("USE s");
    // A row a page.
    let rows = "SELECT TOP 3000 ROW_NUMBER() OVER (ORDER BY a.name), 'x' \
                FROM sys.all_columns a, sys.all_columns b";
    number("CREATE TABLE t (id BIGINT NOT NULL PRIMARY KEY, v CHAR(5000) NOT NULL)");
    number("CREATE TABLE h (id BIGINT NOT NULL, v CHAR(5000) NOT NULL)");
    number(&format!("INSERT t {rows}"));
    number("INSERT h SELECT * FROM t");
    let pages_read =
        "SELECT SUM(num_of_bytes_read) / 8192 FROM sys.dm_io_virtual_file_stats(DB_ID(), 1)";
    for (sql, expected) in [
        ("SELECT COUNT(*) FROM t", 3000),
        ("SELECT SUM(id) FROM t", 4_501_500),
        ("SELECT SUM(id) FROM h", 4_501_500),
    ] {
        number("CHECKPOINT; DBCC DROPCLEANBUFFERS WITH NO_INFOMSGS");
        let before = number(pages_read).unwrap();
        assert_eq!(number(&format!("{sql} OPTION (MAXDOP 1)")), Some(expected));
        let read = number(pages_read).unwrap() - before;
        // The upper pages and some of the catalog come on top.
        assert!((3000..3600).contains(&read), "{sql}: {read} pages");
    }
}
