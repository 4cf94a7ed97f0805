//! Where texts with a common beginning lie in the order of a collation.
//!
//! Texts are ordered by the first weights of their characters before anything else. So whatever follows a
//! prefix, a text that begins with it comes behind every text that has a character of a smaller first weight
//! in the place of the prefix's last one, and before every text that has a greater one there.

use super::Collation;
use super::code_page::{byte_for_unit, byte_of_unit};
use super::collation::first_weight;
use std::sync::OnceLock;

/// Characters by weight, one of each: for a kind of texts.
type Ladder = Vec<(u32, char)>;

fn ladder(binary: bool, unicode: bool) -> &'static Ladder {
    static OF_WEIGHTS: [OnceLock<Ladder>; 2] = [const { OnceLock::new() }; 2];
    static OF_CODES: [OnceLock<Ladder>; 2] = [const { OnceLock::new() }; 2];
    let [bytes, units] = if binary { &OF_CODES } else { &OF_WEIGHTS };
    let ladder = if unicode { units } else { bytes };
    ladder.get_or_init(|| {
        let units = (1..=u16::MAX).filter(|unit| unicode || byte_of_unit(*unit).is_some());
        let weighed = units.filter_map(|unit| {
            let c = char::from_u32(u32::from(unit))?;
            Some((weight(unit, binary, unicode), c))
        });
        let mut all: Ladder = weighed.collect();
        all.sort_unstable();
        all.dedup_by_key(|step| step.0);
        all
    })
}

fn weight(unit: u16, binary: bool, unicode: bool) -> u32 {
    match (binary, unicode) {
        (true, true) => u32::from(unit),
        (true, false) => u32::from(byte_for_unit(unit)),
        (false, _) => first_weight(unit),
    }
}

/// A text behind which, and one before which, all texts lie that begin with `prefix` as LIKE understands it;
/// none where there is no such end. `unicode`: of `nchar` and `nvarchar`.
pub fn prefix_range(
    prefix: &str,
    collation: Collation,
    unicode: bool,
) -> (Option<String>, Option<String>) {
    // A character beyond the first 65,536 is two units: what lies before them is prefix enough.
    let mut head: String = prefix
        .chars()
        .take_while(|c| u32::from(*c) <= 0xFFFF)
        .collect();
    let Some(last) = head.pop() else {
        return (None, None);
    };
    let unit = u16::try_from(u32::from(last)).unwrap_or(u16::MAX);
    let ladder = ladder(collation.is_binary(), unicode);
    let own = weight(unit, collation.is_binary(), unicode);
    let below = ladder.partition_point(|step| step.0 < own);
    let above = ladder.partition_point(|step| step.0 <= own);
    let low = below.checked_sub(1).and_then(|at| ladder.get(at));
    let low = low.map(|step| {
        let mut low = format!("{head}{}", step.1);
        // As far up as that character leads: not needed for what is right, but less is read.
        low.extend(std::iter::repeat_n(ladder.last().map_or('z', |s| s.1), 4));
        low
    });
    let high = ladder.get(above).map(|step| format!("{head}{}", step.1));
    (low, high)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::compare_text;

    #[test]
    fn texts_lie_within_the_range_of_every_prefix_of_theirs() {
        let alphabet = [
            'a', 'A', 'b', 'z', 'Z', ' ', '-', '0', '9', '_', '\u{e4}', '\u{df}', '\u{ff}', '\t',
            '\u{1}', '~', '[',
        ];
        let mut seed = 7_u64;
        let mut next = |n: usize| {
            seed = seed.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1);
            (seed >> 33) as usize % n
        };
        let named = |name: &str| Collation::from_name(name);
        let collations = [
            named("SQL_Latin1_General_CP1_CI_AS"),
            named("Latin1_General_CI_AI"),
            named("Latin1_General_BIN2"),
        ];
        for collation in collations.into_iter().flatten() {
            for _ in 0..20_000 {
                let length = next(6);
                let text: String = (0..length)
                    .map(|_| alphabet[next(alphabet.len())])
                    .collect();
                let cut = next(length + 1);
                let prefix: String = text.chars().take(cut).collect();
                let unicode = next(2) == 0;
                let (low, high) = prefix_range(&prefix, collation, unicode);
                let order = |other: &str| compare_text(&text, other, collation, unicode);
                assert!(
                    low.is_none_or(|low| order(&low).is_gt()),
                    "{text:?} {prefix:?}"
                );
                assert!(
                    high.is_none_or(|high| order(&high).is_lt()),
                    "{text:?} {prefix:?}"
                );
            }
        }
    }

    #[test]
    fn the_range_of_a_prefix_is_no_wider_than_it_need_be() {
        let (low, high) = prefix_range("ab", Collation::DEFAULT, false);
        let (low, high) = (low.unwrap(), high.unwrap());
        let order = |a: &str, b: &str| compare_text(a, b, Collation::DEFAULT, false);
        assert!(order("aazzz", &low).is_lt());
        assert!(order("ac", &high).is_ge());
        assert_eq!(prefix_range("", Collation::DEFAULT, true), (None, None));
    }
}
