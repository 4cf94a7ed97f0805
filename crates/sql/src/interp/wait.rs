//! WAITFOR: waits for a time span or until a time of day, unless the client cancels it.

use furrow_context::error::{Result, refuse};
use furrow_context::run::Run;
use furrow_io::time::{Moment, WallTime, sleep};
use furrow_observe::task;
use furrow_observe::waits::WaitType;
use furrow_tsql::ast::expr::Expr;
use furrow_tsql::ast::flow::Waitfor;
use furrow_types::{DataType, TypeId};
use std::time::Duration;

/// Interval at which a wait checks for a cancellation.
const LOOK: Duration = Duration::from_millis(10);
const DAY_US: u64 = 86_400 * 1_000_000;

/// Runs WAITFOR.
pub(super) fn waitfor(run: &mut Run<'_>, written: &Waitfor) -> Result<()> {
    let span = match written {
        Waitfor::Delay(time) => of_day(run, time)?,
        Waitfor::Time(time) => {
            let until = of_day(run, time)?;
            let now = WallTime::now().unix_us().rem_euclid(DAY_US.cast_signed());
            (until + DAY_US - now.unsigned_abs()) % DAY_US
        }
    };
    let end = Moment::now().after(Duration::from_micros(span));
    let session_task = std::sync::Arc::clone(run.cx.sessions.session().task());
    let _entered = task::enter(&session_task);
    let wait = task::wait(WaitType::WaitFor, task::Resource::None);
    let done = loop {
        if let Err(error) = run.cx.check_cancel() {
            break Err(error);
        }
        let left = end.since(Moment::now());
        if left.is_zero() {
            break Ok(());
        }
        sleep(left.min(LOOK));
    };
    wait.finish();
    done?;
    run.done(None);
    Ok(())
}

/// `hh:mm[:ss[.mmm]]` in microseconds of the day; 148 for any other text.
fn of_day(run: &mut Run<'_>, written: &Expr) -> Result<u64> {
    let text = DataType::sized(TypeId::NVarChar, 8000);
    let value = furrow_bind::evaluate_as(run, written, text)?;
    let shown = value.as_str().unwrap_or("").to_owned();
    match microseconds(&shown) {
        Some(us) => Ok(us),
        None => refuse(148, &[shown.into()]),
    }
}

fn microseconds(text: &str) -> Option<u64> {
    let text = text.trim();
    let (whole, part) = text.split_once('.').unwrap_or((text, ""));
    let mut fields = whole.split(':');
    let mut field = |most: u64| -> Option<u64> {
        let Some(digits) = fields.next() else {
            return Some(0);
        };
        let number: u64 = digits.parse().ok()?;
        (digits.len() <= 2 && number <= most).then_some(number)
    };
    let (hours, minutes, seconds) = (field(23)?, field(59)?, field(59)?);
    if fields.next().is_some() || !whole.contains(':') || part.len() > 6 {
        return None;
    }
    let part: u64 = match part {
        "" => 0,
        digits => format!("{digits:0<6}").parse().ok()?,
    };
    Some(((hours * 60 + minutes) * 60 + seconds) * 1_000_000 + part)
}

#[cfg(test)]
mod tests {
    use super::microseconds;

    #[test]
    fn times_of_day_are_read() {
        assert_eq!(microseconds("00:00:01"), Some(1_000_000));
        assert_eq!(microseconds("00:00:00.05"), Some(50_000));
        assert_eq!(microseconds("1:2"), Some(3_720_000_000));
        for wrong in ["", "5", "24:00", "00:61", "1:2:3:4", "a:b", "00:00:00.x"] {
            assert_eq!(microseconds(wrong), None, "{wrong}");
        }
    }
}
