//! Lock modes, and which of them go together.
//!
//! Three small tables are the data; everything else is computed from them while compiling: the rows of
//! `ATOMS` (what each plain mode tolerates), the parts of each mode (`PARTS`), and the rule for ranges. The
//! published matrices are literals in the tests, so that neither side can drift.

use std::fmt;

/// Number of lock modes.
pub(crate) const MODE_COUNT: usize = 21;

/// A lock mode, in the order in which SQL Server lists them.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
#[repr(u8)]
pub enum LockMode {
    /// Schema stability: the definition must not change while it is used.
    SchS,
    /// Schema modification: no other owner may use the object at all.
    SchM,
    /// Shared: reading.
    S,
    /// Update: reading what may be changed soon; only one at a time.
    U,
    /// Exclusive: changing.
    X,
    /// Intent to take S below.
    IS,
    /// Intent to take U below.
    IU,
    /// Intent to take X below.
    IX,
    /// S with the intent to take U below.
    SIU,
    /// S with the intent to take X below.
    SIX,
    /// U with the intent to take X below.
    UIX,
    /// Bulk update: bulk loads run beside each other; all other access is excluded.
    BU,
    /// Range shared, key shared: a serializable scan.
    RangeSS,
    /// Range shared, key update: a serializable scan that may change rows.
    RangeSU,
    /// Range insert, key free: the test before a key is inserted.
    RangeIN,
    /// `RangeI-N` joined with S.
    RangeIS,
    /// `RangeI-N` joined with U.
    RangeIU,
    /// `RangeI-N` joined with X.
    RangeIX,
    /// `RangeI-N` joined with `RangeS-S`.
    RangeXS,
    /// `RangeI-N` joined with `RangeS-U`.
    RangeXU,
    /// Range and key exclusive: changing a key within a serializable range.
    RangeXX,
}

use LockMode::{
    BU, IS, IU, IX, RangeIN, RangeIS, RangeIU, RangeIX, RangeSS, RangeSU, RangeXS, RangeXU,
    RangeXX, S, SIU, SIX, SchM, SchS, U, UIX, X,
};

/// What a range mode does with the gap below its key.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Gap {
    Free,
    Shared,
    Insert,
    Exclusive,
}

/// A mode: its parts, its gap, its name in the views, its name in wait types.
type Parts = (
    LockMode,
    &'static [LockMode],
    Gap,
    &'static str,
    &'static str,
);

const PARTS: [Parts; MODE_COUNT] = [
    (SchS, &[SchS], Gap::Free, "Sch-S", "SCH_S"),
    (SchM, &[SchM], Gap::Free, "Sch-M", "SCH_M"),
    (S, &[S], Gap::Free, "S", "S"),
    (U, &[U], Gap::Free, "U", "U"),
    (X, &[X], Gap::Free, "X", "X"),
    (IS, &[IS], Gap::Free, "IS", "IS"),
    (IU, &[IU], Gap::Free, "IU", "IU"),
    (IX, &[IX], Gap::Free, "IX", "IX"),
    (SIU, &[S, IU], Gap::Free, "SIU", "SIU"),
    (SIX, &[S, IX], Gap::Free, "SIX", "SIX"),
    (UIX, &[U, IX], Gap::Free, "UIX", "UIX"),
    (BU, &[BU], Gap::Free, "BU", "BU"),
    (RangeSS, &[S], Gap::Shared, "RangeS-S", "RS_S"),
    (RangeSU, &[U], Gap::Shared, "RangeS-U", "RS_U"),
    (RangeIN, &[], Gap::Insert, "RangeI-N", "RIn_NL"),
    (RangeIS, &[S], Gap::Insert, "RangeI-S", "RIn_S"),
    (RangeIU, &[U], Gap::Insert, "RangeI-U", "RIn_U"),
    (RangeIX, &[X], Gap::Insert, "RangeI-X", "RIn_X"),
    (RangeXS, &[S], Gap::Exclusive, "RangeX-S", "RX_S"),
    (RangeXU, &[U], Gap::Exclusive, "RangeX-U", "RX_U"),
    (RangeXX, &[X], Gap::Exclusive, "RangeX-X", "RX_X"),
];

/// What each plain mode tolerates beside itself.
const ATOMS: [(LockMode, &[LockMode]); 9] = [
    (SchS, &[SchS, S, U, X, IS, IU, IX, BU]),
    (SchM, &[]),
    (S, &[SchS, S, U, IS, IU]),
    (U, &[SchS, S, IS]),
    (X, &[SchS]),
    (IS, &[SchS, S, U, IS, IU, IX]),
    (IU, &[SchS, S, IS, IU, IX]),
    (IX, &[SchS, IS, IU, IX]),
    (BU, &[SchS, BU]),
];

/// Bit `n` of entry `m`: mode `n` held by another conflicts with a request for mode `m`.
const CONFLICTS: [u32; MODE_COUNT] = conflicts();

/// The least mode that gives what both give.
const SUPREMUM: [[LockMode; MODE_COUNT]; MODE_COUNT] = suprema();

const fn atoms_agree(a: LockMode, b: LockMode) -> bool {
    let mut row = 0;
    while row < ATOMS.len() {
        if ATOMS[row].0 as u8 == a as u8 {
            let tolerated = ATOMS[row].1;
            let mut i = 0;
            while i < tolerated.len() {
                if tolerated[i] as u8 == b as u8 {
                    return true;
                }
                i += 1;
            }
            return false;
        }
        row += 1;
    }
    false
}

const fn parts_agree(a: &[LockMode], b: &[LockMode]) -> bool {
    let mut i = 0;
    while i < a.len() {
        let mut k = 0;
        while k < b.len() {
            if !atoms_agree(a[i], b[k]) {
                return false;
            }
            k += 1;
        }
        i += 1;
    }
    true
}

const fn gaps_agree(a: Gap, b: Gap) -> bool {
    matches!(
        (a, b),
        (Gap::Free, _) | (_, Gap::Free) | (Gap::Shared, Gap::Shared) | (Gap::Insert, Gap::Insert)
    )
}

/// Whether keys carry this mode. A range mode never meets another kind on one resource; should it
/// happen all the same, it counts as a conflict.
const fn fits_keys(m: usize) -> bool {
    is_range(m) || matches!(PARTS[m].0, S | U | X)
}

const fn is_range(m: usize) -> bool {
    !matches!(PARTS[m].2, Gap::Free)
}

const fn conflicts() -> [u32; MODE_COUNT] {
    let mut out = [0; MODE_COUNT];
    let mut a = 0;
    while a < MODE_COUNT {
        let mut b = 0;
        while b < MODE_COUNT {
            let mixed = (is_range(a) && !fits_keys(b)) || (is_range(b) && !fits_keys(a));
            let agree = gaps_agree(PARTS[a].2, PARTS[b].2) && parts_agree(PARTS[a].1, PARTS[b].1);
            if mixed || !agree {
                out[a] |= 1 << b;
            }
            b += 1;
        }
        a += 1;
    }
    out
}

const fn supremum_of(a: usize, b: usize) -> LockMode {
    match (is_range(a) || is_range(b), fits_keys(a) && fits_keys(b)) {
        (false, _) => least_cover(a, b),
        (true, true) => joined_range(a, b),
        (true, false) => SchM,
    }
}

/// Without ranges: the mode with the fewest conflicts that has all the conflicts of both. Conflicts with
/// range modes don't count: they never come about.
const fn least_cover(a: usize, b: usize) -> LockMode {
    let mut plain = 0;
    let mut m = 0;
    while m < MODE_COUNT {
        if !is_range(m) {
            plain |= 1 << m;
        }
        m += 1;
    }
    let need = (CONFLICTS[a] | CONFLICTS[b]) & plain;
    let mut best = SchM;
    m = 0;
    while m < MODE_COUNT {
        let has = CONFLICTS[m] & plain;
        let fewest = (CONFLICTS[best as usize] & plain).count_ones();
        if !is_range(m) && has & need == need && has.count_ones() < fewest {
            best = PARTS[m].0;
        }
        m += 1;
    }
    best
}

/// On a key: gap joined with gap, key with key. (Conflicts alone can't distinguish `X` from `RangeI-X`.)
const fn joined_range(a: usize, b: usize) -> LockMode {
    let gap = joined_gap(PARTS[a].2, PARTS[b].2);
    let key = if key_rank(a) > key_rank(b) {
        key_rank(a)
    } else {
        key_rank(b)
    };
    let mut m = 0;
    while m < MODE_COUNT {
        if fits_keys(m) && PARTS[m].2 as u8 == gap as u8 && key_rank(m) == key {
            return PARTS[m].0;
        }
        m += 1;
    }
    // A shared gap with an exclusive key is not a mode of its own.
    RangeXX
}

const fn joined_gap(a: Gap, b: Gap) -> Gap {
    match (a, b) {
        (Gap::Free, other) | (other, Gap::Free) => other,
        (Gap::Shared, Gap::Shared) => Gap::Shared,
        (Gap::Insert, Gap::Insert) => Gap::Insert,
        _ => Gap::Exclusive,
    }
}

/// Strength of the key's part: none, S, U, X.
const fn key_rank(m: usize) -> u8 {
    match PARTS[m].1 {
        [] => 0,
        [S] => 1,
        [U] => 2,
        _ => 3,
    }
}

const fn suprema() -> [[LockMode; MODE_COUNT]; MODE_COUNT] {
    let mut out = [[SchM; MODE_COUNT]; MODE_COUNT];
    let mut a = 0;
    while a < MODE_COUNT {
        let mut b = 0;
        while b < MODE_COUNT {
            out[a][b] = supremum_of(a, b);
            b += 1;
        }
        a += 1;
    }
    out
}

impl LockMode {
    /// Every mode, in order.
    pub const ALL: [LockMode; MODE_COUNT] = [
        SchS, SchM, S, U, X, IS, IU, IX, SIU, SIX, UIX, BU, RangeSS, RangeSU, RangeIN, RangeIS,
        RangeIU, RangeIX, RangeXS, RangeXU, RangeXX,
    ];

    /// Whether two transactions may hold `self` and `other` on one resource.
    pub const fn compatible(self, other: LockMode) -> bool {
        CONFLICTS[self as usize] & other.bit() == 0
    }

    /// The mode that one transaction holds after it held `self` and requested `other`.
    pub const fn supremum(self, other: LockMode) -> LockMode {
        SUPREMUM[self as usize][other as usize]
    }

    /// Whether holding `self` makes a request for `other` needless.
    pub const fn covers(self, other: LockMode) -> bool {
        self.supremum(other) as u8 == self as u8
    }

    /// Whether this is one of the key-range modes.
    pub(crate) const fn is_range_mode(self) -> bool {
        is_range(self as usize)
    }

    /// The name in `sys.dm_tran_locks` and in deadlock reports.
    pub const fn name(self) -> &'static str {
        PARTS[self as usize].3
    }

    /// What follows `LCK_M_` in the name of the wait.
    #[cfg(test)]
    pub(crate) const fn wait_suffix(self) -> &'static str {
        PARTS[self as usize].4
    }

    pub(super) const fn bit(self) -> u32 {
        1 << self as u8
    }

    /// The modes that conflict with this one, as bits.
    pub(super) const fn conflict_mask(self) -> u32 {
        CONFLICTS[self as usize]
    }
}

impl fmt::Display for LockMode {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.pad(self.name())
    }
}
