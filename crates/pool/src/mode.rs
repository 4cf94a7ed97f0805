//! Latch modes, as values and as types.

use std::fmt::Debug;

/// How a page is latched.
///
/// | held \ requested | SH | UP | EX |
/// |---|---|---|---|
/// | SH | yes | yes | no |
/// | UP | yes | no | no |
/// | EX | no | no | no |
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
#[repr(u8)]
pub enum LatchMode {
    /// Shared: to read.
    Sh = 0,
    /// Update: to read and perhaps to change; one at a time, beside readers.
    Up = 1,
    /// Exclusive: to change.
    Ex = 2,
}

impl LatchMode {
    /// The suffix of the wait types: `SH`, `UP` or `EX`.
    pub fn name(self) -> &'static str {
        match self {
            LatchMode::Sh => "SH",
            LatchMode::Up => "UP",
            LatchMode::Ex => "EX",
        }
    }
}

/// A latch mode as a type: it decides which methods a guard has.
pub trait Mode: Copy + Debug + sealed::Sealed {
    /// The mode as a value.
    fn latch_mode(self) -> LatchMode;
}

/// Shared, as a type.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Sh;

/// Update, as a type.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Up;

/// Exclusive, as a type.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Ex;

impl Mode for Sh {
    fn latch_mode(self) -> LatchMode {
        LatchMode::Sh
    }
}

impl Mode for Up {
    fn latch_mode(self) -> LatchMode {
        LatchMode::Up
    }
}

impl Mode for Ex {
    fn latch_mode(self) -> LatchMode {
        LatchMode::Ex
    }
}

/// A mode chosen while running; the guard reads, and `into_write` and the like turn it into a typed one.
impl Mode for LatchMode {
    fn latch_mode(self) -> LatchMode {
        self
    }
}

mod sealed {
    /// Keeps the set of modes closed.
    pub trait Sealed {}
    impl Sealed for super::Sh {}
    impl Sealed for super::Up {}
    impl Sealed for super::Ex {}
    impl Sealed for super::LatchMode {}
}
