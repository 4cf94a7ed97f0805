//! Options of BACKUP and RESTORE.

use super::conflicts::no_conflicts;
use super::keys;
use super::option_text::value_text;
use furrow_backup::media::Codec;
use furrow_backup::{BackupRequest, MAX_TRANSFER_BYTES, MIN_TRANSFER_BYTES, Parts, Throttle};
use furrow_context::error::{Result, refuse, unsupported};
use furrow_context::run::Run;
use furrow_messages::Message;
use furrow_tsql::ast::option::{Opt, OptValue};

/// The default of MAXTRANSFERSIZE.
const TRANSFER_BYTES: usize = 1 << 20;
/// Upper limit of BUFFERCOUNT.
const MOST_BUFFERS: u64 = 65_536;
/// Percent between two messages of STATS without a number.
const STATS_PERCENT: u64 = 10;

/// The options of a BACKUP statement.
pub(super) struct Asked {
    pub(super) request: BackupRequest,
    /// STATS: percent between two messages.
    pub(super) stats: Option<u64>,
    /// NORECOVERY of a log backup: the database is RESTORING after it.
    pub(super) tail: bool,
    /// NO_TRUNCATE or CONTINUE_AFTER_ERROR of a log backup: also of a database that cannot be opened.
    pub(super) damaged: bool,
}

/// The whole number of an option (3217).
pub(super) fn number(run: &mut Run<'_>, option: &Opt) -> Result<u64> {
    let text = value_text(run, option)?;
    match text.trim().parse() {
        Ok(number) => Ok(number),
        Err(_) => refuse(3217, &[(&*option.name).into()]),
    }
}

/// STATS: percent between two messages.
pub(super) fn stats(run: &mut Run<'_>, option: &Opt) -> Result<u64> {
    if option.value.is_none() {
        return Ok(STATS_PERCENT);
    }
    let percent = number(run, option)?;
    match percent {
        1..=100 => Ok(percent),
        _ => refuse(3250, &[percent.into(), "STATS".into()]),
    }
}

/// BLOCKSIZE: a power of 2 from 512 to 65536. It has no effect: stripes are written in units of 4096.
pub(super) fn block_size(run: &mut Run<'_>, option: &Opt) -> Result<()> {
    let bytes = number(run, option)?;
    if !bytes.is_power_of_two() {
        return refuse(3253, &[]);
    }
    match bytes {
        512..=65_536 => Ok(()),
        _ => refuse(3250, &[bytes.into(), "BLOCKSIZE".into()]),
    }
}

/// MAXTRANSFERSIZE: a multiple of 64 KB, up to 4 MB.
pub(super) fn transfer_bytes(run: &mut Run<'_>, option: &Opt) -> Result<usize> {
    let bytes = number(run, option)?;
    let range = MIN_TRANSFER_BYTES as u64..=MAX_TRANSFER_BYTES as u64;
    match range.contains(&bytes) && bytes % MIN_TRANSFER_BYTES as u64 == 0 {
        true => Ok(bytes as usize),
        false => refuse(3217, &["MAXTRANSFERSIZE".into()]),
    }
}

/// THROTTLE: megabytes a second that a backup reads at most; 0 is no limit. Furrow's own option.
fn throttle(run: &mut Run<'_>, option: &Opt) -> Result<Throttle> {
    let rate = number(run, option)?;
    match u32::try_from(rate) {
        Ok(0) => Ok(Throttle::Off),
        Ok(rate) => Ok(Throttle::MbPerS(rate)),
        Err(_) => refuse(3250, &[rate.into(), "THROTTLE".into()]),
    }
}

/// BUFFERCOUNT.
pub(super) fn buffer_count(run: &mut Run<'_>, option: &Opt) -> Result<usize> {
    let buffers = number(run, option)?;
    match buffers {
        1..=MOST_BUFFERS => Ok(buffers as usize),
        _ => refuse(3217, &["BUFFERCOUNT".into()]),
    }
}

/// COMPRESSION: LZ4 if no algorithm is named.
fn compression(run: &mut Run<'_>, option: &Opt) -> Result<Codec> {
    let Some(OptValue::List(list)) = &option.value else {
        return Ok(Codec::Lz4);
    };
    let (mut algorithm, mut level) = ("LZ4".to_owned(), None);
    for option in list {
        let value = value_text(run, option)?.to_ascii_uppercase();
        match &*option.name {
            "ALGORITHM" => algorithm = value,
            "LEVEL" => {
                level = Some(match &*value {
                    "LOW" => 1,
                    "MEDIUM" => 3,
                    "HIGH" => 9,
                    other => match other.parse() {
                        Ok(level @ 1..=19) => level,
                        _ => return refuse(3217, &["LEVEL".into()]),
                    },
                });
            }
            _ => return refuse(3217, &["COMPRESSION".into()]),
        }
    }
    match &*algorithm {
        "LZ4" => Ok(Codec::Lz4),
        "ZSTD" => Ok(Codec::Zstd(level.unwrap_or(3))),
        "MS_XPRESS" | "QAT_DEFLATE" => Err(unsupported(&format!("ALGORITHM = {algorithm}"))),
        _ => refuse(3217, &["ALGORITHM".into()]),
    }
}

fn plain() -> BackupRequest {
    BackupRequest {
        devices: Vec::new(),
        codec: Codec::None,
        key: None,
        throttle: Throttle::default(),
        checksum: true,
        continue_after_error: false,
        buffer_count: None,
        transfer_bytes: TRANSFER_BYTES,
        format: false,
        init: false,
        name: String::new(),
        description: String::new(),
        media_name: String::new(),
        media_description: String::new(),
        differential: false,
        copy_only: false,
        parts: Parts::default(),
        user: "sa".to_owned(),
        server: String::new(),
    }
}

/// Options of BACKUP.
pub(super) fn backup(run: &mut Run<'_>, options: &[Opt], log: bool) -> Result<Asked> {
    no_conflicts(options.iter().map(|option| &*option.name))?;
    let (mut request, mut percent) = (plain(), None);
    let (mut tail, mut damaged) = (false, false);
    for option in options {
        match &*option.name {
            "CHECKSUM" => request.checksum = true,
            "NO_CHECKSUM" => request.checksum = false,
            "CONTINUE_AFTER_ERROR" => {
                request.continue_after_error = true;
                damaged |= log;
            }
            "COPY_ONLY" => request.copy_only = true,
            "DIFFERENTIAL" if !log => request.differential = true,
            "FORMAT" => (request.format, request.init) = (true, true),
            "INIT" => request.init = true,
            "ENCRYPTION" => request.key = Some(keys::asked(run, option)?),
            "THROTTLE" => request.throttle = throttle(run, option)?,
            "COMPRESSION" => request.codec = compression(run, option)?,
            "BLOCKSIZE" => block_size(run, option)?,
            "BUFFERCOUNT" => request.buffer_count = Some(buffer_count(run, option)?),
            "MAXTRANSFERSIZE" => request.transfer_bytes = transfer_bytes(run, option)?,
            "NAME" => request.name = value_text(run, option)?,
            "DESCRIPTION" => request.description = value_text(run, option)?,
            "MEDIANAME" => request.media_name = value_text(run, option)?,
            "MEDIADESCRIPTION" => request.media_description = value_text(run, option)?,
            "STATS" => percent = Some(stats(run, option)?),
            // These ask for the default, or concern tapes.
            "NOINIT" | "NOFORMAT" | "SKIP" | "NOSKIP" | "STOP_ON_ERROR" | "NO_COMPRESSION"
            | "REWIND" | "NOREWIND" | "UNLOAD" | "NOUNLOAD" | "RESTART" => {}
            "NORECOVERY" if log => tail = true,
            // COPY_ONLY, and CONTINUE_AFTER_ERROR: a backup of the log reads no pages.
            "NO_TRUNCATE" if log => (request.copy_only, damaged) = (true, true),
            "STANDBY" if log => return Err(unsupported("BACKUP LOG WITH STANDBY")),
            "DIFFERENTIAL" | "NORECOVERY" | "STANDBY" | "NO_TRUNCATE" | "PASSWORD"
            | "MEDIAPASSWORD" => {
                let name = option.name.to_lowercase();
                return Err(Message::new(3032, &[name.into()]).into());
            }
            other => return Err(unsupported(&format!("BACKUP WITH {other}"))),
        }
    }
    Ok(Asked {
        request,
        stats: percent,
        tail,
        damaged,
    })
}
