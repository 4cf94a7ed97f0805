//! What goes to a target and comes back from it.

use std::fmt;
use thiserror::Error;

/// A value, of any engine.
#[derive(Debug, Clone, PartialEq)]
pub enum Value {
    /// NULL.
    Null,
    /// Any whole number, BIT included.
    Int(i64),
    /// Any other number.
    Float(f64),
    /// Text; dates, GUIDs and bytes as the engine prints them.
    Text(String),
}

impl Value {
    /// The value as a number.
    pub fn number(&self) -> Option<f64> {
        match self {
            Value::Int(value) => Some(*value as f64),
            Value::Float(value) => Some(*value),
            Value::Text(text) => text.trim().parse().ok(),
            Value::Null => None,
        }
    }

    /// The value as a count; what is no whole number above or at 0 is 0.
    pub fn count(&self) -> u64 {
        match self {
            Value::Int(value) => u64::try_from(*value).unwrap_or(0),
            other => other.number().map_or(0, |n| n.max(0.0) as u64),
        }
    }
}

impl fmt::Display for Value {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Value::Null => f.write_str("NULL"),
            Value::Int(value) => value.fmt(f),
            Value::Float(value) => value.fmt(f),
            Value::Text(text) => f.write_str(text.trim_end()),
        }
    }
}

/// What a batch gave.
#[derive(Debug, Clone, Default, PartialEq)]
pub struct Reply {
    /// Rows of all its result sets, one after the other.
    pub rows: Vec<Vec<Value>>,
    /// Rows that its statements returned or changed.
    pub count: u64,
    /// Messages that are no errors.
    pub messages: Vec<String>,
}

impl Reply {
    /// The first value of the first row.
    pub fn scalar(&self) -> Option<&Value> {
        self.rows.first()?.first()
    }
}

/// Numbers of errors that show nothing about the data: 0 of a cancelled statement and of a lost connection,
/// then memory, space in files, locks, backup devices, files of the system, a check that could not be done,
/// the log, and a database that is SUSPECT because its log failed.
const RESOURCES: [u32; 31] = [
    0, 701, 802, 823, 845, 926, 1101, 1105, 1121, 1204, 1205, 1222, 1807, 3101, 3201, 3202, 3203,
    3257, 3271, 5030, 5061, 5120, 5123, 5128, 5133, 5149, 8623, 8631, 8921, 9001, 9002,
];

/// Why a target did not do what it was asked.
#[derive(Debug, Clone, PartialEq, Eq, Error)]
#[error("{text}")]
pub struct TargetError {
    /// The engine's number; 0 where the way to the engine failed.
    pub number: u32,
    /// The engine's level.
    pub level: u8,
    /// The engine's state.
    pub state: u8,
    /// The engine's text, or a sentence.
    pub text: String,
}

impl TargetError {
    /// Something that is not the engine's error.
    pub fn other(text: impl Into<String>) -> TargetError {
        TargetError {
            number: 0,
            level: 20,
            state: 0,
            text: text.into(),
        }
    }

    /// Whether it shows nothing about the data: the statement was cancelled, or did not get memory, space, a
    /// lock or a device.
    pub(crate) fn is_of_resources(&self) -> bool {
        RESOURCES.contains(&self.number)
    }

    /// Number, level, state and text in one line.
    pub fn full(&self) -> String {
        match self.number {
            0 => self.text.clone(),
            number => format!(
                "error {number}, level {}, state {}: {}",
                self.level, self.state, self.text
            ),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_full_disk_shows_nothing_about_the_data_and_a_finding_of_a_check_does() {
        let error = |number| TargetError {
            number,
            ..TargetError::other("")
        };
        assert!(TargetError::other("cancelled").is_of_resources());
        for number in [701, 926, 1105, 1205, 8921, 9001, 9002] {
            assert!(error(number).is_of_resources(), "{number}");
        }
        for number in [824, 2511, 3183, 3189, 8928, 8939] {
            assert!(!error(number).is_of_resources(), "{number}");
        }
    }
}
