//! A row of the tables of messages.

/// A row of the tables.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct MessageInfo {
    /// The number.
    pub number: u32,
    /// The severity.
    pub level: u8,
    /// The usual state.
    pub state: u8,
    /// The text, with markers.
    pub text: &'static str,
}
