//! 256-bit intermediate results: products of two 38-digit numbers, and numbers scaled up for division.

/// An unsigned number of 256 bits.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) struct Wide {
    pub(crate) high: u128,
    pub(crate) low: u128,
}

const LOW: u128 = u64::MAX as u128;

impl Wide {
    pub(crate) const ZERO: Wide = Wide { high: 0, low: 0 };

    pub(crate) const fn from_u128(low: u128) -> Wide {
        Wide { high: 0, low }
    }

    /// The whole product.
    pub(crate) const fn product(a: u128, b: u128) -> Wide {
        let (a1, a0) = (a >> 64, a & LOW);
        let (b1, b0) = (b >> 64, b & LOW);
        let low = a0 * b0;
        // No sum here can carry out: (2^64-1)^2 + 2 * (2^64-1) < 2^128.
        let middle = a1 * b0 + (low >> 64);
        let middle2 = a0 * b1 + (middle & LOW);
        Wide {
            high: a1 * b1 + (middle >> 64) + (middle2 >> 64),
            low: (middle2 << 64) | (low & LOW),
        }
    }

    pub(crate) const fn checked_add(self, other: Wide) -> Option<Wide> {
        let (low, carry) = self.low.overflowing_add(other.low);
        match self.high.checked_add(other.high) {
            Some(high) => match high.checked_add(carry as u128) {
                Some(high) => Some(Wide { high, low }),
                None => None,
            },
            None => None,
        }
    }

    /// `self - other`, where `other` is not larger.
    pub(crate) const fn less(self, other: Wide) -> Wide {
        let (low, borrow) = self.low.overflowing_sub(other.low);
        Wide {
            high: self
                .high
                .wrapping_sub(other.high)
                .wrapping_sub(borrow as u128),
            low,
        }
    }

    pub(crate) fn checked_mul(self, by: u128) -> Option<Wide> {
        let low = Wide::product(self.low, by);
        let high = Wide::product(self.high, by);
        if high.high != 0 {
            return None;
        }
        Some(Wide {
            high: low.high.checked_add(high.low)?,
            low: low.low,
        })
    }

    /// Times ten to the power of `digits`; `None` over 256 bits.
    pub(crate) fn scaled_up(self, digits: u32) -> Option<Wide> {
        let mut result = self;
        let mut left = digits;
        while left > 0 {
            let step = left.min(38);
            result = result.checked_mul(10u128.pow(step))?;
            left -= step;
        }
        Some(result)
    }

    /// Quotient and remainder by a number that is not 0.
    pub(crate) fn div_rem(self, by: u128) -> (Wide, u128) {
        if self.high == 0 {
            return (Wide::from_u128(self.low / by), self.low % by);
        }
        let (high, rest) = (self.high / by, self.high % by);
        let (low, rest) = if by <= LOW {
            // Two digits of 64 bits, one after the other.
            let upper = (rest << 64) | (self.low >> 64);
            let lower = ((upper % by) << 64) | (self.low & LOW);
            (((upper / by) << 64) | (lower / by), lower % by)
        } else {
            two_by_one(rest, self.low, by)
        };
        (Wide { high, low }, rest)
    }

    pub(crate) fn to_u128(self) -> Option<u128> {
        (self.high == 0).then_some(self.low)
    }
}

/// `(high, low) / by` with `high < by` and `by` over 64 bits: the quotient has 128 bits. Two digits of
/// 64 bits are estimated from the divisor's upper half and corrected.
fn two_by_one(high: u128, low: u128, by: u128) -> (u128, u128) {
    let shift = by.leading_zeros();
    let by = by << shift;
    let (high, low) = if shift == 0 {
        (high, low)
    } else {
        ((high << shift) | (low >> (128 - shift)), low << shift)
    };
    let (upper, rest) = digit(high, low >> 64, by);
    let (lower, rest) = digit(rest, low & LOW, by);
    ((upper << 64) | lower, rest >> shift)
}

/// One digit of 64 bits: `(high * 2^64 + next) / by`, where `high < by` and `by` has its highest bit set.
fn digit(high: u128, next: u128, by: u128) -> (u128, u128) {
    let mut guess = (high / (by >> 64)).min(LOW);
    // `high * 2^64 + next - guess * by`, by parts: the guess is at most two too large.
    loop {
        let taken = Wide::product(guess, by);
        let whole = Wide {
            high: high >> 64,
            low: (high << 64) | next,
        };
        if taken <= whole {
            let rest = whole.less(taken);
            debug_assert!(rest.high == 0 && rest.low < by);
            return (guess, rest.low);
        }
        guess -= 1;
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use furrow_io::random::{RngCore, seeded, test_seed};
    use num_bigint::BigUint;

    fn big(wide: Wide) -> BigUint {
        (BigUint::from(wide.high) << 128u32) + BigUint::from(wide.low)
    }

    #[test]
    fn products_and_quotients_agree_with_a_big_integer() {
        let seed = test_seed();
        println!("FURROW_SEED={seed}");
        let mut random = seeded(seed);
        let mut number = || {
            let bits = (u128::from(random.next_u64()) << 64) | u128::from(random.next_u64());
            let cut = random.next_u32() % 128;
            match random.next_u32() % 8 {
                0 => u128::MAX >> cut,
                1 => (1 << 127) >> cut,
                2 => (u128::MAX >> cut) & !(LOW >> 1),
                _ => bits >> cut,
            }
        };
        for _ in 0..100_000 {
            let (a, b) = (number(), number());
            let product = Wide::product(a, b);
            assert_eq!(big(product), BigUint::from(a) * BigUint::from(b), "{a} {b}");
            let dividend = Wide {
                high: number(),
                low: number(),
            };
            let divisor = number().max(1);
            let (quotient, rest) = dividend.div_rem(divisor);
            let (whole, by) = (big(dividend), BigUint::from(divisor));
            assert_eq!(big(quotient), &whole / &by, "{dividend:?} / {divisor}");
            assert_eq!(
                BigUint::from(rest),
                &whole % &by,
                "{dividend:?} % {divisor}"
            );
            let sum = dividend.checked_add(product).map(big);
            let expected = big(dividend) + big(product);
            match sum {
                Some(sum) => assert_eq!(sum, expected),
                None => assert!(expected.bits() > 256),
            }
        }
    }
}
