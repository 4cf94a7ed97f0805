//! The computed tables against the published ones, copied here cell by cell.

use super::super::LockMode::{self, *};
use super::super::wait::wait_type;

/// Rows and columns: IS, S, U, IX, SIX, X.
const COMMON: [(LockMode, &str); 6] = [
    (IS, "YYYYYN"),
    (S, "YYYNNN"),
    (U, "YYNNNN"),
    (IX, "YNNYNN"),
    (SIX, "YNNNNN"),
    (X, "NNNNNN"),
];

/// Rows and columns: S, U, X, RangeS-S, RangeS-U, RangeI-N, RangeX-X.
const KEY_RANGE: [(LockMode, &str); 7] = [
    (S, "YYNYYYN"),
    (U, "YNNYNYN"),
    (X, "NNNNNYN"),
    (RangeSS, "YYNYYNN"),
    (RangeSU, "YNNYNNN"),
    (RangeIN, "YYYNNYN"),
    (RangeXX, "NNNNNNN"),
];

/// The whole matrix in the order of `LockMode::ALL`: `+` together, `C` conflict, `I` never on one resource.
const WHOLE: [&str; 21] = [
    "+C++++++++++IIIIIIIII",
    "CCCCCCCCCCCCIIIIIIIII",
    "+C++C++C+CCC+++++C++C",
    "+C+CC+CCCCCC+C++CC+CC",
    "+CCCCCCCCCCCCC+CCCCCC",
    "+C++C++++++CIIIIIIIII",
    "+C+CC+++++CCIIIIIIIII",
    "+CCCC+++CCCCIIIIIIIII",
    "+C+CC++C+CCCIIIIIIIII",
    "+CCCC++CCCCCIIIIIIIII",
    "+CCCC+CCCCCCIIIIIIIII",
    "+CCCCCCCCCC+IIIIIIIII",
    "II++CIIIIIII++CCCCCCC",
    "II+CCIIIIIII+CCCCCCCC",
    "II+++IIIIIIICC++++CCC",
    "II++CIIIIIIICC+++CCCC",
    "II+CCIIIIIIICC++CCCCC",
    "IICCCIIIIIIICC+CCCCCC",
    "II++CIIIIIIICCCCCCCCC",
    "II+CCIIIIIIICCCCCCCCC",
    "IICCCIIIIIIICCCCCCCCC",
];

fn agrees(table: &[(LockMode, &str)]) {
    for (held, row) in table {
        for ((requested, _), cell) in table.iter().zip(row.chars()) {
            assert_eq!(
                held.compatible(*requested),
                cell == 'Y',
                "{held} and {requested}"
            );
        }
    }
}

#[test]
fn common_modes_agree_with_the_published_table() {
    agrees(&COMMON);
}

#[test]
fn key_range_modes_agree_with_the_published_table() {
    agrees(&KEY_RANGE);
}

#[test]
fn every_pair_agrees_with_the_whole_matrix() {
    for (a, row) in LockMode::ALL.iter().zip(WHOLE) {
        assert_eq!(row.len(), LockMode::ALL.len(), "{a}");
        for (b, cell) in LockMode::ALL.iter().zip(row.chars()) {
            assert_eq!(a.compatible(*b), cell == '+', "{a} and {b}");
            assert_eq!(
                a.compatible(*b),
                b.compatible(*a),
                "{a} and {b}: not symmetric"
            );
        }
    }
}

#[test]
fn schema_stability_stands_beside_all_but_schema_modification() {
    for mode in LockMode::ALL
        .into_iter()
        .filter(|mode| !mode.is_range_mode())
    {
        assert_eq!(SchS.compatible(mode), mode != SchM);
        assert!(!SchM.compatible(mode));
        assert_eq!(BU.compatible(mode), matches!(mode, BU | SchS));
    }
}

#[test]
fn conversions_give_the_known_modes() {
    let known = [
        (S, IX, SIX),
        (S, IU, SIU),
        (U, IX, UIX),
        (S, U, U),
        (U, X, X),
        (IS, S, S),
        (IS, IX, IX),
        (IU, IX, IX),
        (SIU, IX, SIX),
        (SIX, U, UIX),
        (SchS, X, X),
        (BU, IX, X),
        (SchS, SchM, SchM),
        (S, RangeIN, RangeIS),
        (U, RangeIN, RangeIU),
        (X, RangeIN, RangeIX),
        (RangeSS, RangeIN, RangeXS),
        (RangeSU, RangeIN, RangeXU),
        (RangeSS, X, RangeXX),
        (RangeSS, U, RangeSU),
        (S, RangeSU, RangeSU),
        (X, RangeSS, RangeXX),
    ];
    for (held, requested, joined) in known {
        assert_eq!(held.supremum(requested), joined, "{held} then {requested}");
        assert_eq!(requested.supremum(held), joined, "{requested} then {held}");
    }
}

/// The modes that can meet on one resource.
fn families() -> [Vec<LockMode>; 2] {
    let keys = |mode: &LockMode| mode.is_range_mode() || matches!(mode, S | U | X);
    let all = LockMode::ALL.into_iter();
    [
        all.clone().filter(|mode| !mode.is_range_mode()).collect(),
        all.filter(keys).collect(),
    ]
}

#[test]
fn the_supremum_is_a_least_upper_bound() {
    for family in families() {
        for &a in &family {
            assert_eq!(a.supremum(a), a);
            for &b in &family {
                let joined = a.supremum(b);
                assert!(
                    family.contains(&joined),
                    "{a} with {b} leaves its family: {joined}"
                );
                assert!(joined.covers(a) && joined.covers(b), "{a} {b}");
                assert_eq!(joined, b.supremum(a));
                let stands = |m: LockMode, other: LockMode| m.compatible(other);
                for &c in &family {
                    assert_eq!(joined.supremum(c), a.supremum(b.supremum(c)), "{a} {b} {c}");
                    let bound = c.covers(a) && c.covers(b);
                    assert!(
                        !bound || c.covers(joined),
                        "{c} is a lesser bound of {a} {b} than {joined}"
                    );
                    let weaker = stands(joined, c) && !(stands(a, c) && stands(b, c));
                    assert!(!weaker, "{joined} goes with {c}, but {a} or {b} doesn't");
                }
            }
        }
    }
}

#[test]
fn every_mode_waits_under_its_own_name() {
    for mode in LockMode::ALL {
        assert_eq!(
            wait_type(mode).name(),
            format!("LCK_M_{}", mode.wait_suffix())
        );
    }
}
