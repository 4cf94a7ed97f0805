//! Start options: trace flags (`-T`) and many extents of a file in a turn (`-E`), set and logged.

use crate::shared::InstanceConfig;
use furrow_io::locked_limit_bytes;
use furrow_observe::Instruments;
use furrow_observe::errorlog::{ErrorLog, Source};
use furrow_observe::traceflags::effect_note;
use furrow_pool::Locked;

/// Sets the trace flags, and writes the start options to the error log.
pub(super) fn set(config: &InstanceConfig, instruments: &Instruments, log: &ErrorLog) {
    let write = |text: &str| log.write(Source::Server, text);
    let mut options = String::new();
    for flag in &config.trace_flags {
        instruments.trace_flags.set_at_start(*flag);
        options.push_str(&format!("\n\t -T {flag}"));
    }
    if config.many_extents_a_turn {
        options.push_str("\n\t -E");
    }
    if !options.is_empty() {
        write(&format!("Command Line Startup Parameters:{options}"));
    }
    let notes = config
        .trace_flags
        .iter()
        .map(|flag| effect_note(*flag, true));
    notes.flatten().for_each(|note| write(&note));
}

/// Writes whether the memory of the buffer pool is locked, where trace flag 845 asked for it.
pub(super) fn log_locked(locked: &Locked, log: &ErrorLog) {
    let text = match locked {
        Locked::No => return,
        Locked::Bytes(_) => "Using locked pages in the memory manager.".to_owned(),
        Locked::Refused(bytes, reason) => {
            let limit = match locked_limit_bytes() {
                Some(limit) => format!("this process may lock {} KB (ulimit -l)", limit / 1024),
                None => "this process may lock any amount".to_owned(),
            };
            format!(
                "Trace flag 845 is set, but the {} KB of the buffer pool cannot be locked in memory: \
                 {reason}; {limit}. The buffer pool works with memory that the system may page out.",
                bytes / 1024
            )
        }
    };
    log.write(Source::Server, &text);
}
