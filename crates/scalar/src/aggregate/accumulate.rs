//! What an aggregate keeps of the values it has seen.

use furrow_types::{Decimal, TypeId, Value};

use super::{Aggregate, BoundAggregate};
use crate::error::{SqlResult, message, overflow};
use crate::exact;
use crate::ops::approximate;
use crate::room;
use crate::types::{DecimalForm, exact};

/// The state of one group. It is used with the [`BoundAggregate`] that started it.
#[derive(Debug, Clone, PartialEq)]
pub struct Accumulator {
    count: i64,
    state: State,
}

#[derive(Debug, Clone, PartialEq)]
enum State {
    /// Only the count counts.
    Counted,
    /// A sum of integers or ten-thousandths. Wide enough for 2^63 values of 64 bits.
    Whole(i128),
    /// A sum of exact numbers at the argument's scale.
    Exact(Decimal),
    /// A sum, with what its rounding lost so far.
    Float {
        sum: f64,
        lost: f64,
    },
    /// Mean and sum of squared distances from it.
    Spread {
        mean: f64,
        squares: f64,
    },
    /// The best value so far.
    Best(Value),
    Folded(i32),
    /// A text, and its units.
    Joined(String, usize),
}

impl Accumulator {
    pub(super) fn new(bound: &BoundAggregate) -> Accumulator {
        let state = match bound.aggregate {
            Aggregate::Count | Aggregate::CountBig => State::Counted,
            Aggregate::Min | Aggregate::Max => State::Best(Value::Null),
            Aggregate::ChecksumAgg => State::Folded(0),
            Aggregate::StringAgg => State::Joined(String::new(), 0),
            Aggregate::Sum | Aggregate::Avg => match bound.result.id {
                TypeId::Float => State::Float {
                    sum: 0.0,
                    lost: 0.0,
                },
                TypeId::Decimal | TypeId::Numeric => State::Exact(Decimal {
                    unscaled: 0,
                    scale: bound.argument.scale,
                }),
                _ => State::Whole(0),
            },
            _ => State::Spread {
                mean: 0.0,
                squares: 0.0,
            },
        };
        Accumulator { count: 0, state }
    }

    /// A row of `COUNT(*)`.
    pub fn add_row(&mut self) {
        self.count += 1;
    }

    /// So many rows of `COUNT(*)`.
    pub fn add_rows(&mut self, rows: usize) {
        self.count += rows as i64;
    }

    /// Adds whole numbers of one type, which need no conversion. `nulls` says which of them are NULL, if some
    /// are; `value_of` returns a number as a value of the type.
    pub fn add_whole(
        &mut self,
        bound: &BoundAggregate,
        numbers: &[i64],
        nulls: Option<&[bool]>,
        value_of: impl Fn(i64) -> Value,
    ) -> SqlResult<()> {
        let is_null = |at: usize| nulls.is_some_and(|nulls| nulls.get(at) == Some(&true));
        let nulls_among = nulls.map_or(0, |nulls| nulls.iter().filter(|null| **null).count());
        let least_or_most = match bound.aggregate {
            _ if nulls.is_some() => None,
            Aggregate::Min => numbers.iter().min(),
            Aggregate::Max => numbers.iter().max(),
            _ => None,
        };
        match (&mut self.state, least_or_most) {
            (State::Counted, _) => self.count += (numbers.len() - nulls_among) as i64,
            (State::Whole(sum), _) => {
                // NULL is 0 here. Of 2^32 numbers in halves neither sum overflows.
                let (mut low, mut high) = (0_u64, 0_i64);
                for number in numbers {
                    low += number.cast_unsigned() & 0xFFFF_FFFF;
                    high += number >> 32;
                }
                *sum += (i128::from(high) << 32) + i128::from(low);
                self.count += (numbers.len() - nulls_among) as i64;
            }
            (State::Best(_), Some(best)) => {
                let others = numbers.len() as i64 - 1;
                self.add(bound, &value_of(*best))?;
                self.count += others;
            }
            _ => {
                for (at, number) in numbers.iter().enumerate() {
                    if !is_null(at) {
                        self.add(bound, &value_of(*number))?;
                    }
                }
            }
        }
        Ok(())
    }

    /// Takes in a value, which [`BoundAggregate::conversion`] has been applied to. NULL is left out.
    #[inline]
    pub fn add(&mut self, bound: &BoundAggregate, value: &Value) -> SqlResult<()> {
        if value.is_null() {
            return Ok(());
        }
        self.count += 1;
        match &mut self.state {
            State::Counted => {}
            State::Whole(sum) => *sum += i128::from(whole(value)),
            State::Exact(sum) => {
                let number = exact(value).unwrap_or(Decimal {
                    unscaled: 0,
                    scale: sum.scale,
                });
                let form = DecimalForm::new(38, sum.scale);
                let total = exact::add(*sum, number, form);
                *sum = total.map_err(|_| overflow(bound.result.id))?;
            }
            State::Float { sum, lost } => add_float(sum, lost, approximate(value).unwrap_or(0.0)),
            State::Spread { mean, squares } => {
                let x = approximate(value).unwrap_or(0.0);
                let distance = x - *mean;
                *mean += distance / self.count as f64;
                *squares += distance * (x - *mean);
            }
            State::Best(best) => {
                if best.is_null() || bound.replaces(value, best) {
                    *best = value.clone();
                }
            }
            State::Folded(sum) => *sum ^= value.as_i64().unwrap_or(0) as i32,
            State::Joined(text, units) => {
                let separator = if self.count > 1 {
                    &*bound.separator
                } else {
                    ""
                };
                append(text, units, bound, separator)?;
                append(text, units, bound, value.as_str().unwrap_or_default())?;
            }
        }
        Ok(())
    }

    /// Takes in what another accumulator of the same aggregate has seen, after this one's values.
    pub fn merge(&mut self, bound: &BoundAggregate, other: &Accumulator) -> SqlResult<()> {
        if other.count == 0 {
            return Ok(());
        }
        let (mine, theirs) = (self.count as f64, other.count as f64);
        match (&mut self.state, &other.state) {
            (State::Whole(sum), State::Whole(more)) => *sum += more,
            (State::Exact(sum), State::Exact(more)) => {
                let total = exact::add(*sum, *more, DecimalForm::new(38, sum.scale));
                *sum = total.map_err(|_| overflow(bound.result.id))?;
            }
            (
                State::Float { sum, lost },
                State::Float {
                    sum: more,
                    lost: also,
                },
            ) => {
                add_float(sum, lost, *more);
                add_float(sum, lost, *also);
            }
            (
                State::Spread { mean, squares },
                State::Spread {
                    mean: other,
                    squares: more,
                },
            ) => {
                let (distance, all) = (other - *mean, mine + theirs);
                *squares += more + distance * distance * mine * theirs / all;
                *mean += distance * theirs / all;
            }
            (State::Best(best), State::Best(value))
                if best.is_null() || bound.replaces(value, best) =>
            {
                *best = value.clone();
            }
            (State::Folded(sum), State::Folded(more)) => *sum ^= more,
            (State::Joined(text, units), State::Joined(more, _)) => {
                let separator = if self.count > 0 {
                    &*bound.separator
                } else {
                    ""
                };
                append(text, units, bound, separator)?;
                append(text, units, bound, more)?;
            }
            _ => {}
        }
        self.count += other.count;
        Ok(())
    }

    /// What it keeps outside of itself, in bytes.
    pub fn outside_bytes(&self) -> usize {
        match &self.state {
            State::Best(Value::VarChar(text) | Value::NVarChar(text)) | State::Joined(text, _) => {
                text.capacity()
            }
            State::Best(Value::Binary(bytes)) => bytes.capacity(),
            _ => 0,
        }
    }

    /// The aggregate of all values so far.
    pub fn finish(&self, bound: &BoundAggregate) -> SqlResult<Value> {
        let id = bound.result.id;
        match &self.state {
            State::Counted if id == TypeId::BigInt => Ok(Value::BigInt(self.count)),
            State::Counted => i32::try_from(self.count)
                .map(Value::Int)
                .map_err(|_| overflow(id)),
            _ if self.count == 0 => Ok(Value::Null),
            State::Whole(sum) => {
                let total = match bound.aggregate {
                    // The sum behind a mean overflows like the sum itself.
                    Aggregate::Avg => {
                        total(*sum, id)?;
                        *sum / i128::from(self.count)
                    }
                    _ => *sum,
                };
                total_value(total, id)
            }
            State::Exact(sum) => self.exact_result(*sum, bound),
            State::Float { sum, lost } => {
                let mut result = sum + lost;
                if bound.aggregate == Aggregate::Avg {
                    result /= self.count as f64;
                }
                crate::ops::float_of(result, TypeId::Float)
            }
            State::Spread { squares, .. } => Ok(self.spread(*squares, bound.aggregate)),
            State::Best(best) => Ok(best.clone()),
            State::Folded(sum) => Ok(Value::Int(*sum)),
            State::Joined(text, _) => {
                let unicode = id.is_unicode();
                let copy = room::joined(std::iter::once(&**text), unicode)?;
                Ok(crate::text::value(copy, unicode))
            }
        }
    }

    fn exact_result(&self, sum: Decimal, bound: &BoundAggregate) -> SqlResult<Value> {
        let form = DecimalForm::new(38, bound.result.scale);
        let count = Decimal {
            unscaled: i128::from(self.count),
            scale: 0,
        };
        let result = match bound.aggregate {
            Aggregate::Avg => exact::divide(sum, count, form),
            _ => exact::rescale(sum, form),
        };
        result
            .map(Value::Decimal)
            .map_err(|_| overflow(bound.result.id))
    }

    fn spread(&self, squares: f64, aggregate: Aggregate) -> Value {
        let of_all = matches!(aggregate, Aggregate::VarP | Aggregate::StDevP);
        let divisor = if of_all { self.count } else { self.count - 1 };
        if divisor == 0 {
            return Value::Null;
        }
        let variance = squares / divisor as f64;
        Value::Float(match aggregate {
            Aggregate::StDev | Aggregate::StDevP => variance.sqrt(),
            _ => variance,
        })
    }
}

/// Adds to the text of STRING_AGG and to its units, which may be so many (9829, 7119).
fn append(
    text: &mut String,
    units: &mut usize,
    bound: &BoundAggregate,
    more: &str,
) -> SqlResult<()> {
    let unicode = bound.result.id.is_unicode();
    *units += crate::text::units(more, unicode);
    let most = if unicode { 4000 } else { 8000 };
    if !bound.result.is_max() && *units > most {
        return Err(message(9829, &[]));
    }
    room::check_units(*units, unicode)?;
    room::more(text, more.len())?;
    text.push_str(more);
    Ok(())
}

fn whole(value: &Value) -> i64 {
    match value {
        Value::Money(n) => *n,
        Value::SmallMoney(n) => i64::from(*n),
        _ => value.as_i64().unwrap_or(0),
    }
}

/// Adds and accumulates the rounding errors separately: the sum of many numbers is as exact as the numbers
/// are.
fn add_float(sum: &mut f64, lost: &mut f64, x: f64) {
    let total = *sum + x;
    if total.is_finite() {
        *lost += if sum.abs() >= x.abs() {
            (*sum - total) + x
        } else {
            (x - total) + *sum
        };
    }
    *sum = total;
}

fn total(sum: i128, id: TypeId) -> SqlResult<i64> {
    let fits = match id {
        TypeId::Int => i32::try_from(sum).ok().map(i64::from),
        _ => i64::try_from(sum).ok(),
    };
    fits.ok_or_else(|| overflow(id))
}

fn total_value(sum: i128, id: TypeId) -> SqlResult<Value> {
    let sum = total(sum, id)?;
    Ok(match id {
        TypeId::Int => Value::Int(sum as i32),
        TypeId::Money => Value::Money(sum),
        _ => Value::BigInt(sum),
    })
}
