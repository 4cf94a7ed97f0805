//! Output of the trace flags 3004, 3014 and 3213 about a backup: to the client (3604), to the error log
//! (3605).

use furrow_backup::{BufferFigures, Step};
use furrow_context::run::Run;
use furrow_messages::Message;
use furrow_observe::errorlog::Source;
use furrow_observe::task;
use furrow_observe::traceflags::TraceFlag;

/// Prints lines if the flag is on for the session or the instance.
fn print(run: &mut Run<'_>, flag: TraceFlag, lines: &[String]) {
    if !task::trace_flag_on(flag) {
        return;
    }
    if task::trace_flag_on(TraceFlag::OUTPUT_TO_ERROR_LOG) {
        let source = Source::Spid(task::current().session_id());
        let log = run.cx.server.instance().error_log();
        lines.iter().for_each(|line| log.write(source, line));
    }
    if task::trace_flag_on(TraceFlag::OUTPUT_TO_CLIENT) {
        for line in lines {
            run.inform(Message::custom(0, 0, 1, line));
        }
    }
}

/// 3213: the buffers of a backup.
pub(super) fn buffers(run: &mut Run<'_>, figures: &BufferFigures) {
    let kb = figures.transfer_bytes >> 10;
    let total = (figures.buffers * figures.sets * figures.transfer_bytes) >> 20;
    let lines = [
        "Backup/Restore buffer configuration parameters".to_owned(),
        format!("BufferCount: {}", figures.buffers),
        format!("Sets Of Buffers: {}", figures.sets),
        format!("MaxTransferSize: {kb} KB"),
        format!(
            "Min MaxTransferSize: {} KB",
            furrow_backup::MIN_TRANSFER_BYTES >> 10
        ),
        format!("Total buffer space: {total} MB"),
        format!("Tabular data device count: {}", figures.volumes),
        format!("Output device count: {}", figures.stripes),
        "Filesystem i/o alignment: 4096".to_owned(),
    ];
    print(run, TraceFlag::PRINT_BACKUP_BUFFERS, &lines);
}

/// 3004: a step; 3014: its figures.
pub(super) fn step(run: &mut Run<'_>, database: &str, step: &Step) {
    let what = match step {
        Step::MediaOpen => "Media open",
        Step::Reading(_) => "Copying data files",
        Step::ReadingLog => "Copying transaction log",
        Step::Ending => "Writing the end of backup set",
        Step::Done => "Backup set complete",
    };
    let line = format!("BackupDatabase: {what}: {database}");
    print(run, TraceFlag::PRINT_BACKUP_STEPS, &[line]);
    if let Step::Reading(bytes) = step {
        let line = format!("BackupDatabase: {bytes} bytes are allocated in data files: {database}");
        print(run, TraceFlag::PRINT_BACKUP_DETAIL, &[line]);
    }
}
