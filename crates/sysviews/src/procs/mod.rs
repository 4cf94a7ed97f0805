//! System procedures such as `sp_helpdb` and `xp_readerrorlog`.
//!
//! Each is a row of a table: its name, its parameters with types and defaults, its description in one
//! sentence (for the reference), and the function that runs it. EXEC looks a name up with [`find`] and passes
//! the arguments to [`call`], which matches them with the parameters as for procedures of users. The results
//! come from the engine's own state; the return value is the return status.

mod configure;
mod databases;
mod errorlog;
mod procedure;
mod refresh;
mod rename;
pub(crate) mod scripts;
mod text;

pub use procedure::SystemProcedure;
pub(crate) use procedure::{Fallback, Parameter, parameter};

pub use configure::reconfigure;
pub(crate) use errorlog::cycle_error_log;
pub use scripts::script;

use furrow_context::error::{Result, SqlError, refuse};
use furrow_context::run::Run;
use furrow_scalar::convert::Conversion;
use furrow_types::{DataType, TypeId, Value};

/// An argument of EXEC.
#[derive(Debug, Clone)]
pub struct Given {
    /// The parameter that it names, with its `@`.
    pub name: Option<String>,
    /// Its value and type; `None` for DEFAULT.
    pub value: Option<(Value, DataType)>,
}

/// The tables of all procedures.
static TABLES: &[&[SystemProcedure]] = &[
    errorlog::PROCEDURES,
    databases::PROCEDURES,
    configure::PROCEDURES,
    text::PROCEDURES,
    rename::PROCEDURES,
    refresh::PROCEDURES,
];

/// All procedures, by table.
pub(crate) fn all() -> impl Iterator<Item = &'static SystemProcedure> {
    TABLES.iter().flat_map(|table| table.iter())
}

/// The system procedure with this name, without schema or database; case does not matter.
pub fn find(name: &str) -> Option<&'static SystemProcedure> {
    all().find(|p| p.name.eq_ignore_ascii_case(name))
}

/// Runs a system procedure; returns its return status. 201, 8143, 8144 and 8145 for arguments that do not
/// fit its parameters.
pub fn call(
    run: &mut Run<'_>,
    procedure: &'static SystemProcedure,
    given: Vec<Given>,
) -> Result<i32> {
    // For an error of the call, SQL Server names line 0 of the procedure.
    let named = |mut error: Box<SqlError>| {
        if !procedure.extended {
            error
                .procedure
                .get_or_insert_with(|| procedure.name.to_owned());
        }
        error
    };
    let values = matched(run, procedure, given).map_err(named)?;
    let name = (!procedure.extended).then(|| procedure.name.to_owned());
    (procedure.body)(run, &values).map_err(|error| match name {
        Some(name) => error.at(1, Some(name)),
        None => error,
    })
}

fn matched(
    run: &Run<'_>,
    procedure: &'static SystemProcedure,
    given: Vec<Given>,
) -> Result<Vec<Value>> {
    let parameters = procedure.parameters;
    let mut values: Vec<Option<Value>> = vec![None; parameters.len()];
    for (place, argument) in given.into_iter().enumerate() {
        let by_name = argument.name.as_ref().filter(|_| !procedure.extended);
        let at = match by_name {
            Some(name) => parameters
                .iter()
                .position(|p| p.name.eq_ignore_ascii_case(name)),
            None if place < parameters.len() => Some(place),
            None => return refuse(8144, &[procedure.name.into()]),
        };
        let name = argument.name.unwrap_or_default();
        let Some((at, parameter)) = at.and_then(|at| Some((at, parameters.get(at)?))) else {
            return refuse(8145, &[name.into(), procedure.name.into()]);
        };
        if values.get(at).is_some_and(Option::is_some) {
            return refuse(8143, &[parameter.name.into()]);
        }
        let Some((value, from)) = argument.value else {
            continue;
        };
        if procedure.extended && !fits(&value, from, parameter.data_type) {
            return refuse(22004, &["Invalid Parameter Type".into()]);
        }
        let conversion = Conversion::implicit(from, parameter.data_type)?;
        let value = match conversion {
            Some(conversion) => conversion.apply(&value, &run.cx.settings())?,
            None => value,
        };
        if let Some(slot) = values.get_mut(at) {
            *slot = Some(value);
        }
    }
    let filled = parameters.iter().zip(values).map(|(parameter, value)| {
        Ok(match (value, parameter.fallback) {
            (Some(value), _) => value,
            (None, Fallback::Null) => Value::Null,
            (None, Fallback::Int(n)) => Value::Int(n),
            (None, Fallback::Text(text)) => Value::NVarChar(text.to_owned()),
            (None, Fallback::Required) => {
                return refuse(201, &[procedure.name.into(), parameter.name.into()]);
            }
        })
    });
    filled.collect()
}

/// Whether a value fits a parameter of an extended procedure: text must be Unicode.
fn fits(value: &Value, from: DataType, to: DataType) -> bool {
    if value.is_null() {
        return true;
    }
    let text = from.id.has_collation();
    match to.id {
        TypeId::NVarChar => text && from.id.is_unicode(),
        TypeId::Int => value.as_i64().is_some(),
        _ => !text || from.id.is_unicode(),
    }
}
