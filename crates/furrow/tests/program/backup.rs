//! `furrow backup` and `furrow check --backup`: scripts, rehearsals, keys, Ctrl-C.

use super::*;
use furrow_io::time::{Duration, Moment, sleep};

/// An instance in a directory, and the directory of its backups.
struct Home {
    dir: tempfile::TempDir,
}

impl Home {
    fn new() -> Home {
        let dir = tempfile::tempdir().unwrap();
        let volume = SystemVolume::new();
        for name in ["inst", "inst/keys", "b", "scratch"] {
            volume.create_dir(&dir.path().join(name)).unwrap();
        }
        Home { dir }
    }

    fn path(&self, name: &str) -> String {
        self.dir.path().join(name).to_string_lossy().into_owned()
    }

    /// Runs T-SQL in which `$B` is the directory of backups.
    fn sql(&self, script: &str) -> String {
        let script = script.replace("$B", &self.path("b"));
        let instance = self.path("inst");
        let output = run(&[
            "sql",
            "--instance",
            &instance,
            "-b",
            "-h",
            "-1",
            "-W",
            "-Q",
            &script,
        ]);
        assert_eq!(
            output.status.code(),
            Some(0),
            "{}",
            err(&output) + &out(&output)
        );
        out(&output)
    }

    /// A command over files of backups.
    fn backup(&self, words: &[&str], files: &[&str], more: &[&str]) -> Output {
        let files: Vec<String> = files.iter().map(|f| self.path(&format!("b/{f}"))).collect();
        let mut all = words.to_vec();
        all.extend(files.iter().map(String::as_str));
        all.extend(more);
        run(&all)
    }

    fn scratch_is_empty(&self) -> bool {
        names(&self.dir.path().join("scratch")).is_empty()
    }
}

const CHAIN: &str = "CREATE DATABASE sales;
ALTER DATABASE sales SET RECOVERY FULL;
CREATE TABLE sales.dbo.t (id int PRIMARY KEY);
INSERT sales.dbo.t VALUES (1), (2), (3);
BACKUP DATABASE sales TO DISK = '$B/1.bak', DISK = '$B/2.bak' WITH COMPRESSION;
INSERT sales.dbo.t VALUES (4);
BACKUP LOG sales TO DISK = '$B/a.trn';
INSERT sales.dbo.t VALUES (5);
BACKUP LOG sales TO DISK = '$B/b.trn';";

#[test]
fn a_printed_script_restores_the_chain_and_a_rehearsal_leaves_nothing() {
    let home = Home::new();
    home.sql(CHAIN);
    let copies = home.path("scratch");
    let files = ["b.trn", "2.bak", "a.trn", "1.bak"];
    let script = home.backup(
        &["backup", "script"],
        &files,
        &["--to", &copies, "--as", "copy"],
    );
    assert_eq!(script.status.code(), Some(0), "{}", err(&script));
    let script = out(&script);
    let count = home.sql(&format!(
        "USE master;\n{script}\nSELECT COUNT(*) FROM copy.dbo.t;"
    ));
    assert!(count.lines().any(|line| line.trim() == "5"), "{count}");
    home.sql("DROP DATABASE copy");
    assert!(home.scratch_is_empty());

    let rehearsed = home.backup(&["backup", "rehearse"], &files, &["--dir", &copies]);
    assert_eq!(rehearsed.status.code(), Some(0), "{}", err(&rehearsed));
    let text = out(&rehearsed);
    assert!(
        text.contains("of 3 backups restored in") && text.contains("nothing is wrong"),
        "{text}"
    );
    let checked = home.backup(&["check", "--backup"], &files, &["--dir", &copies]);
    assert_eq!(checked.status.code(), Some(0), "{}", err(&checked));
    assert!(home.scratch_is_empty());

    let gap = home.backup(
        &["backup", "rehearse"],
        &["1.bak", "2.bak", "b.trn"],
        &["--dir", &copies],
    );
    assert_eq!(gap.status.code(), Some(3));
    assert!(err(&gap).contains("is missing, between"), "{}", err(&gap));
    let stripe = home.backup(&["backup", "script"], &["2.bak"], &[]);
    assert_eq!(stripe.status.code(), Some(3));
    assert!(
        err(&stripe).contains("stripe 1 is missing"),
        "{}",
        err(&stripe)
    );
    let unchecked = home.backup(&["check", "--backup"], &["2.bak"], &[]);
    assert_eq!(unchecked.status.code(), Some(2));
    assert!(home.scratch_is_empty());
    // The history lasts, over the starts of all these shells.
    let history = home.sql("SELECT type FROM msdb.dbo.backupset ORDER BY backup_set_id");
    let types: Vec<&str> = history
        .lines()
        .map(str::trim)
        .filter(|l| l.len() == 1)
        .collect();
    assert_eq!(types, ["D", "L", "L"], "{history}");
}

#[test]
fn an_encrypted_backup_wants_its_key_everywhere() {
    let home = Home::new();
    let key = home.path("inst/keys/k.key");
    let made = run(&["backup", "key", &key]);
    assert_eq!(made.status.code(), Some(0), "{}", err(&made));
    let again = run(&["backup", "key", &key]);
    assert_eq!(again.status.code(), Some(3), "a key is not written over");
    home.sql(
        "CREATE DATABASE e; CREATE TABLE e.dbo.t (id int); INSERT e.dbo.t VALUES (1);
         BACKUP DATABASE e TO DISK = '$B/e.bak' WITH ENCRYPTION (ALGORITHM = AES_256, SERVER CERTIFICATE = K);
         RESTORE VERIFYONLY FROM DISK = '$B/e.bak';",
    );
    let scratch = home.path("scratch");
    let more = ["--dir", &scratch];
    let locked = home.backup(&["backup", "rehearse"], &["e.bak"], &more);
    assert_eq!(locked.status.code(), Some(3));
    assert!(
        err(&locked).contains("33111") && err(&locked).contains("--key"),
        "{}",
        err(&locked)
    );
    let more = ["--dir", &scratch, "--key", &key];
    let opened = home.backup(&["backup", "rehearse"], &["e.bak"], &more);
    assert_eq!(opened.status.code(), Some(0), "{}", err(&opened));
    let secret = content(Path::new(&key));
    let log = content(&home.dir.path().join("inst/ERRORLOG"));
    assert!(!log.contains(secret.trim()) && !out(&made).contains(secret.trim()));
    // Another instance has the key in its environment, under another name.
    let other = home.path("other");
    let query = format!("RESTORE VERIFYONLY FROM DISK = '{}'", home.path("b/e.bak"));
    let words = ["sql", "--instance", &other, "-b", "-Q", &query];
    let locked = run(&words);
    assert_eq!(locked.status.code(), Some(1));
    assert!(
        out(&locked).contains("33111"),
        "{}",
        out(&locked) + &err(&locked)
    );
    let variable = ("FURROW_BACKUP_KEY_ANY", secret.trim());
    let opened = furrow()
        .args(words)
        .env(variable.0, variable.1)
        .output()
        .unwrap();
    assert_eq!(
        opened.status.code(),
        Some(0),
        "{}",
        out(&opened) + &err(&opened)
    );
}

#[cfg(target_os = "linux")]
#[test]
fn ctrl_c_ends_a_rehearsal_and_leaves_nothing() {
    let home = Home::new();
    home.sql(
        "CREATE DATABASE big; CREATE TABLE big.dbo.t (id int IDENTITY PRIMARY KEY, v char(4000) DEFAULT 'x');
         INSERT big.dbo.t (v) SELECT TOP 4000 'x' FROM sys.all_objects a, sys.all_objects b;
         BACKUP DATABASE big TO DISK = '$B/big.bak';",
    );
    let scratch = home.path("scratch");
    let (media, mut interrupted) = (home.path("b/big.bak"), 0);
    for wait_ms in [0, 50] {
        let mut child = furrow()
            .args(["backup", "rehearse", &media, "--dir", &scratch])
            .spawn()
            .unwrap();
        let begun = Moment::now();
        while home.scratch_is_empty() && begun.elapsed_us() < 20_000_000 {
            std::hint::spin_loop();
        }
        sleep(Duration::from_millis(wait_ms));
        let id = child.id().to_string();
        Command::new("kill").args(["-INT", &id]).status().unwrap();
        let status = child.wait().unwrap();
        // It may have been over before.
        assert!(matches!(status.code(), Some(0 | 130)), "{status}");
        interrupted += i32::from(status.code() == Some(130));
        assert!(home.scratch_is_empty(), "after {wait_ms} ms");
    }
    assert!(interrupted > 0, "none was interrupted");
}

/// Rows of the database that is backed up while the process is killed.
const ROWS: u32 = 3000;
/// RESTORE of the copy.
const COPY: &str = "WITH REPLACE, MOVE 'k' TO '$B/r.mdf', MOVE 'k_log' TO '$B/r.ldf'";

impl Home {
    /// Runs T-SQL that may be refused: its exit code and its output.
    fn tried(&self, script: &str) -> (Option<i32>, String) {
        let script = script.replace("$B", &self.path("b"));
        let instance = self.path("inst");
        let words = ["sql", "--instance", &instance, "-b", "-h", "-1", "-W", "-Q"];
        let output = furrow().args(words).arg(&script).output().unwrap();
        (output.status.code(), out(&output))
    }

    /// Runs T-SQL and kills the process after so many milliseconds; whether it had come to its end.
    fn killed(&self, script: &str, wait_ms: u64) -> bool {
        let script = script.replace("$B", &self.path("b"));
        let instance = self.path("inst");
        let mut child = furrow()
            .args(["sql", "--instance", &instance, "-b", "-Q"])
            .arg(&script)
            .stdout(std::process::Stdio::null())
            .stderr(std::process::Stdio::null())
            .spawn()
            .unwrap();
        sleep(Duration::from_millis(wait_ms));
        // It may be over already.
        let _ = child.kill();
        child.wait().unwrap().code() == Some(0)
    }

    /// The copy, if it is there, has all rows.
    fn copy_is_whole(&self, place: &str) {
        let counted = self.sql("SET NOCOUNT ON; SELECT COUNT(*) FROM r.dbo.t");
        assert_eq!(counted.trim(), ROWS.to_string(), "{place}");
    }
}

/// `FURROW_KILLS` sets how often.
#[test]
fn kills_in_backups_and_restores_leave_nothing_that_is_taken_for_whole() {
    let kills = std::env::var("FURROW_KILLS").ok();
    let kills: u64 = kills.and_then(|n| n.parse().ok()).unwrap_or(4);
    let home = Home::new();
    home.sql(&format!(
        "CREATE DATABASE k; CREATE TABLE k.dbo.t (id int IDENTITY PRIMARY KEY, v char(4000) DEFAULT 'x');
         INSERT k.dbo.t (v) SELECT TOP {ROWS} 'x' FROM sys.all_objects a, sys.all_objects b;
         BACKUP DATABASE k TO DISK = '$B/good.bak';"
    ));
    let (mut cut, mut whole) = (0, 0);
    for kill in 0..kills {
        // From the start of the process to the end of its work.
        let wait_ms = 20 + kill * 97 % 900;
        let place = format!("kill {kill} after {wait_ms} ms");
        if kill % 2 == 0 {
            let media = "DISK = '$B/1.bak', DISK = '$B/2.bak'";
            let done = home.killed(
                &format!("BACKUP DATABASE k TO {media} WITH FORMAT"),
                wait_ms,
            );
            let (code, said) = home.tried(&format!("RESTORE VERIFYONLY FROM {media}"));
            assert!(code == Some(0) || !done, "{place}: {said}");
            if code == Some(0) {
                home.sql(&format!("RESTORE DATABASE r FROM {media} {COPY}"));
                home.copy_is_whole(&place);
            }
            whole += u64::from(code == Some(0));
            cut += u64::from(code != Some(0));
            continue;
        }
        let restore = format!("RESTORE DATABASE r FROM DISK = '$B/good.bak' {COPY}");
        let done = home.killed(&restore, wait_ms);
        let state = "SET NOCOUNT ON; SELECT state_desc FROM sys.databases WHERE name = 'r'";
        let state = home.sql(state).trim().to_owned();
        assert!(state == "ONLINE" || !done, "{place}: {state}");
        match &*state {
            "ONLINE" => home.copy_is_whole(&place),
            // What is half restored does not recover, or all of it is there.
            "RESTORING" if home.tried("RESTORE DATABASE r WITH RECOVERY").0 == Some(0) => {
                home.copy_is_whole(&place);
            }
            "RESTORING" | "" => {}
            other => panic!("{place}: the copy is {other}"),
        }
        home.sql(&restore);
        home.copy_is_whole(&place);
    }
    println!("{kills} kills: {whole} backups whole, {cut} refused");
}
