//! Databases that come and go: `sp_detach_db`.

use super::{Fallback, SystemProcedure, parameter};
use crate::error::Result;
use crate::interp::Run;
use crate::views::value::SYSNAME;
use furrow_format::types::{DataType, TypeId, Value};

pub(super) static PROCEDURES: &[SystemProcedure] = &[SystemProcedure {
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
}];

fn detach(run: &mut Run<'_>, values: &[Value]) -> Result<i32> {
    let name = values.first().and_then(Value::as_str).unwrap_or("");
    run.cx.server.instance().detach_database(name)?;
    Ok(0)
}
