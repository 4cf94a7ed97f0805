//! DBCC CHECKDB from the shell: damage on the disk is named, put in plain words, and repaired.

use super::{err, furrow, out, text};
use furrow_io::time::{Duration, sleep};
use furrow_io::{Access, Open, SystemVolume, Volume};
use std::path::Path;
use std::process::Output;

fn sql(directory: &Path, query: &str) -> Output {
    let instance = directory.join("instance");
    furrow()
        .args(["sql", "--pool", "8MB", "--instance", text(&instance)])
        .args(["--csv", "-Q", query])
        .output()
        .unwrap()
}

/// The output of a query that must succeed.
fn output_of(directory: &Path, query: &str) -> String {
    let output = sql(directory, query);
    assert!(output.status.success(), "{query}: {}", err(&output));
    out(&output)
}

/// A database of one table with an index, and the path of its data file.
fn made(directory: &Path) -> String {
    output_of(
        directory,
        "CREATE DATABASE hurt; USE hurt; \
         CREATE TABLE t (id int NOT NULL PRIMARY KEY, v int NOT NULL, note char(200) NOT NULL); \
         CREATE INDEX by_v ON t (v) INCLUDE (note); \
         INSERT t SELECT value, value % 97, 'x' FROM GENERATE_SERIES(1, 3000)",
    );
    let paths = output_of(
        directory,
        "USE hurt; SELECT physical_name FROM sys.database_files WHERE file_id = 1",
    );
    paths.lines().last().unwrap().to_owned()
}

/// The last leaf page of an index.
fn leaf_of(directory: &Path, index: u32) -> u64 {
    *leaves_of(directory, index).last().unwrap()
}

/// The leaf pages of an index, by what DBCC IND lists.
fn leaves_of(directory: &Path, index: u32) -> Vec<u64> {
    let listed = output_of(
        directory,
        &format!("USE hurt; DBCC IND ('hurt', 't', {index}) WITH NO_INFOMSGS"),
    );
    let page = |line: &str| {
        let fields: Vec<&str> = line.split(',').collect();
        let is_leaf = fields.get(10) == Some(&"0") && fields.get(9) != Some(&"10");
        is_leaf.then(|| fields.get(1).unwrap().parse().unwrap())
    };
    listed.lines().skip(1).filter_map(page).collect()
}

fn flip(path: &str, page: u64) {
    flip_all(path, &[page]);
}

fn flip_all(path: &str, pages: &[u64]) {
    let volume = SystemVolume::new();
    let file = volume.open(Path::new(path), Open::Existing, Access::Data);
    let file = file.unwrap();
    for page in pages {
        let mut bytes = vec![0; 8192];
        file.read_at(page * 8192, &mut bytes).unwrap();
        bytes[3000] ^= 16;
        file.write_at(page * 8192, &bytes).unwrap();
    }
    file.sync().unwrap();
}

#[test]
fn a_damaged_index_is_named_and_rebuilt() {
    let directory = tempfile::tempdir().unwrap();
    let path = made(directory.path());
    let page = leaf_of(directory.path(), 2);
    let clean = output_of(directory.path(), "DBCC CHECKDB ('hurt') WITH NO_INFOMSGS");
    assert_eq!(clean, "");
    flip(&path, page);
    let found = sql(directory.path(), "DBCC CHECKDB ('hurt') WITH NO_INFOMSGS");
    let all = format!("{}{}", out(&found), err(&found));
    for part in [
        "Msg 8928",
        &format!("(1:{page})"),
        "consistency errors in table 't'",
        "repair_rebuild is the minimum repair level",
        "Index by_v of dbo.t cannot be trusted",
        "ALTER INDEX by_v ON dbo.t REBUILD",
    ] {
        assert!(all.contains(part), "{part}: {all}");
    }
    let repaired = sql(
        directory.path(),
        "ALTER DATABASE hurt SET SINGLE_USER; USE hurt; DBCC CHECKDB ('hurt', REPAIR_REBUILD)",
    );
    let all = format!("{}{}", out(&repaired), err(&repaired));
    assert!(
        all.contains("The Nonclustered index successfully rebuilt"),
        "{all}"
    );
    assert!(all.contains("CHECKDB fixed 0 allocation errors"), "{all}");
    assert_eq!(
        output_of(directory.path(), "DBCC CHECKDB ('hurt') WITH NO_INFOMSGS"),
        ""
    );
    let rows = output_of(
        directory.path(),
        "USE hurt; SELECT COUNT(*) AS n FROM t WITH (INDEX(by_v)) WHERE v >= 0",
    );
    assert_eq!(rows.lines().last(), Some("3000"));
}

#[test]
fn a_damaged_table_is_named_with_its_pages_and_repaired_with_the_loss_of_their_rows() {
    let directory = tempfile::tempdir().unwrap();
    let path = made(directory.path());
    let page = leaf_of(directory.path(), 1);
    flip(&path, page);
    let found = sql(
        directory.path(),
        "DBCC CHECKDB ('hurt') WITH NO_INFOMSGS, PHYSICAL_ONLY",
    );
    let all = format!("{}{}", out(&found), err(&found));
    for part in [
        "Msg 8928",
        "repair_allow_data_loss is the minimum repair level",
        "Table dbo.t cannot be trusted as a whole",
        &format!("(1:{page})"),
    ] {
        assert!(all.contains(part), "{part}: {all}");
    }
    // The plan of a query holds its table, and with it the files that the repair opens.
    let repaired = sql(
        directory.path(),
        "ALTER DATABASE hurt SET SINGLE_USER; USE hurt; SELECT COUNT(*) FROM t WHERE id = 1; \
         DBCC CHECKDB ('hurt', REPAIR_ALLOW_DATA_LOSS); SELECT CONCAT('now in ', DB_NAME()); \
         EXEC sp_readerrorlog 0, 1, 'Repair of database'",
    );
    let all = format!("{}{}", out(&repaired), err(&repaired));
    for part in [
        "Repair of database \"hurt\" loses",
        "take a full backup",
        "now in hurt",
        // As a field of a row of the error log.
        "\"Repair of database \"\"hurt\"\" loses",
    ] {
        assert!(all.contains(part), "{part}: {all}");
    }
    let clean = output_of(directory.path(), "DBCC CHECKDB ('hurt') WITH NO_INFOMSGS");
    assert_eq!(clean, "");
    let rows = output_of(directory.path(), "USE hurt; SELECT COUNT(*) AS n FROM t");
    let rows: u32 = rows.lines().last().unwrap().parse().unwrap();
    assert!((2_900..3_000).contains(&rows), "{rows}");
}

#[test]
fn hundreds_of_damaged_pages_are_all_listed_counted_and_noted() {
    const DAMAGED: usize = 250;
    let directory = tempfile::tempdir().unwrap();
    let path = made(directory.path());
    output_of(
        directory.path(),
        "USE hurt; INSERT t SELECT value, 1, 'x' FROM GENERATE_SERIES(3001, 12000); DROP INDEX by_v ON t",
    );
    let leaves = leaves_of(directory.path(), 1);
    let damaged = leaves.get(..DAMAGED).unwrap();
    flip_all(&path, damaged);
    let found = sql(directory.path(), "DBCC CHECKDB ('hurt') WITH NO_INFOMSGS");
    let all = format!("{}{}", out(&found), err(&found));
    assert_eq!(all.matches("Msg 8928").count(), DAMAGED);
    assert!(!all.contains("Too many errors"), "{all}");
    let errors = all.matches(", Level 16, ").count();
    let sum = format!("{errors} consistency errors in table 't'");
    assert!(all.contains(&sum), "{sum}: {all}");
    let noted = "SELECT COUNT(*) AS n FROM msdb.dbo.suspect_pages";
    let noted = output_of(directory.path(), noted);
    assert_eq!(noted.lines().last(), Some("250"));
    let said = all
        .split("About ")
        .nth(1)
        .and_then(|rest| rest.split(' ').next());
    let said: usize = said.unwrap().parse().unwrap();
    let repaired = sql(
        directory.path(),
        "ALTER DATABASE hurt SET SINGLE_USER; USE hurt; DBCC CHECKDB ('hurt', REPAIR_ALLOW_DATA_LOSS)",
    );
    let left = output_of(directory.path(), "USE hurt; SELECT COUNT(*) AS n FROM t");
    let left: usize = left.lines().last().unwrap().parse().unwrap();
    let lost = 12_000 - left;
    assert!(
        said.abs_diff(lost) * 20 <= lost,
        "{said} were said, {lost} lost: {}",
        err(&repaired)
    );
}

#[test]
fn the_statements_that_a_check_names_restore_the_damaged_pages() {
    let directory = tempfile::tempdir().unwrap();
    let path = made(directory.path());
    let media = |name: &str| text(&directory.path().join(name)).to_owned();
    output_of(
        directory.path(),
        &format!(
            "ALTER DATABASE hurt SET RECOVERY FULL; \
             BACKUP DATABASE hurt TO DISK = '{}', DISK = '{}'; \
             UPDATE hurt.dbo.t SET v = v + 1 WHERE id % 10 = 0; \
             BACKUP LOG hurt TO DISK = '{}'; \
             UPDATE hurt.dbo.t SET v = v + 1 WHERE id % 7 = 0",
            media("full.1"),
            media("full.2"),
            media("log.1")
        ),
    );
    let sums = "SELECT COUNT(*), SUM(v) FROM hurt.dbo.t";
    let before = output_of(directory.path(), sums);
    let page = leaf_of(directory.path(), 1);
    flip(&path, page);
    let found = sql(directory.path(), "DBCC CHECKDB ('hurt') WITH NO_INFOMSGS");
    let all = format!("{}{}", out(&found), err(&found));
    let statements: Vec<&str> = all
        .lines()
        .map(str::trim)
        .filter(|line| line.starts_with("RESTORE "))
        .collect();
    assert_eq!(statements.len(), 3, "{all}");
    assert!(
        statements[0].contains(&format!("PAGE = '1:{page}'")),
        "{all}"
    );
    let suspect = "SELECT page_id, event_type FROM msdb.dbo.suspect_pages";
    let row = |event: u32| format!("{page},{event}");
    let noted = output_of(directory.path(), suspect);
    assert_eq!(noted.lines().last(), Some(&*row(2)), "{noted}");
    output_of(directory.path(), &statements.join(" "));
    assert_eq!(output_of(directory.path(), sums), before);
    let noted = output_of(directory.path(), suspect);
    assert_eq!(noted.lines().last(), Some(&*row(4)), "{noted}");
    let clean = output_of(directory.path(), "DBCC CHECKDB ('hurt') WITH NO_INFOMSGS");
    assert_eq!(clean, "");
    // Without the files of the backup there is no such advice.
    flip(&path, page);
    SystemVolume::new()
        .remove(Path::new(&media("full.2")))
        .unwrap();
    let found = sql(directory.path(), "DBCC CHECKDB ('hurt') WITH NO_INFOMSGS");
    let all = format!("{}{}", out(&found), err(&found));
    assert!(!all.contains("RESTORE DATABASE"), "{all}");
    assert!(all.contains("is the last resort"), "{all}");
    output_of(directory.path(), "DROP DATABASE hurt");
    let noted = output_of(directory.path(), suspect);
    assert!(!noted.contains(&page.to_string()), "{noted}");
}

#[test]
fn a_repair_that_is_killed_leaves_the_database_of_before_or_the_repaired_one() {
    let directory = tempfile::tempdir().unwrap();
    let path = made(directory.path());
    let page = leaf_of(directory.path(), 1);
    flip(&path, page);
    let data = Path::new(&path).parent().unwrap().to_path_buf();
    let left = || {
        let files = SystemVolume::new().list(&data).unwrap();
        let names = files.iter().map(|path| path.display().to_string());
        names.filter(|name| name.contains("_MSSQL_")).count()
    };
    let order =
        "ALTER DATABASE hurt SET SINGLE_USER; DBCC CHECKDB ('hurt', REPAIR_ALLOW_DATA_LOSS)";
    for round in 0..6_u64 {
        let mut child = furrow()
            .args(["sql", "--pool", "8MB", "--instance"])
            .arg(directory.path().join("instance"))
            .args(["-Q", order])
            .stdout(std::process::Stdio::null())
            .stderr(std::process::Stdio::null())
            .spawn()
            .unwrap();
        sleep(Duration::from_millis(20 + 60 * round));
        child.kill().unwrap();
        child.wait().unwrap();
        let found = sql(directory.path(), "DBCC CHECKDB ('hurt') WITH NO_INFOMSGS");
        let all = format!("{}{}", out(&found), err(&found));
        assert_eq!(left(), 0, "round {round}: {all}");
        if all.is_empty() {
            break;
        }
        assert!(all.contains(&format!("(1:{page})")), "round {round}: {all}");
    }
    let repaired = sql(directory.path(), order);
    assert!(repaired.status.success() || !err(&repaired).is_empty());
    let clean = output_of(directory.path(), "DBCC CHECKDB ('hurt') WITH NO_INFOMSGS");
    assert_eq!(clean, "");
    assert_eq!(left(), 0);
}

#[test]
fn a_database_whose_log_is_gone_is_read_in_emergency_and_repaired() {
    let directory = tempfile::tempdir().unwrap();
    made(directory.path());
    // A process that ends in the middle of its work.
    let log = output_of(
        directory.path(),
        "USE hurt; SELECT physical_name FROM sys.database_files WHERE file_id = 2",
    );
    let mut child = furrow()
        .args(["sql", "--pool", "8MB", "--instance"])
        .arg(directory.path().join("instance"))
        .args([
            "-Q",
            "UPDATE hurt.dbo.t SET v = v + 1 WHERE id = 5; CHECKPOINT; \
             RAISERROR('ready', 0, 1) WITH NOWAIT; WAITFOR DELAY '00:05:00'",
        ])
        .stdout(std::process::Stdio::piped())
        .spawn()
        .unwrap();
    let mut said = [0; 1];
    std::io::Read::read_exact(&mut child.stdout.take().unwrap(), &mut said).unwrap();
    child.kill().unwrap();
    child.wait().unwrap();
    SystemVolume::new()
        .remove(Path::new(log.lines().last().unwrap()))
        .unwrap();
    let state = "SELECT state_desc FROM sys.databases WHERE name = 'hurt'";
    let states = output_of(directory.path(), state);
    assert!(!states.contains("ONLINE"), "{states}");
    // In one process: an instance that starts tries to recover the database.
    let script = "ALTER DATABASE hurt SET EMERGENCY; \
        SELECT state_desc FROM sys.databases WHERE name = 'hurt'; \
        SELECT COUNT(*) AS n FROM hurt.dbo.t";
    let seen = output_of(directory.path(), script);
    assert!(
        seen.contains("EMERGENCY") && seen.contains("3000"),
        "{seen}"
    );
    let repaired = sql(
        directory.path(),
        "ALTER DATABASE hurt SET EMERGENCY; ALTER DATABASE hurt SET SINGLE_USER; USE hurt; \
         DBCC CHECKDB ('hurt', REPAIR_ALLOW_DATA_LOSS) WITH NO_INFOMSGS; \
         SELECT state_desc, user_access_desc FROM sys.databases WHERE name = 'hurt'",
    );
    let all = format!("{}{}", out(&repaired), err(&repaired));
    for part in [
        "The log for database 'hurt' has been rebuilt",
        "The changes that only the old log has",
        "ONLINE,SINGLE_USER",
    ] {
        assert!(all.contains(part), "{part}: {all}");
    }
    assert!(!all.contains("loses no row"), "{all}");
    assert_eq!(
        output_of(directory.path(), "DBCC CHECKDB ('hurt') WITH NO_INFOMSGS"),
        ""
    );
    let more = "ALTER DATABASE hurt SET MULTI_USER; INSERT hurt.dbo.t VALUES (9999, 1, 'x'); \
        SELECT COUNT(*) AS n FROM hurt.dbo.t";
    assert!(output_of(directory.path(), more).contains("3001"));
}
