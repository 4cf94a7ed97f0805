//! Settings as a DBA writes them, one side of a comparison: trace flags, `sp_configure`, database options,
//! start options, any statement.
//!
//! Settings are separated by `;`. A side without any is the default:
//!
//! | written | done |
//! |---|---|
//! | `default` | nothing |
//! | `trace flag 661` | `DBCC TRACEON (661, -1)` |
//! | `-T661`, `-E` | the start option |
//! | `sp_configure max degree of parallelism = 4` | `sp_configure` and `RECONFIGURE` |
//! | `database RECOVERY SIMPLE` | `ALTER DATABASE ... SET RECOVERY SIMPLE` |
//! | `sql UPDATE STATISTICS t` | the statement, in the database, after the set-up |

use crate::targets::{Need, Session, Startup, TargetError, quoted};
use furrow_lab::experiment::OptionsError;
use std::fmt;

/// The option of the instance that limits how many threads a statement is divided among.
const MAX_DOP: &str = "max degree of parallelism";

/// One setting.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Setting {
    /// A trace flag, turned on for all sessions.
    TraceFlag(u32),
    /// A trace flag from the start on.
    StartFlag(u32),
    /// 64 extents of a file in a turn.
    ManyExtents,
    /// An option of the instance and its value.
    Configure(String, i64),
    /// An option of the database, as it is written behind SET.
    Database(String),
    /// A statement.
    Sql(String),
}

impl fmt::Display for Setting {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Setting::TraceFlag(number) => write!(f, "trace flag {number}"),
            Setting::StartFlag(number) => write!(f, "-T{number}"),
            Setting::ManyExtents => f.write_str("-E"),
            Setting::Configure(name, value) => write!(f, "sp_configure {name} = {value}"),
            Setting::Database(option) => write!(f, "database {option}"),
            Setting::Sql(text) => write!(f, "sql {text}"),
        }
    }
}

/// One side.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Settings(pub Vec<Setting>);

impl fmt::Display for Settings {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        if self.0.is_empty() {
            return f.write_str("default");
        }
        for (n, setting) in self.0.iter().enumerate() {
            let gap = if n > 0 { "; " } else { "" };
            write!(f, "{gap}{setting}")?;
        }
        Ok(())
    }
}

/// The rest of a text behind a word, whatever the case of its letters.
fn behind<'a>(text: &'a str, word: &str) -> Option<&'a str> {
    let head = text.get(..word.len())?;
    head.eq_ignore_ascii_case(word)
        .then(|| text[word.len()..].trim())
}

impl Settings {
    /// Reads a side.
    pub fn parse(text: &str) -> Result<Settings, OptionsError> {
        let parts = text
            .split(';')
            .map(str::trim)
            .filter(|part| !part.is_empty());
        let settings: Result<Vec<Option<Setting>>, OptionsError> = parts.map(one).collect();
        Ok(Settings(settings?.into_iter().flatten().collect()))
    }

    /// What it needs of a target.
    pub fn needs(&self, startup: &Startup) -> Vec<Need> {
        let starts = |s: &Setting| matches!(s, Setting::StartFlag(_) | Setting::ManyExtents);
        let flags = self.0.iter().filter_map(|setting| match setting {
            Setting::TraceFlag(number) => Some(Need::TraceFlag(*number)),
            _ => None,
        });
        let startup = self
            .0
            .iter()
            .any(starts)
            .then(|| Need::Startup(self.startup(startup.clone())));
        flags.chain(startup).collect()
    }

    /// The largest degree of parallelism that this side sets; `None` where it leaves it to the processors.
    pub(crate) fn max_dop(&self) -> Option<u32> {
        let mut set = self.0.iter().filter_map(|setting| match setting {
            Setting::Configure(name, value) if name.eq_ignore_ascii_case(MAX_DOP) => Some(*value),
            _ => None,
        });
        let last = set.next_back().filter(|value| *value > 0)?;
        u32::try_from(last).ok()
    }

    /// The start options with those of this side.
    pub fn startup(&self, mut startup: Startup) -> Startup {
        for setting in &self.0 {
            match setting {
                Setting::StartFlag(number) => startup.trace_flags.push(*number),
                Setting::ManyExtents => startup.many_extents = true,
                _ => {}
            }
        }
        startup
    }

    /// Statements of the instance and of the database, before the set-up.
    pub fn apply(&self, session: &mut dyn Session, database: &str) -> Result<(), TargetError> {
        for statement in self.0.iter().filter_map(|s| s.statement(database)) {
            session.batch(&statement)?;
        }
        Ok(())
    }

    /// Statements that were given as such, after the set-up.
    pub(crate) fn apply_late(&self, session: &mut dyn Session) -> Result<(), TargetError> {
        for setting in &self.0 {
            if let Setting::Sql(text) = setting {
                session.batch(text)?;
            }
        }
        Ok(())
    }

    /// The statements in a database of the reader's, and those that undo them where that is known.
    pub fn shown(&self) -> (String, String) {
        let (mut set, mut undo) = (Vec::new(), Vec::new());
        for setting in &self.0 {
            match setting {
                Setting::StartFlag(_) | Setting::ManyExtents => {
                    set.push(format!("-- start option {setting}"));
                    undo.push(format!("-- start without {setting}"));
                }
                Setting::Sql(text) => set.push(format!("{text};")),
                other => set.extend(other.statement("YourDatabase")),
            }
            if let Setting::TraceFlag(number) = setting {
                undo.push(format!("DBCC TRACEOFF ({number}, -1);"));
            }
        }
        (set.join("\n"), undo.join("\n"))
    }
}

impl Setting {
    fn statement(&self, database: &str) -> Option<String> {
        match self {
            Setting::TraceFlag(number) => Some(format!("DBCC TRACEON ({number}, -1);")),
            Setting::Configure(name, value) => Some(format!(
                "EXEC sp_configure 'show advanced options', 1; RECONFIGURE; \
                 EXEC sp_configure '{}', {value}; RECONFIGURE;",
                name.replace('\'', "''")
            )),
            Setting::Database(option) => {
                Some(format!("ALTER DATABASE {} SET {option};", quoted(database)))
            }
            Setting::StartFlag(_) | Setting::ManyExtents | Setting::Sql(_) => None,
        }
    }
}

fn one(text: &str) -> Result<Option<Setting>, OptionsError> {
    let wrong = || {
        OptionsError(format!(
            "'{text}' is not a setting; write default, trace flag N, -TN, -E, sp_configure NAME = VALUE, \
             database OPTION, or sql STATEMENT"
        ))
    };
    let number = |text: &str| text.trim().parse::<u32>().map_err(|_| wrong());
    if text.eq_ignore_ascii_case("default") {
        return Ok(None);
    }
    if text == "-E" {
        return Ok(Some(Setting::ManyExtents));
    }
    if let Some(flag) = text.strip_prefix("-T") {
        return number(flag).map(|n| Some(Setting::StartFlag(n)));
    }
    if let Some(flag) = behind(text, "trace flag ") {
        return number(flag).map(|n| Some(Setting::TraceFlag(n)));
    }
    if let Some(option) = behind(text, "sp_configure ") {
        let (name, value) = option.rsplit_once(['=', ',']).ok_or_else(wrong)?;
        let value = value.trim().parse().map_err(|_| wrong())?;
        let name = name.trim().trim_matches('\'').to_owned();
        return Ok(Some(Setting::Configure(name, value)));
    }
    if let Some(option) = behind(text, "database ") {
        return Ok(Some(Setting::Database(option.to_owned())));
    }
    match behind(text, "sql ") {
        Some(statement) => Ok(Some(Setting::Sql(statement.to_owned()))),
        None => Err(wrong()),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn settings_are_read_as_they_are_printed() {
        let text = "trace flag 661; -T1118; -E; sp_configure max degree of parallelism = 4; \
                    database RECOVERY SIMPLE; sql UPDATE STATISTICS t";
        let settings = Settings::parse(text).unwrap();
        assert_eq!(settings.0.len(), 6);
        assert_eq!(settings.to_string(), text);
        assert_eq!(Settings::parse(&settings.to_string()).unwrap(), settings);
        let startup = settings.startup(Startup::default());
        assert!(startup.many_extents && startup.trace_flags == [1118]);
        assert_eq!(settings.needs(&Startup::default()).len(), 2);
        for text in ["", "default", " ; "] {
            assert_eq!(Settings::parse(text).unwrap().to_string(), "default");
        }
        for wrong in [
            "661",
            "trace flag x",
            "sp_configure a",
            "-T",
            "Trace flags 1",
        ] {
            let reported = Settings::parse(wrong).unwrap_err().to_string();
            assert!(reported.contains("is not a setting"), "{reported}");
        }
    }

    #[test]
    fn the_degree_that_a_side_sets_is_the_last_one_above_0() {
        let max_dop = |text: &str| Settings::parse(text).unwrap().max_dop();
        assert_eq!(max_dop("trace flag 661"), None);
        assert_eq!(max_dop("sp_configure max degree of parallelism = 0"), None);
        assert_eq!(
            max_dop("sp_configure 'Max Degree of Parallelism', 3"),
            Some(3)
        );
        let twice = "sp_configure max degree of parallelism = 3; sp_configure max degree of parallelism = 0";
        assert_eq!(max_dop(twice), None);
    }

    #[test]
    fn the_statements_name_the_readers_database() {
        let settings = Settings::parse("TRACE FLAG 661;database RECOVERY SIMPLE").unwrap();
        let (set, undo) = settings.shown();
        assert_eq!(
            set,
            "DBCC TRACEON (661, -1);\nALTER DATABASE [YourDatabase] SET RECOVERY SIMPLE;"
        );
        assert_eq!(undo, "DBCC TRACEOFF (661, -1);");
    }
}
