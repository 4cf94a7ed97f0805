//! The bottlenecks that are planted, each by settings or limits that a user could have, and what a report has
//! to name.

use std::path::Path;

/// One kind of bottleneck.
pub(crate) struct Case {
    /// Name on the command line.
    pub(crate) name: &'static str,
    /// What was planted.
    pub(crate) planted: &'static str,
    /// Arguments behind `furrow lab run`.
    pub(crate) arguments: Vec<String>,
    /// Scripts in the directory of the experiment: file name and text.
    pub(crate) scripts: Vec<(&'static str, String)>,
    /// Texts of which the named cause has to have one.
    pub(crate) causes: Vec<String>,
    /// The level beside which other programs are busy.
    pub(crate) busy_beside: Option<&'static str>,
}

fn words(text: &str) -> Vec<String> {
    text.split_whitespace().map(str::to_owned).collect()
}

/// A comparison of two settings on scripts; a setting has blanks, so sides come one by one.
fn ab((a, b): (&str, &str), rest: &str, place: &[String]) -> Vec<String> {
    let mut arguments = words("ab --setup setup.sql --load load.sql");
    arguments.extend(["--a", a, "--b", b].map(str::to_owned));
    arguments.extend(words(rest));
    arguments.extend_from_slice(place);
    arguments
}

fn scripts(setup: &str, load: String) -> Vec<(&'static str, String)> {
    vec![("setup.sql", setup.to_owned()), ("load.sql", load)]
}

/// Statements that change how the data file grows.
fn growth(step: &str) -> String {
    format!(
        "sql DECLARE @s NVARCHAR(400) = (SELECT N'ALTER DATABASE CURRENT MODIFY FILE (NAME = [' + name + \
         N'], FILEGROWTH = {step})' FROM sys.database_files WHERE type = 0) EXEC (@s)"
    )
}

/// A log volume, then a data volume, that is much slower than the others.
fn slow_volumes((slow, fast): (&str, &str), slow_dir: &str) -> [Case; 2] {
    let log =
        format!("datafiles --quick --files 1,4 --seconds 5 --volume {fast} --log-volume {slow}");
    let data = format!(
        "datafiles --quick --files 2 --seconds 8 --layouts {fast}|{fast},{slow} --log-volume {fast} \
         --volume {fast} --volume {slow} --total 1GB --pool 32MB --log 64MB --rows-per-commit 50"
    );
    [
        Case {
            name: "slow-log",
            planted: "the log is on a slow volume",
            arguments: words(&log),
            scripts: Vec::new(),
            causes: vec!["Tran Log IO".to_owned()],
            busy_beside: None,
        },
        Case {
            name: "slow-data",
            planted: "one of two data volumes is slow",
            arguments: words(&data),
            scripts: Vec::new(),
            causes: vec![format!("the volume {slow_dir}")],
            busy_beside: None,
        },
    ]
}

fn neighbour(place: &[String]) -> Case {
    let mut arguments = words("ab --a default --b");
    arguments.push("trace flag 661".to_owned());
    arguments.extend(words("--sessions 8 --seconds 4 --total 4GB --data 2GB"));
    arguments.extend_from_slice(place);
    Case {
        name: "busy-neighbour",
        planted: "another program uses the processors during the runs of one side",
        arguments,
        scripts: Vec::new(),
        causes: vec!["other programs on the machine".to_owned()],
        busy_beside: Some("trace flag 661"),
    }
}

/// Sessions that insert at places of their own, against one place for all.
fn latches(place: &[String]) -> Case {
    let one_place = "sql DROP TABLE hot; sql CREATE TABLE hot (session INT NOT NULL, id BIGINT IDENTITY \
                     PRIMARY KEY, filler CHAR(20) NOT NULL)";
    Case {
        name: "latch",
        planted: "all sessions insert into the last page of one index",
        arguments: ab(
            ("default", one_place),
            "--sessions 128 --seconds 5 --log 1GB",
            place,
        ),
        scripts: scripts(
            "CREATE TABLE hot (session INT NOT NULL, id BIGINT IDENTITY, filler CHAR(20) NOT NULL, \
             PRIMARY KEY (session, id));\nALTER DATABASE CURRENT SET DELAYED_DURABILITY = FORCED;",
            format!(
                "SET NOCOUNT ON;{}",
                " INSERT hot (session, filler) VALUES ($(SESSION), 'x');".repeat(10)
            ),
        ),
        causes: vec!["Buffer Latch".to_owned()],
        busy_beside: None,
    }
}

/// A query that computes, over few and over many rows in memory.
fn processors(place: &[String]) -> Case {
    let more = "sql INSERT numbers SELECT a.n * 20 + b.n + 100 FROM numbers a CROSS JOIN numbers b WHERE \
                b.n < 20 AND a.n < 20";
    Case {
        name: "processors",
        planted: "the query of one side computes over five times the rows",
        arguments: ab(("default", more), "--sessions 4 --seconds 4", place),
        scripts: scripts(
            "CREATE TABLE numbers (n INT NOT NULL PRIMARY KEY);\nDECLARE @n INT = 0; WHILE @n < 100 BEGIN \
             INSERT numbers VALUES (@n); SET @n = @n + 1 END;",
            "SELECT COUNT(*) FROM numbers a CROSS JOIN numbers b WHERE (a.n * b.n) % 7 = 3;"
                .to_owned(),
        ),
        causes: vec!["running or not accounted for".to_owned()],
        busy_beside: None,
    }
}

/// Pages that are allocated in space that is there, and in a file that has to grow for each extent.
fn allocation(place: &[String]) -> Case {
    let (much, little) = (growth("512MB"), growth("64KB"));
    Case {
        name: "allocation",
        planted: "the file grows by one extent a time",
        arguments: ab(
            (&much, &little),
            "--sessions 16 --seconds 4 --data 16MB --log 2GB --pool 512MB",
            place,
        ),
        scripts: scripts(
            "CREATE TABLE wide (session INT NOT NULL, id BIGINT IDENTITY, filler CHAR(8000) NOT NULL, \
             PRIMARY KEY (session, id));\nALTER DATABASE CURRENT SET DELAYED_DURABILITY = FORCED;",
            format!(
                "SET NOCOUNT ON;{}",
                " INSERT wide (session, filler) VALUES ($(SESSION), 'x');".repeat(5)
            ),
        ),
        causes: vec!["FGCB_ADD_REMOVE".to_owned()],
        busy_beside: None,
    }
}

/// Every case; `slow` as `--volume` takes it.
pub(crate) fn all(slow: &str, fast: &str) -> Vec<Case> {
    let slow_dir = slow.split(',').next().unwrap_or(slow).to_owned();
    let place = words(&format!("--quick --volume {fast}"));
    let mut cases = Vec::from(slow_volumes((slow, fast), &slow_dir));
    cases.extend([
        neighbour(&place),
        latches(&place),
        processors(&place),
        allocation(&place),
    ]);
    cases
}

impl Case {
    /// Writes the scripts.
    pub(crate) fn prepare(&self, dir: &Path) -> std::io::Result<()> {
        for (name, text) in &self.scripts {
            std::fs::write(dir.join(name), text)?;
        }
        Ok(())
    }
}
