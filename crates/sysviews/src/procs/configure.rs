//! `sp_configure` and RECONFIGURE.

use super::{Fallback, SystemProcedure, parameter};
use crate::configuration;
use crate::configuration::ConfigOption;
use crate::value::{INT, int, nvarchar, text, varchar};
use furrow_context::error::{Result, refuse, unsupported};
use furrow_context::run::Run;
use furrow_context::system::{ViewColumn, column};
use furrow_messages::Message;
use furrow_observe::errorlog::Source;
use furrow_types::Value;

pub(super) static PROCEDURES: &[SystemProcedure] = &[SystemProcedure {
    name: "sp_configure",
    parameters: &[
        parameter("@configname", varchar(35), Fallback::Null),
        parameter("@configvalue", INT, Fallback::Null),
    ],
    extended: false,
    text: "Shows the server's options, or sets one; RECONFIGURE installs what was set.",
    body: configure,
}];

static COLUMNS: &[ViewColumn] = &[
    column("name", nvarchar(35)),
    column("minimum", INT),
    column("maximum", INT),
    column("config_value", INT),
    column("run_value", INT),
];

static DUPLICATES: &[ViewColumn] = &[column("duplicate_options", nvarchar(35))];

fn show_options(run: &mut Run<'_>, options: &[&ConfigOption]) {
    let server = std::sync::Arc::clone(&run.cx.server);
    let row = |o: &&ConfigOption| {
        vec![
            text(o.name),
            int(o.minimum),
            int(o.maximum),
            int(o.config_value(&server)),
            int(o.run_value(&server)),
        ]
    };
    let rows = options.iter().map(row).collect();
    run.show(COLUMNS, rows);
}

/// The option with a name, or with an unambiguous part of a name: 15123, 15124.
fn find(run: &mut Run<'_>, name: &str) -> Result<&'static ConfigOption> {
    let visible = configuration::visible(&run.cx.server);
    let wanted = name.to_lowercase();
    if let Some(exact) = visible.iter().find(|o| o.name.to_lowercase() == wanted) {
        return Ok(exact);
    }
    let part = |o: &&&ConfigOption| o.name.to_lowercase().contains(&wanted);
    let found: Vec<&&ConfigOption> = visible.iter().filter(part).collect();
    match found.as_slice() {
        [] => refuse(15123, &[name.into()]),
        [one] => Ok(one),
        several => {
            let rows = several.iter().map(|o| vec![text(o.name)]).collect();
            run.show(DUPLICATES, rows);
            refuse(15124, &[name.into()])
        }
    }
}

fn configure(run: &mut Run<'_>, values: &[Value]) -> Result<i32> {
    let Some(name) = values.first().and_then(Value::as_str).map(str::to_owned) else {
        let visible = configuration::visible(&run.cx.server);
        show_options(run, &visible);
        return Ok(0);
    };
    let option = find(run, &name)?;
    let Some(value) = values.get(1).and_then(Value::as_i64) else {
        show_options(run, &[option]);
        return Ok(0);
    };
    let fits = i64::from(option.minimum)..=i64::from(option.maximum);
    let Some(value) = i32::try_from(value).ok().filter(|_| fits.contains(&value)) else {
        return refuse(15129, &[value.into(), option.name.into()]);
    };
    let server = std::sync::Arc::clone(&run.cx.server);
    let before = option.config_value(&server);
    if !option.can_change() && value != before {
        return Err(unsupported(&format!("sp_configure for {}", option.name)));
    }
    if option.can_change() {
        option.set(&server, value);
    }
    let said = Message::new(15457, &[option.name.into(), before.into(), value.into()]);
    let log = run.cx.server.instance().error_log();
    log.write(Source::Spid(run.cx.sessions.id()), &said.text);
    run.inform(said);
    Ok(0)
}

/// Runs RECONFIGURE.
pub fn reconfigure(run: &mut Run<'_>) -> Result<()> {
    if run.cx.sessions.count() > 0 {
        return refuse(574, &["CONFIG".into()]);
    }
    configuration::install(&run.cx.server);
    run.done(None);
    Ok(())
}
