//! HELP: the syntax of commands.

use super::{Call, Command, INFO};
use furrow_context::error::{Result, refuse};
use furrow_context::run::Run;
use furrow_messages::Message;

pub(super) static COMMANDS: &[Command] = &[Command {
    name: "HELP",
    syntax: "DBCC HELP ('command' | '?') [WITH NO_INFOMSGS]",
    text: "Shows the syntax of a command, or lists the commands ('?').",
    options: INFO,
    run: help,
}];

fn help(run: &mut Run<'_>, call: &Call) -> Result<()> {
    call.takes(1..=1)?;
    let wanted = call.text(0)?.to_owned();
    let mut lines: Vec<&str> = match &*wanted {
        "?" => super::all().map(|c| c.name).collect(),
        name => {
            let named = super::all().filter(|c| c.name.eq_ignore_ascii_case(name));
            named.map(|c| c.syntax).collect()
        }
    };
    if lines.is_empty() {
        return refuse(8987, &[wanted.into()]);
    }
    lines.sort_unstable();
    for line in lines {
        run.inform(Message::custom(0, 0, 1, line));
    }
    Ok(())
}
