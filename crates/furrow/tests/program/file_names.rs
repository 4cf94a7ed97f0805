//! Names of data and log files: odd ones survive a restart, impossible ones are refused by the right error,
//! and what is not a regular file is refused at once.

use super::{err, furrow, names, out, run, text};
use furrow_io::{SystemVolume, Volume};
use std::path::Path;
use std::process::{Command, Output};

/// No error message.
const NONE: [u32; 0] = [];

/// Runs a script in the instance of `dir`: what it printed, errors behind it.
fn sql(dir: &Path, script: &str) -> String {
    let instance = dir.join("instance");
    let words = [
        "sql",
        "--pool",
        "8MB",
        "--instance",
        text(&instance),
        "-W",
        "-h",
        "-1",
        "-Q",
        script,
    ];
    let output = furrow().args(words).output().unwrap();
    out(&output) + &err(&output)
}

/// Numbers of the error messages in what was printed.
fn numbers(printed: &str) -> Vec<u32> {
    let parts = printed.split("Msg ").skip(1);
    let number = |part: &str| {
        part.split(',')
            .next()
            .and_then(|digits| digits.parse().ok())
    };
    parts.filter_map(number).collect()
}

fn moved(from: &Path, to: &Path) {
    assert!(
        Command::new("mv")
            .args([from, to])
            .status()
            .unwrap()
            .success()
    );
}

#[test]
fn a_file_name_that_ends_in_a_blank_survives_a_restart() {
    let scratch = tempfile::tempdir().unwrap();
    let home = scratch.path().join("files");
    SystemVolume::new().create_dir(&home).unwrap();
    let d = text(&home);
    let create = format!(
        "CREATE DATABASE x ON (NAME = x, FILENAME = '{d}/x.mdf  '), (NAME = x2, FILENAME = '{d}/x2.ndf ') \
         LOG ON (NAME = xl, FILENAME = '{d}/x.ldf ')"
    );
    let printed = sql(scratch.path(), &create);
    assert_eq!(numbers(&printed), NONE, "{printed}");
    let fill = format!(
        "ALTER DATABASE x ADD FILE (NAME = x3, FILENAME = '{d}/x3.ndf ') \
         CREATE TABLE x.dbo.t (a int) INSERT x.dbo.t VALUES (7)"
    );
    let printed = sql(scratch.path(), &fill);
    assert_eq!(numbers(&printed), NONE, "{printed}");
    let files = [
        "x.ldf",
        "x.mdf",
        "x.mdf.dw",
        "x2.ndf",
        "x2.ndf.dw",
        "x3.ndf",
        "x3.ndf.dw",
    ];
    assert_eq!(names(&home), files);
    let look = "SET NOCOUNT ON SELECT a FROM x.dbo.t \
                SELECT '[' + physical_name + ']' FROM x.sys.database_files ORDER BY file_id \
                SELECT state_desc FROM sys.databases WHERE name = 'x'";
    let listed = |log: &str| {
        format!("7\n\n[{d}/x.mdf]\n[{d}/{log}]\n[{d}/x2.ndf]\n[{d}/x3.ndf]\n\nONLINE\n\n")
    };
    let shown = |log: &str| {
        assert_eq!(
            sql(scratch.path(), look).replace("\n\n\n", "\n\n"),
            listed(log)
        );
    };
    shown("x.ldf");
    let relocate = format!("ALTER DATABASE x MODIFY FILE (NAME = xl, FILENAME = '{d}/y.ldf ')");
    assert_eq!(numbers(&sql(scratch.path(), &relocate)), NONE);
    moved(&home.join("x.ldf"), &home.join("y.ldf"));
    shown("y.ldf");
    assert_eq!(numbers(&sql(scratch.path(), "EXEC sp_detach_db 'x'")), NONE);
    let attach = format!("CREATE DATABASE x ON (FILENAME = '{d}/x.mdf ') FOR ATTACH");
    assert_eq!(numbers(&sql(scratch.path(), &attach)), NONE);
    shown("y.ldf");
}

#[test]
fn odd_file_names_survive_a_restart() {
    let scratch = tempfile::tempdir().unwrap();
    let home = scratch.path().join("files");
    let sub = home.join("a directory ");
    SystemVolume::new().create_dir(&sub).unwrap();
    let link = home.join("link");
    assert!(
        Command::new("ln")
            .args(["-s", text(&sub), text(&link)])
            .status()
            .unwrap()
            .success()
    );
    let long = "n".repeat(240);
    let odd = [
        "it''s",
        " leading",
        "new\nline",
        ".hidden",
        "a..b",
        "./dot",
        "link/../up",
        "link/linked",
        "\u{20ac}",
        "UPPER",
        "upper",
        "a directory /in",
        "tab\t",
        &long[..home.as_os_str().len().min(100)],
    ];
    for (at, name) in odd.iter().enumerate() {
        let path = format!("{}/{name}", text(&home));
        let create = format!(
            "CREATE DATABASE d{at} ON (NAME = d, FILENAME = '{path}.mdf') \
             LOG ON (NAME = l, FILENAME = '{path}.ldf')"
        );
        let printed = sql(scratch.path(), &create);
        assert_eq!(numbers(&printed), NONE, "{name:?}: {printed}");
    }
    let look = "SET NOCOUNT ON SELECT COUNT(*) FROM sys.databases WHERE name LIKE 'd[0-9]%' \
                AND state_desc = 'ONLINE'";
    assert_eq!(sql(scratch.path(), look).trim(), odd.len().to_string());
}

#[test]
fn a_file_name_that_cannot_be_is_refused_by_its_own_error_and_leaves_nothing() {
    let scratch = tempfile::tempdir().unwrap();
    let home = scratch.path().join("files");
    SystemVolume::new().create_dir(&home.join("sub")).unwrap();
    let d = text(&home);
    let of_bytes = |bytes: usize| format!("{d}/{}.mdf", "n".repeat(bytes - 4));
    let database = |data: &str, log: &str| {
        format!(
            "CREATE DATABASE x ON (NAME = x, FILENAME = '{data}') LOG ON (NAME = l, FILENAME = '{log}')"
        )
    };
    let long_path = format!("{d}/{}", "0123456789/".repeat(400));
    let made = sql(
        scratch.path(),
        &database(&format!("{d}/y.mdf"), &format!("{d}/y.ldf")).replace("DATABASE x", "DATABASE y"),
    );
    assert_eq!(numbers(&made), NONE, "{made}");
    let before = names(&home);
    let good = |end: &str| format!("{d}/x.{end}");
    let alter = |what: &str, path: &str| {
        format!("ALTER DATABASE y {what} FILE (NAME = w, FILENAME = '{path}')")
    };
    let attach = |path: &str| format!("CREATE DATABASE z ON (FILENAME = '{path}') FOR ATTACH");
    let cases = [
        (database(&of_bytes(256), &good("ldf")), 5105),
        // The file's own name fits, that of the double-write file beside it does not.
        (database(&of_bytes(254), &good("ldf")), 5105),
        (database(&good("mdf"), &of_bytes(256)), 5105),
        (database(&long_path, &good("ldf")), 5105),
        (database(&format!("{d}/"), &good("ldf")), 5105),
        (database(&format!("{d}/. "), &good("ldf")), 5105),
        (database(&format!("{d}/sub/.."), &good("ldf")), 5105),
        (database(&format!("{d}/none/x.mdf"), &good("ldf")), 5133),
        (database(&format!("{d}/y.mdf/x.mdf"), &good("ldf")), 5133),
        (database(&format!("{d}/sub"), &good("ldf")), 5170),
        (database(&good("mdf"), &format!("{d}/sub")), 5170),
        (alter("ADD", &of_bytes(256)), 5105),
        (alter("ADD", &format!("{d}/none/x.ndf")), 5133),
        (alter("ADD", &format!("{d}/sub")), 5170),
        (
            alter("MODIFY", &of_bytes(256)).replace("NAME = w", "NAME = l"),
            5105,
        ),
        (
            alter("MODIFY", &format!("{d}/none/x.ldf")).replace("NAME = w", "NAME = l"),
            5121,
        ),
        (attach(&of_bytes(256)), 5105),
        (attach(&long_path), 5105),
        (attach(&format!("{d}/none.mdf")), 5120),
        (attach(&format!("{d}/sub")), 5120),
    ];
    for (statement, number) in cases {
        let printed = sql(scratch.path(), &statement);
        let start: String = statement.chars().take(200).collect();
        assert!(
            numbers(&printed).contains(&number),
            "{start}: {number} is not in {printed}"
        );
        assert!(!numbers(&printed).contains(&823), "{start}: {printed}");
        assert_eq!(names(&home), before, "{start}");
    }
}

/// Runs the program, which must end within half a minute.
fn within(words: &[&str]) -> Output {
    let output = Command::new("timeout")
        .args(["30", env!("CARGO_BIN_EXE_furrow")])
        .args(words)
        .output()
        .unwrap();
    assert_ne!(output.status.code(), Some(124), "{words:?} hangs");
    output
}

#[test]
#[cfg(target_os = "linux")]
fn a_pipe_a_device_or_a_socket_given_as_a_data_file_is_refused_at_once() {
    let scratch = tempfile::tempdir().unwrap();
    let pipe = scratch.path().join("pipe.mdf");
    assert!(
        Command::new("mkfifo")
            .arg(&pipe)
            .status()
            .unwrap()
            .success()
    );
    let socket = scratch.path().join("socket.mdf");
    let _listener = std::os::unix::net::UnixListener::bind(&socket).unwrap();
    let instance = scratch.path().join("instance");
    let base = ["sql", "--pool", "8MB", "--instance", text(&instance)];
    for (path, what) in [
        (text(&pipe), "it is a named pipe, not a regular file"),
        (text(&socket), "it is a socket, not a regular file"),
        ("/dev/zero", "it is a character device, not a regular file"),
        ("/dev/null", "it is a character device, not a regular file"),
        (text(scratch.path()), "directory"),
    ] {
        let attach = |how: &str| format!("CREATE DATABASE z ON (FILENAME = '{path}') FOR {how}");
        let (ours, theirs) = (attach("ATTACH"), attach("ATTACH READ_ONLY"));
        let attaching = |statement| [&base[..], &["-b", "-Q", statement]].concat();
        for words in [
            vec!["inspect", path],
            vec!["inspect", "page", path, "1"],
            vec!["inspect", "export", path, "--table", "t", "--csv"],
            vec!["check", path],
            vec!["sql", "--open", path, "-Q", "SELECT 1"],
            attaching(&ours),
            attaching(&theirs),
        ] {
            let output = within(&words);
            let reported = out(&output) + &err(&output);
            assert!(!output.status.success(), "{words:?}: {reported}");
            assert!(
                reported.to_lowercase().contains(what),
                "{words:?}: {reported}"
            );
        }
    }
    assert!(!within(&["inspect", "fill", text(&pipe)]).status.success());
}

#[test]
#[cfg(target_os = "linux")]
fn a_pipe_in_the_place_of_a_log_or_a_double_write_file_is_refused_at_once() {
    let scratch = tempfile::tempdir().unwrap();
    let d = text(scratch.path());
    let create = format!(
        "CREATE DATABASE x ON (NAME = x, FILENAME = '{d}/x.mdf') LOG ON (NAME = l, FILENAME = '{d}/x.ldf')"
    );
    assert_eq!(numbers(&sql(scratch.path(), &create)), NONE);
    assert_eq!(numbers(&sql(scratch.path(), "EXEC sp_detach_db 'x'")), NONE);
    let instance = scratch.path().join("instance");
    let base = ["sql", "--pool", "8MB", "--instance", text(&instance)];
    let attach = format!("CREATE DATABASE x ON (FILENAME = '{d}/x.mdf') FOR ATTACH");
    for name in ["x.ldf", "x.mdf.dw"] {
        let (path, aside) = (scratch.path().join(name), scratch.path().join("aside"));
        moved(&path, &aside);
        assert!(
            Command::new("mkfifo")
                .arg(&path)
                .status()
                .unwrap()
                .success()
        );
        let output = within(&[&base[..], &["-Q", &attach]].concat());
        let reported = out(&output) + &err(&output);
        assert!(numbers(&reported).contains(&5120), "{name}: {reported}");
        assert!(
            reported.contains("it is a named pipe"),
            "{name}: {reported}"
        );
        moved(&aside, &path);
    }
    assert_eq!(numbers(&sql(scratch.path(), &attach)), NONE);
    // A script may come from a pipe.
    let script = scratch.path().join("script");
    assert!(
        Command::new("mkfifo")
            .arg(&script)
            .status()
            .unwrap()
            .success()
    );
    let feed = format!("echo 'SELECT 40 + 2' > '{}'", text(&script));
    let mut feeding = Command::new("sh").args(["-c", &feed]).spawn().unwrap();
    let output = within(&[&base[..], &["-W", "-h", "-1", "-i", text(&script)]].concat());
    assert!(out(&output).starts_with("42\n"), "{}", err(&output));
    feeding.wait().unwrap();
}

#[test]
fn a_secondary_file_that_was_not_given_is_named_and_is_not_damage() {
    let scratch = tempfile::tempdir().unwrap();
    let home = scratch.path().join("files");
    SystemVolume::new().create_dir(&home).unwrap();
    let d = text(&home);
    let create = format!(
        "CREATE DATABASE b ON (NAME = b, FILENAME = '{d}/b.mdf'), \
         FILEGROUP f (NAME = b2, FILENAME = '{d}/b2.ndf') LOG ON (NAME = l, FILENAME = '{d}/b.ldf')"
    );
    assert_eq!(numbers(&sql(scratch.path(), &create)), NONE);
    let fill = "CREATE TABLE b.dbo.here (a int) INSERT b.dbo.here VALUES (1) \
                USE b CREATE TABLE there (a int PRIMARY KEY, c char(5000)) ON f \
                INSERT there VALUES (1, 'x'), (2, 'y'), (3, 'z') CREATE TABLE heap (a int) ON f \
                INSERT heap VALUES (1)";
    let printed = sql(scratch.path(), fill);
    assert_eq!(numbers(&printed), NONE, "{printed}");
    assert_eq!(numbers(&sql(scratch.path(), "EXEC sp_detach_db 'b'")), NONE);
    let (primary, second) = (home.join("b.mdf"), home.join("b2.ndf"));
    let both = run(&["inspect", text(&primary), text(&second)]);
    assert_eq!((both.status.code(), err(&both)), (Some(0), String::new()));
    let away = scratch.path().join("away.ndf");
    moved(&second, &away);
    let missing =
        "file 3 (b2.ndf) was not given: name every data file of the database, the primary";
    let f = text(&primary);
    for (words, code) in [
        (vec!["inspect", f], 1),
        (vec!["inspect", f, "--table", "there"], 1),
        (vec!["inspect", f, "--table", "heap"], 1),
        (vec!["inspect", "export", f, "--table", "there", "--csv"], 1),
        (vec!["inspect", "export", f, "--table", "heap", "--csv"], 1),
        (vec!["inspect", "export", f, "--table", "here", "--csv"], 0),
        (vec!["check", f], 2),
    ] {
        let output = run(&words);
        let errors = err(&output);
        assert_eq!(output.status.code(), Some(code), "{words:?}: {errors}");
        assert_eq!(errors.matches(missing).count(), 1, "{words:?}: {errors}");
        assert!(
            !errors.contains("damaged") && !errors.contains("824"),
            "{words:?}: {errors}"
        );
    }
    let opened = run(&["sql", "--open", f, "-Q", "SELECT 1"]);
    let errors = err(&opened);
    assert!(!opened.status.success());
    let reported = "File 3 (b2.ndf) was not given and does not lie beside the primary file";
    assert!(
        errors.contains("5120") && errors.contains(reported),
        "{errors}"
    );
}

#[test]
fn a_log_that_was_stored_under_a_name_with_blanks_is_opened() {
    let scratch = tempfile::tempdir().unwrap();
    let home = scratch.path().join("files");
    SystemVolume::new().create_dir(&home).unwrap();
    let d = text(&home);
    let create = format!(
        "CREATE DATABASE x ON (NAME = x, FILENAME = '{d}/x.mdf') LOG ON (NAME = xl, FILENAME = '{d}/x.ldf') \
         CREATE TABLE x.dbo.t (a int) INSERT x.dbo.t VALUES (7)"
    );
    let printed = sql(scratch.path(), &create);
    assert_eq!(numbers(&printed), NONE, "{printed}");
    // As the program left it that stored names as they were written.
    moved(&home.join("x.ldf"), &home.join("x.ldf  "));
    for value in [7, 8] {
        let look = "SET NOCOUNT ON SELECT a FROM x.dbo.t UPDATE x.dbo.t SET a += 1";
        let printed = sql(scratch.path(), look);
        assert_eq!(numbers(&printed), NONE, "{printed}");
        assert!(printed.contains(&value.to_string()), "{printed}");
    }
    assert_eq!(names(&home), ["x.ldf  ", "x.mdf", "x.mdf.dw"]);
}
