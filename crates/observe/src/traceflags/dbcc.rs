//! DBCC TRACEON, TRACEOFF and TRACESTATUS.

use super::{FlagSet, TraceFlag, TraceFlags, info};
use furrow_messages::{Arg, Message};

/// For whom a flag is turned on or off.
#[derive(Debug, Clone, Copy)]
pub enum Target<'a> {
    /// For the whole instance: the argument -1.
    Global,
    /// For one session.
    Session(&'a FlagSet),
}

/// A row of DBCC TRACESTATUS.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct FlagStatus {
    /// The flag.
    pub flag: TraceFlag,
    /// On for this session, in either way.
    pub status: bool,
    /// On globally.
    pub global: bool,
    /// On for this session.
    pub session: bool,
}

/// State of message 2560 by statement.
const STATE_ON: u8 = 17;
const STATE_OFF: u8 = 30;

impl TraceFlags {
    /// DBCC TRACEON: turns the flags on, and returns the notices of those that were ignored. If a number is
    /// out of range, the call fails and nothing changes.
    pub fn turn_on(&self, flags: &[i64], target: Target<'_>) -> Result<Vec<Message>, Message> {
        let mut notices = Vec::new();
        for flag in parse(flags, STATE_ON)? {
            if info(flag).is_some_and(|info| info.startup_only) {
                notices.push(Message::new(2597, &[Arg::from(i64::from(flag.number()))]));
            } else if flag.number() != 0 {
                self.set(flag, target, true);
            }
        }
        Ok(notices)
    }

    /// DBCC TRACEOFF: turns the flags off. If a number is out of range, the call fails and nothing changes.
    pub fn turn_off(&self, flags: &[i64], target: Target<'_>) -> Result<(), Message> {
        for flag in parse(flags, STATE_OFF)? {
            self.set(flag, target, false);
        }
        Ok(())
    }

    fn set(&self, flag: TraceFlag, target: Target<'_>, on: bool) {
        match target {
            Target::Global => self.global.set(flag, on),
            Target::Session(set) => set.set(flag, on),
        }
    }

    /// DBCC TRACESTATUS: one row for each flag named, in that order; without names all flags that are
    /// on, globally or for the session. Numbers that cannot be flags are left out.
    pub fn status(&self, flags: &[i64], session: Option<&FlagSet>) -> Vec<FlagStatus> {
        let row = |flag: TraceFlag| {
            let global = self.global.contains(flag);
            let session = session.is_some_and(|set| set.contains(flag));
            FlagStatus {
                flag,
                status: global || session,
                global,
                session,
            }
        };
        if flags.is_empty() {
            let all = (0..=i64::from(TraceFlag::MAX))
                .filter_map(TraceFlag::new)
                .map(row);
            return all.filter(|row| row.status).collect();
        }
        flags
            .iter()
            .filter_map(|number| TraceFlag::new(*number))
            .map(row)
            .collect()
    }
}

fn parse(flags: &[i64], state: u8) -> Result<Vec<TraceFlag>, Message> {
    let mut parsed = Vec::with_capacity(flags.len());
    for (at, number) in flags.iter().enumerate() {
        match TraceFlag::new(*number) {
            Some(flag) => parsed.push(flag),
            None => return Err(Message::new(2560, &[Arg::from(at + 1)]).with_state(state)),
        }
    }
    Ok(parsed)
}

/// The line of the error log that reports DBCC TRACEON or TRACEOFF.
pub fn log_line(turned_on: bool, flags: &[i64], session_id: i32) -> String {
    let list: Vec<String> = flags.iter().map(i64::to_string).collect();
    let word = if turned_on { "TRACEON" } else { "TRACEOFF" };
    format!(
        "DBCC {word} {}, server process ID (SPID) {session_id}. \
         This is an informational message only; no user action is required.",
        list.join(", ")
    )
}

#[cfg(test)]
mod tests {
    use super::super::KNOWN;
    use super::*;

    fn flag(number: i64) -> TraceFlag {
        TraceFlag::new(number).unwrap()
    }

    #[test]
    fn the_table_is_sorted_and_every_flag_is_found() {
        assert!(KNOWN.windows(2).all(|pair| pair[0].flag < pair[1].flag));
        for known in KNOWN {
            assert_eq!(info(known.flag).unwrap().text, known.text);
        }
        assert!(info(flag(17_000)).is_none());
    }

    #[test]
    fn session_flags_hold_for_their_session_and_global_ones_for_all() {
        let flags = TraceFlags::default();
        let (mine, other) = (FlagSet::new(), FlagSet::new());
        assert!(
            flags
                .turn_on(&[1165, 3605], Target::Session(&mine))
                .unwrap()
                .is_empty()
        );
        assert!(flags.is_on(TraceFlag::PRINT_PROPORTIONAL_FILL, Some(&mine)));
        assert!(!flags.is_on(TraceFlag::PRINT_PROPORTIONAL_FILL, Some(&other)));
        assert!(!flags.is_on_globally(TraceFlag::PRINT_PROPORTIONAL_FILL));
        flags.turn_on(&[1165], Target::Global).unwrap();
        assert!(flags.is_on(TraceFlag::PRINT_PROPORTIONAL_FILL, Some(&other)));
        flags.turn_off(&[1165], Target::Global).unwrap();
        assert!(
            flags.is_on(TraceFlag::PRINT_PROPORTIONAL_FILL, Some(&mine)),
            "the session's stays"
        );
        flags.turn_off(&[1165], Target::Session(&mine)).unwrap();
        assert!(!flags.is_on(TraceFlag::PRINT_PROPORTIONAL_FILL, Some(&mine)));
    }

    #[test]
    fn a_global_only_flag_has_no_effect_for_a_session() {
        let flags = TraceFlags::default();
        let mine = FlagSet::new();
        flags.turn_on(&[1222], Target::Session(&mine)).unwrap();
        assert!(!flags.is_on(TraceFlag::DEADLOCK_LIST, Some(&mine)));
        assert!(
            flags.status(&[1222], Some(&mine))[0].session,
            "but it is listed"
        );
    }

    #[test]
    fn a_number_out_of_range_is_an_error_and_changes_nothing() {
        let flags = TraceFlags::default();
        let error = flags.turn_on(&[1222, 17_799], Target::Global).unwrap_err();
        assert_eq!((error.number, error.state), (2560, 17));
        assert_eq!(
            error.text,
            "Parameter 2 is incorrect for this DBCC statement."
        );
        assert!(!flags.is_on_globally(TraceFlag::DEADLOCK_LIST));
        let error = flags.turn_off(&[-5], Target::Global).unwrap_err();
        assert_eq!((error.number, error.state), (2560, 30));
        assert!(flags.turn_on(&[17_798], Target::Global).is_ok());
    }

    #[test]
    fn zero_is_accepted_and_never_listed() {
        let flags = TraceFlags::default();
        flags.turn_on(&[0, 1204], Target::Global).unwrap();
        let listed: Vec<u16> = flags
            .status(&[], None)
            .iter()
            .map(|row| row.flag.number())
            .collect();
        assert_eq!(listed, [1204]);
        assert!(!flags.status(&[0], None)[0].status);
    }

    #[test]
    fn startup_only_flags_are_refused_with_a_notice_except_at_start() {
        let flags = TraceFlags::default();
        let notices = flags.turn_on(&[834, 1204], Target::Global).unwrap();
        assert_eq!(notices.len(), 1);
        assert_eq!(
            notices[0].text,
            "Ignoring trace flag 834. It is either an invalid trace flag or a trace flag that can \
             only be specified during server startup."
        );
        assert_eq!((notices[0].number, notices[0].level), (2597, 10));
        assert!(!flags.is_on_globally(TraceFlag::LARGE_PAGES));
        assert!(flags.is_on_globally(TraceFlag::DEADLOCK_NODES));
        flags.set_at_start(TraceFlag::LARGE_PAGES);
        assert!(flags.is_on_globally(TraceFlag::LARGE_PAGES));
    }

    #[test]
    fn status_lists_what_is_on_or_what_was_named() {
        let flags = TraceFlags::default();
        let mine = FlagSet::new();
        flags.turn_on(&[3604], Target::Session(&mine)).unwrap();
        flags.turn_on(&[1222], Target::Global).unwrap();
        let all = flags.status(&[], Some(&mine));
        let rows: Vec<(u16, bool, bool)> = all
            .iter()
            .map(|row| (row.flag.number(), row.global, row.session))
            .collect();
        assert_eq!(rows, [(1222, true, false), (3604, false, true)]);
        let named = flags.status(&[2562, 3604], Some(&mine));
        let rows: Vec<(u16, bool)> = named
            .iter()
            .map(|row| (row.flag.number(), row.status))
            .collect();
        assert_eq!(rows, [(2562, false), (3604, true)]);
    }

    #[test]
    fn a_flag_without_an_effect_is_named_in_the_error_log() {
        use super::super::effect_note;
        let note = |number, global| effect_note(flag(number), global).unwrap_or_default();
        for unknown in [4199, 17_000, 1117] {
            let expected = format!("Trace flag {unknown} is set; Furrow does not act on it.");
            assert_eq!(note(unknown, true), expected);
            assert_eq!(note(unknown, false), expected);
        }
        assert_eq!(note(1222, true), "");
        assert_eq!(note(1165, false), "");
        assert_eq!(note(0, true), "");
        let session = "Trace flag 1222 is set for a session, where it has no effect. DBCC TRACEON (1222, -1) \
                       sets it for the instance.";
        assert_eq!(note(1222, false), session);
    }

    #[test]
    fn the_log_line_names_flags_and_session() {
        assert_eq!(
            log_line(true, &[1165, 3605], 56),
            "DBCC TRACEON 1165, 3605, server process ID (SPID) 56. \
             This is an informational message only; no user action is required."
        );
    }
}
