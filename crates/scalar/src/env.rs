//! What evaluation takes from outside: the session's settings, the clock, random numbers.
//!
//! Expressions read no clock and no system: the executor fills an [`Env`] once a statement, so that GETDATE
//! is the same for every row of it, and tests are repeatable.

use furrow_types::{DateOrder, DateTimeOffset, Guid};

/// The settings of a session that change what an expression means.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Settings {
    /// SET DATEFORMAT.
    pub date_order: DateOrder,
    /// SET DATEFIRST: the first day of the week, 1 = Monday. The default of `us_english` is 7.
    pub date_first: u8,
    /// What is ON of ANSI_WARNINGS and the like.
    pub switches: Switches,
}

/// Options of a session that are ON or OFF, as `@@OPTIONS` has them: a bit for each that is ON.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Switches(u16);

impl Switches {
    /// SET IMPLICIT_TRANSACTIONS.
    pub const IMPLICIT_TRANSACTIONS: Switches = Switches(2);
    /// SET CURSOR_CLOSE_ON_COMMIT.
    pub const CURSOR_CLOSE_ON_COMMIT: Switches = Switches(4);
    /// SET ANSI_WARNINGS.
    pub const ANSI_WARNINGS: Switches = Switches(8);
    /// SET ANSI_PADDING.
    pub const ANSI_PADDING: Switches = Switches(16);
    /// SET ANSI_NULLS.
    pub const ANSI_NULLS: Switches = Switches(32);
    /// SET ARITHABORT.
    pub const ARITHABORT: Switches = Switches(64);
    /// SET ARITHIGNORE.
    pub const ARITHIGNORE: Switches = Switches(128);
    /// SET QUOTED_IDENTIFIER.
    pub const QUOTED_IDENTIFIER: Switches = Switches(256);
    /// SET NOCOUNT.
    pub const NOCOUNT: Switches = Switches(512);
    /// SET ANSI_NULL_DFLT_ON.
    pub const ANSI_NULL_DFLT_ON: Switches = Switches(1024);
    /// SET ANSI_NULL_DFLT_OFF.
    pub const ANSI_NULL_DFLT_OFF: Switches = Switches(2048);
    /// SET CONCAT_NULL_YIELDS_NULL.
    pub const CONCAT_NULL_YIELDS_NULL: Switches = Switches(4096);
    /// SET NUMERIC_ROUNDABORT.
    pub const NUMERIC_ROUNDABORT: Switches = Switches(8192);
    /// SET XACT_ABORT.
    pub const XACT_ABORT: Switches = Switches(16384);
    /// Those that connections begin with.
    pub(crate) const OF_CONNECTIONS: Switches = Switches(8 | 16 | 32 | 64 | 256 | 1024 | 4096);

    /// What `@@OPTIONS` gives.
    pub const fn bits(self) -> u16 {
        self.0
    }

    /// Whether all of these are ON.
    #[inline]
    pub const fn has(self, these: Switches) -> bool {
        self.0 & these.0 == these.0
    }

    /// Whether any of these is ON.
    pub const fn has_any(self, these: Switches) -> bool {
        self.0 & these.0 != 0
    }

    /// Both together.
    #[must_use]
    pub const fn and(self, these: Switches) -> Switches {
        Switches(self.0 | these.0)
    }

    /// Turns these ON or OFF.
    pub const fn set(&mut self, these: Switches, on: bool) {
        self.0 = match on {
            true => self.0 | these.0,
            false => self.0 & !these.0,
        };
    }
}

impl Settings {
    /// Those of `us_english`.
    pub const US_ENGLISH: Settings = Settings {
        date_order: DateOrder::Mdy,
        date_first: 7,
        switches: Switches::OF_CONNECTIONS,
    };

    /// Whether arithmetic that fails gives NULL: with ANSI_WARNINGS and ARITHABORT OFF.
    pub const fn fails_to_null(&self) -> bool {
        !(self.switches).has_any(Switches::ANSI_WARNINGS.and(Switches::ARITHABORT))
    }
}

impl Default for Settings {
    fn default() -> Settings {
        Settings::US_ENGLISH
    }
}

/// What the functions of a statement may read besides their arguments.
pub struct Env<'a> {
    /// The session's settings.
    pub settings: Settings,
    /// The moment of the statement, at the offset of the server's time zone.
    pub now: DateTimeOffset,
    /// Sixteen random bytes, fresh at each call.
    pub random: &'a mut dyn FnMut() -> [u8; 16],
    /// The state of RAND: seeded by RAND(n), gone on from by RAND().
    pub rand: RandState,
}

impl std::fmt::Debug for Env<'_> {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Env")
            .field("settings", &self.settings)
            .field("now", &self.now)
            .field("rand", &self.rand)
            .finish_non_exhaustive()
    }
}

impl<'a> Env<'a> {
    /// An environment at a moment.
    pub fn new(now: DateTimeOffset, random: &'a mut dyn FnMut() -> [u8; 16]) -> Env<'a> {
        let bytes = random();
        let [a, b, c, d, ..] = bytes;
        Env {
            settings: Settings::default(),
            now,
            rand: RandState::seeded(i32::from_le_bytes([a, b, c, d])),
            random,
        }
    }

    /// A GUID of version 4.
    pub(crate) fn new_guid(&mut self) -> Guid {
        let mut bytes = (self.random)();
        bytes[7] = (bytes[7] & 0x0F) | 0x40;
        bytes[8] = (bytes[8] & 0x3F) | 0x80;
        Guid(bytes)
    }
}

/// The generator of RAND: two linear congruential ones combined, as SQL Server's first numbers after a seed
/// show.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct RandState {
    first: i64,
    second: i64,
}

const FIRST: i64 = 2_147_483_563;
const SECOND: i64 = 2_147_483_399;

impl RandState {
    /// The state that RAND(seed) starts from.
    pub const fn seeded(seed: i32) -> RandState {
        RandState {
            first: (seed as i64).rem_euclid(FIRST),
            second: 67_890,
        }
    }

    /// The next number, between 0 and 1.
    pub fn next_number(&mut self) -> f64 {
        self.first = self.first * 40_014 % FIRST;
        self.second = self.second * 40_692 % SECOND;
        let mut mixed = self.first - self.second;
        if mixed < 1 {
            mixed += FIRST - 1;
        }
        mixed as f64 * 4.656_613e-10
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn rand_of_a_seed_is_the_published_number() {
        for (seed, expected) in [
            (0, 0.713573360241666),
            (1, 0.713591993212924),
            (2, 0.713610626184182),
        ] {
            let number = RandState::seeded(seed).next_number();
            assert!((number - expected).abs() < 1e-14, "{seed}: {number}");
        }
    }

    #[test]
    fn rand_stays_between_zero_and_one_and_does_not_repeat_soon() {
        let mut state = RandState::seeded(i32::MIN);
        let numbers: Vec<f64> = (0..10_000).map(|_| state.next_number()).collect();
        assert!(numbers.iter().all(|n| (0.0..1.0).contains(n)));
        let mean = numbers.iter().sum::<f64>() / 10_000.0;
        assert!((mean - 0.5).abs() < 0.02, "{mean}");
        let mut sorted = numbers;
        sorted.sort_by(f64::total_cmp);
        sorted.dedup();
        assert_eq!(sorted.len(), 10_000);
    }
}
