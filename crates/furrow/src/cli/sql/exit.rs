//! `:exit`: the end of a script, and the exit code from its last query.
//!
//! | status | meaning |
//! |---|---|
//! | a number | the first column of the last row, as a 4-byte integer |
//! | -100 | the query failed after its last row, or before it returned any |
//! | -101 | it returned no row |
//! | -102 | its value is not an integer of 4 bytes: NULL, a text, too large |
//!
//! The operating system keeps the lowest byte: -100 is 156, -101 is 155, -102 is 154.

use super::shell::{LEAST_ERROR, Shell, Stop};
use crate::cli::args::SqlArguments;
use crate::cli::{DONE, FAILED, INTERRUPTED};
use furrow_types::Value;

/// The result so far of the query in `:exit (query)`, from which the exit code is computed.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub(super) enum ExitValue {
    /// No row, and no error.
    #[default]
    NoRow,
    /// The first column of the last row.
    Number(i32),
    /// A last row whose first column is no integer.
    NoNumber,
    /// An error after the last row.
    Error,
}

impl ExitValue {
    /// The result of a row.
    pub(super) fn of_row(row: &[Value]) -> ExitValue {
        row.first()
            .and_then(number)
            .map_or(ExitValue::NoNumber, ExitValue::Number)
    }

    /// The exit code that the operating system keeps.
    fn status(self) -> u8 {
        let code = match self {
            ExitValue::Number(code) => code,
            ExitValue::Error => -100,
            ExitValue::NoRow => -101,
            ExitValue::NoNumber => -102,
        };
        low_byte(code)
    }
}

/// The part of an exit code that the operating system keeps.
fn low_byte(code: i32) -> u8 {
    code.to_le_bytes()[0]
}

/// A value as a 4-byte integer; a fraction is cut off.
fn number(value: &Value) -> Option<i32> {
    let whole = match value {
        Value::Null => return None,
        Value::Real(_)
        | Value::Float(_)
        | Value::Decimal(_)
        | Value::Money(_)
        | Value::SmallMoney(_) => {
            let float: f64 = value.to_string().parse().ok()?;
            let range = f64::from(i32::MIN)..=f64::from(i32::MAX);
            let whole = float.trunc();
            return range.contains(&whole).then_some(whole as i32);
        }
        Value::VarChar(text) | Value::NVarChar(text) => text.trim().parse().ok()?,
        other => other.as_i64()?,
    };
    i32::try_from(whole).ok()
}

impl Shell {
    /// `:exit`, `:exit()`, `:exit(QUERY)`; `rest` is the text behind the word.
    pub(super) fn exit(&mut self, rest: &str) -> Result<(), Stop> {
        if rest.is_empty() {
            // The collected batch does not run.
            self.gathered.clear();
            return Err(Stop::Asked);
        }
        let Some(query) = rest.strip_prefix('(').and_then(|r| r.strip_suffix(')')) else {
            return Err(self.fatal(
                "A fatal scripting error occurred.\n\
                 :exit takes a query between parentheses that ends on the same line, or nothing.",
            ));
        };
        if query.trim().is_empty() {
            self.run_gathered(1)?;
            return Err(Stop::Asked);
        }
        self.exit_with(query)
    }

    /// `:exit (query)`: runs the batch with the query; its last value becomes the exit code.
    fn exit_with(&mut self, query: &str) -> Result<(), Stop> {
        let mut text = self.gathered.take();
        text.push_str(query);
        // A query that does not run at all (an undefined variable) returns no value either.
        self.printer.exit_value = ExitValue::Error;
        self.printer.asked_for_exit_value = true;
        let done = self.run(&text, 1);
        self.printer.asked_for_exit_value = false;
        done?;
        if self.cancelled {
            // At a prompt, Ctrl-C ends the query and not the shell.
            return Ok(());
        }
        self.status = Some(self.printer.exit_value.status());
        Err(Stop::Asked)
    }

    /// An error with state 127 ends the script, and its number becomes the exit code.
    pub(super) fn exit_at_state_127(&mut self) -> Result<(), Stop> {
        let Some(number) = self.printer.ending_number.take() else {
            return Ok(());
        };
        self.status = Some(number.to_le_bytes()[0]);
        Err(Stop::Asked)
    }
}

impl Stop {
    /// The exit code of the program: `worst` is the highest level of any error, `asked` the value of
    /// `:exit (query)`.
    pub(super) fn status(self, options: &SqlArguments, worst: u8, asked: Option<u8>) -> u8 {
        let reported = options
            .error_level
            .filter(|level| worst >= *level)
            .map(|_| worst);
        let failed = reported.unwrap_or(FAILED);
        let counts = options.batch_abort && options.error_level.is_none() && worst >= LEAST_ERROR;
        match self {
            Stop::Cancelled => INTERRUPTED,
            Stop::Failed => failed,
            Stop::Asked | Stop::EndOfInput => match asked {
                _ if counts => failed,
                Some(status) => status,
                None => reported.unwrap_or(DONE),
            },
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn values_become_four_byte_integers_or_none() {
        for (value, expected) in [
            (Value::Int(-7), Some(-7)),
            (Value::Bit(true), Some(1)),
            (Value::BigInt(1 << 40), None),
            (Value::Float(3.9), Some(3)),
            (Value::Float(1e30), None),
            (Value::Null, None),
        ] {
            assert_eq!(number(&value), expected, "{value}");
        }
    }

    #[test]
    fn the_status_is_the_low_byte() {
        let all = [
            ExitValue::Error,
            ExitValue::NoRow,
            ExitValue::NoNumber,
            ExitValue::Number(257),
        ];
        assert_eq!(all.map(ExitValue::status), [156, 155, 154, 1]);
    }
}
