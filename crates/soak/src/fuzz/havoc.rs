//! How inputs are damaged: as real ones are, and at the edges of what fields can hold.

/// Numbers of an input: quick to begin, the same everywhere.
#[derive(Debug, Clone)]
pub struct Dice(u64);

impl Dice {
    /// Of an input of a seed.
    pub fn of(seed: u64, input: u64) -> Dice {
        let mut dice = Dice(seed ^ input.wrapping_mul(0xA076_1D64_78BD_642F));
        dice.word();
        dice
    }

    /// A random number of 64 bits.
    #[inline]
    pub fn word(&mut self) -> u64 {
        self.0 = self.0.wrapping_add(0x9E37_79B9_7F4A_7C15);
        let mut z = self.0;
        z = (z ^ (z >> 30)).wrapping_mul(0xBF58_476D_1CE4_E5B9);
        z = (z ^ (z >> 27)).wrapping_mul(0x94D0_49BB_1331_11EB);
        z ^ (z >> 31)
    }

    /// A number below `end`; 0 where there is none.
    #[inline]
    pub fn below(&mut self, end: usize) -> usize {
        let word = u128::from(self.word());
        ((word * end as u128) >> 64) as usize
    }

    /// Once in so many times.
    #[inline]
    pub fn one_in(&mut self, times: usize) -> bool {
        self.below(times) == 0
    }

    /// One of some, unless there is none.
    pub fn pick<'a, T>(&mut self, of: &'a [T]) -> Option<&'a T> {
        of.get(self.below(of.len()))
    }
}

/// What fields are at their edges.
const EDGES: [u64; 16] = [
    0,
    1,
    2,
    7,
    8,
    0x7F,
    0x80,
    0xFF,
    96,
    8_060,
    8_096,
    8_191,
    8_192,
    0x7FFF,
    0xFFFF,
    u64::MAX,
];

/// Damages some of `bytes`, mostly within `hot`, the fields that define the meaning of the others.
pub fn damage(bytes: &mut [u8], hot: &[std::ops::Range<usize>], dice: &mut Dice) {
    // Mostly little: what is damaged through and through is refused at the first look.
    let most = 1 + dice.below(6);
    let times = 1 + dice.below(most);
    for _ in 0..times {
        let at = match dice.pick(hot) {
            Some(range) if !dice.one_in(4) => range.start + dice.below(range.len()),
            _ => dice.below(bytes.len()),
        };
        once(bytes, at, dice);
    }
}

fn once(bytes: &mut [u8], at: usize, dice: &mut Dice) {
    let width = [1, 1, 2, 2, 4, 8][dice.below(6)];
    let sort = dice.below(8);
    let word = match sort {
        0 | 1 => {
            if let Some(byte) = bytes.get_mut(at) {
                *byte ^= 1 << dice.below(8);
            }
            return;
        }
        2 => dice.word(),
        3 | 4 => EDGES[dice.below(EDGES.len())],
        // A little more or less than there was.
        5 => {
            let mut old = [0; 8];
            for (to, from) in old.iter_mut().zip(bytes.iter().skip(at).take(width)) {
                *to = *from;
            }
            u64::from_le_bytes(old)
                .wrapping_add(dice.below(9) as u64)
                .wrapping_sub(4)
        }
        // Bytes from elsewhere.
        6 => {
            let (from, len) = (dice.below(bytes.len()), 1 + dice.below(64));
            if from.max(at) + len <= bytes.len() {
                bytes.copy_within(from..from + len, at);
            }
            return;
        }
        _ => {
            let (len, byte) = (1 + dice.below(64), dice.word() as u8);
            let fill = if dice.one_in(2) { 0 } else { byte };
            bytes.iter_mut().skip(at).take(len).for_each(|b| *b = fill);
            return;
        }
    };
    let places = bytes.iter_mut().skip(at).take(width);
    for (place, byte) in places.zip(word.to_le_bytes()) {
        *place = byte;
    }
}

/// Damages bytes that may become fewer or more.
pub fn damage_any(bytes: &mut Vec<u8>, dice: &mut Dice) {
    match dice.below(8) {
        0 => bytes.truncate(dice.below(bytes.len() + 1)),
        1 => {
            let more = 1 + dice.below(40);
            bytes.extend((0..more).map(|_| dice.word() as u8));
        }
        2 if !bytes.is_empty() => {
            let (at, len) = (dice.below(bytes.len()), 1 + dice.below(8));
            let end = bytes.len().min(at + len);
            bytes.drain(at..end);
        }
        _ => {}
    }
    if !bytes.is_empty() {
        damage(bytes, &[], dice);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_input_is_decided_by_seed_and_number_and_damaged_within_its_bounds() {
        for input in 0..2_000 {
            let (mut one, mut two) = (vec![9; 100], vec![9; 100]);
            damage(&mut one, &[10..20, 90..100], &mut Dice::of(5, input));
            damage(&mut two, &[10..20, 90..100], &mut Dice::of(5, input));
            assert_eq!(one, two);
            damage_any(&mut two, &mut Dice::of(6, input));
            assert!(two.len() <= 140);
        }
        assert_ne!(Dice::of(1, 2).word(), Dice::of(2, 1).word());
    }
}
