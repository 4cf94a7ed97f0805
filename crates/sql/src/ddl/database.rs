//! CREATE DATABASE, DROP DATABASE.

use super::columns::custom;
use super::{not_of_system, outside_transaction};
use crate::paths::path;
use furrow_context::context::Context;
use furrow_context::error::{Result, SqlError, unsupported};
use furrow_context::run::Run;
use furrow_context::system_databases::is_system;
use furrow_engine::{AttachOptions, DatabaseSpec, FileGrowth, FileSpec, FilegroupSpec, log_name};
use furrow_tsql::ast::database::{
    Attach, CreateDatabase, Drop, FileSpec as Written, FilegroupSpec as WrittenGroup, MaxSize,
};
use furrow_tsql::ast::option::{Opt, Size};
use std::borrow::Cow;

/// Most bytes of a database name that file names are derived from: a file system allows 255 bytes, suffixes
/// included.
const MAX_STEM_BYTES: usize = 220;

/// The value of an expression that must be a whole number.
pub(super) fn whole(expr: &furrow_tsql::ast::expr::Expr) -> Result<u64> {
    let text = furrow_tsql::expression_text(expr);
    match text.parse() {
        Ok(number) => Ok(number),
        Err(_) => Err(unsupported(&format!("the size {text}"))),
    }
}

/// A size in KB; without a unit it is in MB.
fn size_kb(size: &Size) -> Result<u64> {
    let factor: u64 = match size.unit.as_deref() {
        Some("KB") => 1,
        Some("GB") => 1 << 20,
        Some("TB") => 1 << 30,
        _ => 1 << 10,
    };
    Ok(whole(&size.number)?.saturating_mul(factor))
}

/// A growth: percent, or a size; 0 means no growth.
pub(super) fn growth(size: &Size) -> Result<FileGrowth> {
    let number = whole(&size.number)?;
    if number == 0 {
        return Ok(FileGrowth::None);
    }
    if size.unit.as_deref() == Some("%") {
        return Ok(FileGrowth::Percent(
            u32::try_from(number).unwrap_or(u32::MAX),
        ));
    }
    let pages = size_kb(size)?.div_ceil(8);
    Ok(FileGrowth::Pages(u32::try_from(pages).unwrap_or(u32::MAX)))
}

/// A file specification. `alter`: for ALTER DATABASE, whose messages differ.
pub(super) fn file(cx: &Context, written: &Written, alter: bool) -> Result<FileSpec> {
    if written.offline {
        return Err(unsupported("OFFLINE"));
    }
    if written.new_name.is_some() {
        let text = "Invalid usage of the option newname in the CREATE/ALTER DATABASE statement.";
        return custom(153, 15, 1, text);
    }
    let required = |option: &str, level: u8, state: u8| {
        let text =
            format!("File option {option} is required in this CREATE/ALTER DATABASE statement.");
        custom(1036, level, state, &text)
    };
    let Some(name) = &written.name else {
        return required("NAME", 16, if alter { 3 } else { 2 });
    };
    let Some(file_name) = &written.file_name else {
        return required("FILENAME", 15, 1);
    };
    let mut spec = FileSpec::new(&*name.value, path(cx, file_name)?);
    spec.size_kb = written.size.as_ref().map(size_kb).transpose()?;
    spec.max_size_kb = match &written.max_size {
        Some(MaxSize::Size(size)) => Some(size_kb(size)?),
        Some(MaxSize::Unlimited) | None => None,
    };
    spec.growth = written.growth.as_ref().map(growth).transpose()?;
    Ok(spec)
}

/// SIZE and MAXSIZE of MODIFY FILE.
pub(super) fn limits(written: &Written) -> Result<(Option<u64>, Option<Option<u64>>)> {
    let size = written.size.as_ref().map(size_kb).transpose()?;
    let most = match &written.max_size {
        Some(MaxSize::Size(size)) => Some(Some(size_kb(size)?)),
        Some(MaxSize::Unlimited) => Some(None),
        None => None,
    };
    Ok((size, most))
}

/// Options of CREATE DATABASE WITH.
pub(super) fn options(options: &[Opt]) -> Result<()> {
    for option in options {
        let word = match &option.value {
            Some(furrow_tsql::ast::option::OptValue::Word(word)) => &**word,
            _ => "",
        };
        match (&*option.name, word) {
            ("TRUSTWORTHY" | "DB_CHAINING", "OFF") => {}
            (name, _) => return Err(unsupported(&format!("WITH {name}"))),
        }
    }
    Ok(())
}

/// CREATE DATABASE.
pub(super) fn create(run: &mut Run<'_>, written: &CreateDatabase) -> Result<()> {
    outside_transaction(run, "CREATE DATABASE")?;
    if written.containment.as_deref().is_some_and(|c| c != "NONE") {
        return Err(unsupported("CONTAINMENT = PARTIAL"));
    }
    if let Some(collation) = &written.collation
        && !collation
            .value
            .eq_ignore_ascii_case("SQL_Latin1_General_CP1_CI_AS")
    {
        return Err(unsupported(&format!("COLLATE {}", collation.value)));
    }
    options(&written.options)?;
    not_of_system(&written.name.value)?;
    if let Some(how) = written.attach {
        attach(run, written, how)?;
    } else {
        let spec = spec(run.cx, written)?;
        run.cx.server.instance().create_database(&spec)?;
    }
    run.done(None);
    Ok(())
}

fn spec(cx: &Context, written: &CreateDatabase) -> Result<DatabaseSpec> {
    let name: &str = &written.name.value;
    let mut groups = written.filegroups.iter();
    let mut primary = Vec::new();
    for group in groups.by_ref().take(1) {
        for written in &group.files {
            primary.push(file(cx, written, false)?);
        }
    }
    if primary.is_empty() {
        let path = cx.server.path(&format!("{}.mdf", file_stem(name)));
        primary.push(FileSpec::new(name, path));
    }
    let mut spec = DatabaseSpec::new(name, primary.remove(0));
    spec.primary.extend(primary);
    for group in groups {
        spec.filegroups.push(filegroup(cx, group)?);
    }
    spec.log = match written.log.as_slice() {
        [] if written.filegroups.is_empty() => {
            let path = cx.server.path(&format!("{}_log.ldf", file_stem(name)));
            Some(FileSpec::new(log_name(name), path).size_mb(8))
        }
        [] => None,
        [one] => Some(file(cx, one, false)?),
        _ => return Err(unsupported("a second log file")),
    };
    Ok(spec)
}

/// The default name of a database's files: the name of the database. A name that is too long for a file name
/// is cut. Characters that would change the path (`../x`) or that another system does not allow become `_`.
/// A changed name gets a number behind it that is computed from the whole name.
fn file_stem(name: &str) -> Cow<'_, str> {
    let odd = |c: char| c.is_control() || r#"/\:*?"<>|"#.contains(c);
    if name.len() <= MAX_STEM_BYTES && !name.contains(odd) {
        return Cow::Borrowed(name);
    }
    let mut bytes = 0;
    let fits = |c: &char| {
        bytes += c.len_utf8();
        bytes <= MAX_STEM_BYTES
    };
    let plain = name.chars().map(|c| if odd(c) { '_' } else { c });
    let start: String = plain.take_while(fits).collect();
    Cow::Owned(format!("{start}_{:08x}", crc32c::crc32c(name.as_bytes())))
}

fn filegroup(cx: &Context, written: &WrittenGroup) -> Result<FilegroupSpec> {
    if let Some(what) = &written.contains {
        return Err(unsupported(&format!("CONTAINS {what}")));
    }
    let files: Result<Vec<FileSpec>> = written.files.iter().map(|f| file(cx, f, false)).collect();
    let name = written.name.as_ref().map_or("", |n| &n.value);
    let mut group = FilegroupSpec::new(name, files?);
    group.is_default = written.default;
    Ok(group)
}

/// FOR ATTACH: the first file is the primary one, the others are the present paths of files.
fn attach(run: &mut Run<'_>, written: &CreateDatabase, how: Attach) -> Result<()> {
    let mut paths = Vec::new();
    for file in written.filegroups.iter().flat_map(|g| &g.files) {
        let Some(name) = &file.file_name else {
            let text = "File option FILENAME is required in this CREATE/ALTER DATABASE statement.";
            return custom(1036, 15, 1, text);
        };
        paths.push(path(run.cx, name)?);
    }
    for file in &written.log {
        if let Some(name) = &file.file_name {
            paths.push(path(run.cx, name)?);
        }
    }
    let read_only = match how {
        // Both use an existing log, and create a new one in place of a lost one.
        Attach::Attach | Attach::RebuildLog => false,
        Attach::AttachReadOnly => true,
    };
    if paths.is_empty() {
        let text = "File option FILENAME is required in this CREATE/ALTER DATABASE statement.";
        return custom(1036, 15, 1, text);
    }
    let primary = paths.remove(0);
    let options = AttachOptions {
        name: Some(written.name.value.to_string()),
        files: paths,
        read_only,
        ..AttachOptions::default()
    };
    let instance = run.cx.server.instance();
    let reported = instance
        .attach_database(&primary, &options)?
        .take_messages();
    reported.into_iter().for_each(|message| run.inform(message));
    Ok(())
}

/// DROP DATABASE: a database that does not exist is reported, and the others are dropped.
pub(super) fn drop(run: &mut Run<'_>, written: &Drop) -> Result<()> {
    outside_transaction(run, "DROP DATABASE")?;
    let mut failed: Option<Box<SqlError>> = None;
    for name in &written.names {
        let name = name.name();
        let gone: Result<()> = match is_system(name) {
            true => {
                let text =
                    format!("Cannot drop the database '{name}' because it is a system database.");
                custom(3708, 16, 4, &text)
            }
            false => {
                let instance = run.cx.server.instance();
                instance.drop_database(name).map_err(Into::into)
            }
        };
        match gone {
            Ok(()) => {}
            Err(e) if e.number() == 3701 && written.if_exists => {}
            Err(mut e) => {
                if e.number() == 3701 {
                    e.messages.iter_mut().for_each(|m| m.state = 1);
                }
                match &mut failed {
                    Some(error) => error.messages.append(&mut e.messages),
                    None => failed = Some(e),
                }
            }
        }
    }
    run.done(None);
    failed.map_or(Ok(()), Err)
}
