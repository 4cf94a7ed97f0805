//! `sp_attach_db`, `sp_detach_db`.

use super::{Fallback, Parameter, SystemProcedure, parameter};
use crate::value::{SYSNAME, nvarchar};
use furrow_context::error::{Result, refuse};
use furrow_context::parse::parse;
use furrow_context::run::Run;
use furrow_context::system_databases::is_system;
use furrow_types::{DataType, TypeId, Value};

const FILE: DataType = nvarchar(260);

const fn file(name: &'static str) -> Parameter {
    parameter(name, FILE, Fallback::Null)
}

pub(super) static PROCEDURES: &[SystemProcedure] = &[
    SystemProcedure {
        name: "sp_detach_db",
        parameters: &[
            parameter("@dbname", SYSNAME, Fallback::Required),
            parameter(
                "@skipchecks",
                DataType::sized(TypeId::NVarChar, 20),
                Fallback::Null,
            ),
        ],
        extended: false,
        text: "Closes a database and takes it off the list; its files stay.",
        body: detach,
    },
    SystemProcedure {
        name: "sp_attach_db",
        parameters: &[
            parameter("@dbname", SYSNAME, Fallback::Required),
            parameter("@filename1", FILE, Fallback::Required),
            file("@filename2"),
            file("@filename3"),
            file("@filename4"),
            file("@filename5"),
            file("@filename6"),
            file("@filename7"),
            file("@filename8"),
            file("@filename9"),
            file("@filename10"),
            file("@filename11"),
            file("@filename12"),
            file("@filename13"),
            file("@filename14"),
            file("@filename15"),
            file("@filename16"),
        ],
        extended: false,
        text: "Opens the files of a database and puts it on the list: CREATE DATABASE FOR ATTACH.",
        body: attach,
    },
];

fn detach(run: &mut Run<'_>, values: &[Value]) -> Result<i32> {
    let name = values.first().and_then(Value::as_str).unwrap_or("");
    let instance = run.cx.server.instance();
    let known = instance.databases();
    if !known.iter().any(|d| d.name.eq_ignore_ascii_case(name)) {
        return refuse(15010, &[name.into()]);
    }
    if is_system(name) {
        return refuse(7940, &[]);
    }
    match instance.detach_database(name) {
        Err(e) if e.number() == 3702 => refuse(3703, &["database".into(), name.into()]),
        other => {
            other?;
            Ok(0)
        }
    }
}

fn attach(run: &mut Run<'_>, values: &[Value]) -> Result<i32> {
    let name = values.first().and_then(Value::as_str).unwrap_or("");
    let files = values.iter().skip(1).filter_map(Value::as_str);
    let files = files.map(|path| format!("(FILENAME = N'{}')", path.replace('\'', "''")));
    let files: Vec<String> = files.collect();
    let text = format!(
        "CREATE DATABASE [{}] ON {} FOR ATTACH",
        name.replace(']', "]]"),
        files.join(", ")
    );
    let statements = parse(&text, run.cx)?;
    run.interpreter.run(run, &statements)?;
    Ok(0)
}
