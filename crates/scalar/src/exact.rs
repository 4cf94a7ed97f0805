//! Exact arithmetic: the true result first, then one rounding to the result's scale.
//!
//! Sums and products are rounded half away from zero, quotients are cut off: `2.0 / 3` is `0.666666`.

use furrow_types::Decimal;

use crate::types::DecimalForm;
use crate::wide::Wide;

/// Why there is no result.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Fault {
    Overflow,
    DivideByZero,
}

/// Ten to the power of `digits`, 38 at most.
#[inline]
pub(crate) const fn power_of_ten(digits: u8) -> u128 {
    10u128.pow(if digits > 38 { 38 } else { digits as u32 })
}

pub(crate) fn add(a: Decimal, b: Decimal, to: DecimalForm) -> Result<Decimal, Fault> {
    if a.scale == b.scale
        && a.scale == to.scale
        && let Some(unscaled) = a.unscaled.checked_add(b.unscaled)
    {
        return within(unscaled.unsigned_abs(), unscaled < 0, to);
    }
    let scale = a.scale.max(b.scale);
    let lift = |n: Decimal| {
        Wide::from_u128(n.unscaled.unsigned_abs()).scaled_up(u32::from(scale - n.scale))
    };
    let (x, y) = (lift(a), lift(b));
    let (x, y) = (x.ok_or(Fault::Overflow)?, y.ok_or(Fault::Overflow)?);
    let (negative, magnitude) = if (a.unscaled < 0) == (b.unscaled < 0) {
        (a.unscaled < 0, x.checked_add(y).ok_or(Fault::Overflow)?)
    } else if x >= y {
        (a.unscaled < 0, x.less(y))
    } else {
        (b.unscaled < 0, y.less(x))
    };
    round(magnitude, negative, scale, to)
}

pub(crate) fn subtract(a: Decimal, b: Decimal, to: DecimalForm) -> Result<Decimal, Fault> {
    let negated = Decimal {
        unscaled: -b.unscaled,
        scale: b.scale,
    };
    add(a, negated, to)
}

pub(crate) fn multiply(a: Decimal, b: Decimal, to: DecimalForm) -> Result<Decimal, Fault> {
    let negative = (a.unscaled < 0) != (b.unscaled < 0);
    let product = Wide::product(a.unscaled.unsigned_abs(), b.unscaled.unsigned_abs());
    round(product, negative, a.scale + b.scale, to)
}

pub(crate) fn divide(a: Decimal, b: Decimal, to: DecimalForm) -> Result<Decimal, Fault> {
    if b.unscaled == 0 {
        return Err(Fault::DivideByZero);
    }
    let negative = (a.unscaled < 0) != (b.unscaled < 0);
    let (dividend, divisor) = (a.unscaled.unsigned_abs(), b.unscaled.unsigned_abs());
    let lift = i32::from(to.scale) + i32::from(b.scale) - i32::from(a.scale);
    let quotient = if lift >= 0 {
        // Over 256 bits the quotient has more than 38 digits, whatever the divisor.
        let lifted = Wide::from_u128(dividend).scaled_up(lift.unsigned_abs());
        lifted.ok_or(Fault::Overflow)?.div_rem(divisor).0
    } else {
        let divisor = Wide::from_u128(divisor).scaled_up(lift.unsigned_abs());
        match divisor.and_then(Wide::to_u128) {
            Some(divisor) => Wide::from_u128(dividend / divisor),
            None => Wide::ZERO,
        }
    };
    within(quotient.to_u128().ok_or(Fault::Overflow)?, negative, to)
}

/// The remainder has the dividend's sign.
pub(crate) fn remainder(a: Decimal, b: Decimal, to: DecimalForm) -> Result<Decimal, Fault> {
    if b.unscaled == 0 {
        return Err(Fault::DivideByZero);
    }
    let scale = a.scale.max(b.scale);
    let lift = |n: Decimal| {
        let magnitude = Wide::from_u128(n.unscaled.unsigned_abs());
        magnitude
            .scaled_up(u32::from(scale - n.scale))
            .ok_or(Fault::Overflow)
    };
    let (x, y) = (lift(a)?, lift(b)?);
    let rest = match y.to_u128() {
        Some(by) => Wide::from_u128(x.div_rem(by).1),
        // Only one of the two was lifted: the dividend is the smaller number.
        None if x < y => x,
        None => return Err(Fault::Overflow),
    };
    round(rest, a.unscaled < 0, scale, to)
}

/// The number at another form, rounded half away from zero.
pub(crate) fn rescale(n: Decimal, to: DecimalForm) -> Result<Decimal, Fault> {
    let magnitude = Wide::from_u128(n.unscaled.unsigned_abs());
    round(magnitude, n.unscaled < 0, n.scale, to)
}

fn round(magnitude: Wide, negative: bool, scale: u8, to: DecimalForm) -> Result<Decimal, Fault> {
    if scale <= to.scale {
        let lifted = magnitude.scaled_up(u32::from(to.scale - scale));
        let digits = lifted.and_then(Wide::to_u128).ok_or(Fault::Overflow)?;
        return within(digits, negative, to);
    }
    let mut quotient = magnitude;
    let mut left = scale - to.scale;
    // In steps of 38 digits; only the last step's remainder decides, but for a tie the others count.
    while left > 38 {
        quotient = quotient.div_rem(power_of_ten(38)).0;
        left -= 38;
    }
    let unit = power_of_ten(left);
    let (quotient, rest) = quotient.div_rem(unit);
    let up = u128::from(rest >= unit / 2);
    let digits = quotient.to_u128().and_then(|digits| digits.checked_add(up));
    within(digits.ok_or(Fault::Overflow)?, negative, to)
}

#[inline]
fn within(digits: u128, negative: bool, to: DecimalForm) -> Result<Decimal, Fault> {
    if digits >= power_of_ten(to.precision) {
        return Err(Fault::Overflow);
    }
    let unscaled = digits.cast_signed();
    Ok(Decimal {
        unscaled: if negative { -unscaled } else { unscaled },
        scale: to.scale,
    })
}

/// Compares two exact numbers of any scales.
pub(crate) fn compare(a: Decimal, b: Decimal) -> std::cmp::Ordering {
    if a.scale == b.scale {
        return a.unscaled.cmp(&b.unscaled);
    }
    let signs = a.unscaled.signum().cmp(&b.unscaled.signum());
    if signs.is_ne() {
        return signs;
    }
    let scale = a.scale.max(b.scale);
    // 38 digits lifted by 38 more have 76: always within 256 bits.
    let lift = |n: Decimal| {
        let magnitude = Wide::from_u128(n.unscaled.unsigned_abs());
        let most = Wide {
            high: u128::MAX,
            low: u128::MAX,
        };
        magnitude
            .scaled_up(u32::from(scale - n.scale))
            .unwrap_or(most)
    };
    let order = lift(a).cmp(&lift(b));
    if a.unscaled < 0 {
        order.reverse()
    } else {
        order
    }
}

/// The number as a floating-point one, correctly rounded.
pub(crate) fn to_f64(n: Decimal) -> f64 {
    if n.scale <= 22 && n.unscaled.unsigned_abs() < 1 << 53 {
        // Both are exact, so that one division rounds once.
        return n.unscaled as f64 / power_of_ten(n.scale) as f64;
    }
    format!("{}e-{}", n.unscaled, n.scale)
        .parse()
        .unwrap_or(0.0)
}

#[cfg(test)]
mod tests {
    use super::*;
    use furrow_io::random::{Rng, SeededRng, seeded, test_seed};
    use num_bigint::{BigInt, Sign};

    const fn dec(unscaled: i128, scale: u8) -> Decimal {
        Decimal { unscaled, scale }
    }

    const fn form(precision: u8, scale: u8) -> DecimalForm {
        DecimalForm::new(precision, scale)
    }

    #[test]
    fn sums_and_products_are_rounded_and_quotients_cut_off() {
        let two_thirds = divide(dec(20, 1), dec(3, 0), form(8, 6));
        assert_eq!(two_thirds, Ok(dec(666_666, 6)));
        assert_eq!(
            divide(dec(-20, 1), dec(3, 0), form(8, 6)),
            Ok(dec(-666_666, 6))
        );
        assert_eq!(multiply(dec(15, 1), dec(5, 1), form(5, 1)), Ok(dec(8, 1)));
        assert_eq!(multiply(dec(-15, 1), dec(5, 1), form(5, 1)), Ok(dec(-8, 1)));
        assert_eq!(add(dec(15, 1), dec(1, 0), form(5, 1)), Ok(dec(25, 1)));
        assert_eq!(
            remainder(dec(-75, 1), dec(2, 0), form(5, 1)),
            Ok(dec(-15, 1))
        );
        assert_eq!(
            divide(dec(1, 0), dec(0, 2), form(5, 1)),
            Err(Fault::DivideByZero)
        );
        assert_eq!(
            multiply(dec(99, 0), dec(99, 0), form(3, 0)),
            Err(Fault::Overflow)
        );
        // The documentation's example of a product that keeps six digits behind the point.
        let product = multiply(dec(9000, 10), dec(10_000_000_000, 10), form(38, 6));
        assert_eq!(product, Ok(dec(1, 6)));
    }

    #[test]
    fn numbers_of_different_scales_compare_by_value() {
        use std::cmp::Ordering::{Equal, Greater, Less};
        let most = 10i128.pow(38) - 1;
        assert_eq!(compare(dec(10, 1), dec(1, 0)), Equal);
        assert_eq!(compare(dec(-11, 1), dec(-1, 0)), Less);
        assert_eq!(compare(dec(most, 0), dec(most, 38)), Greater);
        assert_eq!(compare(dec(-most, 0), dec(most, 38)), Less);
        assert!((to_f64(dec(most, 38)) - 1.0).abs() < 1e-15);
        assert_eq!(to_f64(dec(1, 1)).to_bits(), 0.1f64.to_bits());
    }

    fn ten(power: u32) -> BigInt {
        BigInt::from(10).pow(power)
    }

    /// Value times ten to the power of 120, which every true result here but a quotient is whole at.
    fn rounded(numerator: &BigInt, denominator: &BigInt, half_up: bool) -> BigInt {
        let negative = (numerator.sign() == Sign::Minus) != (denominator.sign() == Sign::Minus);
        let (n, d) = (numerator.magnitude(), denominator.magnitude());
        let mut quotient = n / d;
        if half_up && (n % d) * 2u32 >= *d {
            quotient += 1u32;
        }
        BigInt::from_biguint(if negative { Sign::Minus } else { Sign::Plus }, quotient)
    }

    fn check(name: &str, got: Result<Decimal, Fault>, expected: &BigInt, to: DecimalForm) {
        let fits = expected.magnitude() < ten(u32::from(to.precision)).magnitude();
        match got {
            Ok(got) => {
                assert_eq!(BigInt::from(got.unscaled), *expected, "{name} {to:?}");
                assert_eq!(got.scale, to.scale);
            }
            Err(fault) => {
                assert_eq!(fault, Fault::Overflow, "{name}");
                assert!(!fits, "{name} {to:?}: {expected}");
            }
        }
    }

    fn number(random: &mut SeededRng) -> (Decimal, DecimalForm) {
        let precision = random.random_range(1..=38u8);
        let scale = random.random_range(0..=precision);
        let bound = 10i128.pow(u32::from(random.random_range(0..=precision)));
        let unscaled = match random.random_range(0..6) {
            0 => bound - 1,
            1 => 1 - bound,
            _ => random.random_range(-bound + 1..bound),
        };
        (dec(unscaled, scale), form(precision, scale))
    }

    #[test]
    fn exact_arithmetic_agrees_with_big_integers_over_all_precisions() {
        let seed = test_seed();
        println!("FURROW_SEED={seed}");
        let mut random = seeded(seed);
        for _ in 0..50_000 {
            let ((a, form_a), (b, form_b)) = (number(&mut random), number(&mut random));
            let (x, y) = (BigInt::from(a.unscaled), BigInt::from(b.unscaled));
            let (sa, sb) = (u32::from(a.scale), u32::from(b.scale));
            let name = format!("{a:?} {b:?} seed {seed}");

            let to = form_a.sum(form_b);
            let lift = ten(u32::from(to.scale));
            let both = &x * ten(sb) + &y * ten(sa);
            check(
                &name,
                add(a, b, to),
                &rounded(&(both * &lift), &ten(sa + sb), true),
                to,
            );
            let less = &x * ten(sb) - &y * ten(sa);
            check(
                &name,
                subtract(a, b, to),
                &rounded(&(less * &lift), &ten(sa + sb), true),
                to,
            );

            let to = form_a.product(form_b);
            let product = &x * &y * ten(u32::from(to.scale));
            check(
                &name,
                multiply(a, b, to),
                &rounded(&product, &ten(sa + sb), true),
                to,
            );
            if b.unscaled == 0 {
                continue;
            }
            let to = form_a.quotient(form_b);
            let dividend = &x * ten(u32::from(to.scale) + sb);
            check(
                &name,
                divide(a, b, to),
                &rounded(&dividend, &(&y * ten(sa)), false),
                to,
            );

            let to = form_a.remainder(form_b);
            let rest = (&x * ten(sb)) % (&y * ten(sa));
            let rest = rounded(&(rest * ten(u32::from(to.scale))), &ten(sa + sb), true);
            check(&name, remainder(a, b, to), &rest, to);

            let order = (&x * ten(sb)).cmp(&(&y * ten(sa)));
            assert_eq!(compare(a, b), order, "{name}");
        }
    }
}
