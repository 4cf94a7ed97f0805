//! STOPAT, STOPATMARK and STOPBEFOREMARK.

use super::option_text::value_text;
use super::text;
use furrow_context::error::{Result, refuse};
use furrow_context::run::Run;
use furrow_engine::StopPoint;
use furrow_format::Lsn;
use furrow_io::time::{Civil, WallTime};
use furrow_tsql::ast::expr::Expr;
use furrow_tsql::ast::option::Opt;
use furrow_types::{DateOrder, TypeId, parse_moment};

/// Ticks of `datetime2(7)` in a microsecond, and microseconds in a minute.
const TICKS_PER_US: u64 = 10;
const US_PER_MINUTE: i64 = 60_000_000;

/// Parses a time; the clock of the server is UTC.
fn moment(text: &str) -> Option<WallTime> {
    let written = parse_moment(text, DateOrder::Mdy, TypeId::DateTime2).ok()?;
    let (year, month, day) = written.local.date.to_ymd();
    let midnight = WallTime::from_civil(Civil {
        year: i64::from(year),
        month,
        day,
        hour: 0,
        minute: 0,
        second: 0,
        microsecond: 0,
    });
    let of_day = (written.local.time.rescale(7).0.ticks() / TICKS_PER_US) as i64;
    let offset = i64::from(written.offset_minutes.unwrap_or(0)) * US_PER_MINUTE;
    Some(WallTime::from_unix_us(midnight.unix_us() + of_day - offset))
}

/// STOPAT: 3217 for a text that is not a time.
pub(super) fn time(run: &mut Run<'_>, option: &Opt) -> Result<StopPoint> {
    match moment(&value_text(run, option)?) {
        Some(time) => Ok(StopPoint::Time(time)),
        None => refuse(3217, &["STOPAT".into()]),
    }
}

/// The LSN behind `lsn:`: `numeric(25,0)`, or the hexadecimal form of the log views.
fn lsn(text: &str) -> Option<Lsn> {
    let text = text.trim();
    let hex = text.strip_prefix("0x").unwrap_or(text);
    if let [vlf, block, slot] = hex.split(':').collect::<Vec<_>>()[..] {
        let part = |part: &str| u32::from_str_radix(part, 16).ok();
        return Lsn::new(part(vlf)?, part(block)?, part(slot)?.try_into().ok()?);
    }
    let number: u128 = text.parse().ok()?;
    let (vlf, rest) = (
        number / 1_000_000_000_000_000,
        number % 1_000_000_000_000_000,
    );
    let (block, slot) = (rest / 100_000, rest % 100_000);
    Lsn::new(
        vlf.try_into().ok()?,
        block.try_into().ok()?,
        slot.try_into().ok()?,
    )
}

/// STOPATMARK and STOPBEFOREMARK: the name of a marked transaction, or `lsn:` and a number (4334).
pub(super) fn mark(run: &mut Run<'_>, option: &Opt, after: Option<&Expr>) -> Result<StopPoint> {
    let inclusive = &*option.name == "STOPATMARK";
    let named = value_text(run, option)?;
    let after = match after {
        None => None,
        Some(written) => match moment(&text(run, written)?) {
            Some(time) => Some(time),
            None => return refuse(3217, &["AFTER".into()]),
        },
    };
    let prefix = named.get(..4).filter(|p| p.eq_ignore_ascii_case("lsn:"));
    match prefix.map(|p| lsn(named.get(p.len()..).unwrap_or(""))) {
        Some(Some(lsn)) => Ok(StopPoint::Lsn { lsn, inclusive }),
        Some(None) => refuse(4334, &[]),
        None => Ok(StopPoint::Mark {
            name: named,
            after,
            inclusive,
        }),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn moments_and_lsns_are_read_as_they_are_written() {
        let at = |text: &str| moment(text).map(|m| m.to_string());
        let shown = WallTime::from_unix_us(1_475_581_113_830_000).to_string();
        assert_eq!(at("2016-10-04T11:38:33.83"), Some(shown.clone()));
        assert_eq!(at("Oct 4 2016 11:38:33.83"), Some(shown));
        assert_eq!(at("yesterday"), None);
        let place = Lsn::new(53, 29_972, 1);
        assert_eq!(lsn("53000002997200001"), place);
        assert_eq!(lsn("0x00000035:00007514:0001"), place);
        assert_eq!(place.map(Lsn::to_numeric), Some(53_000_002_997_200_001));
        assert_eq!((lsn("x"), lsn("")), (None, None));
    }
}
