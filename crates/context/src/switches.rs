//! SET options that are on or off, by name.

use furrow_scalar::Switches;

/// The switch of an option.
pub fn switch(name: &str) -> Option<Switches> {
    Some(match name {
        "ANSI_NULLS" => Switches::ANSI_NULLS,
        "ANSI_NULL_DFLT_OFF" => Switches::ANSI_NULL_DFLT_OFF,
        "ANSI_NULL_DFLT_ON" => Switches::ANSI_NULL_DFLT_ON,
        "ANSI_PADDING" => Switches::ANSI_PADDING,
        "ANSI_WARNINGS" => Switches::ANSI_WARNINGS,
        "ARITHABORT" => Switches::ARITHABORT,
        "ARITHIGNORE" => Switches::ARITHIGNORE,
        "CONCAT_NULL_YIELDS_NULL" => Switches::CONCAT_NULL_YIELDS_NULL,
        "CURSOR_CLOSE_ON_COMMIT" => Switches::CURSOR_CLOSE_ON_COMMIT,
        "IMPLICIT_TRANSACTIONS" => Switches::IMPLICIT_TRANSACTIONS,
        "NOCOUNT" => Switches::NOCOUNT,
        "NUMERIC_ROUNDABORT" => Switches::NUMERIC_ROUNDABORT,
        "QUOTED_IDENTIFIER" => Switches::QUOTED_IDENTIFIER,
        "XACT_ABORT" => Switches::XACT_ABORT,
        "ANSI_DEFAULTS" => ANSI_DEFAULTS,
        _ => return None,
    })
}

/// What SET ANSI_DEFAULTS sets.
pub const ANSI_DEFAULTS: Switches = Switches::ANSI_NULLS
    .and(Switches::ANSI_NULL_DFLT_ON)
    .and(Switches::ANSI_PADDING)
    .and(Switches::ANSI_WARNINGS)
    .and(Switches::CURSOR_CLOSE_ON_COMMIT)
    .and(Switches::IMPLICIT_TRANSACTIONS)
    .and(Switches::QUOTED_IDENTIFIER);
