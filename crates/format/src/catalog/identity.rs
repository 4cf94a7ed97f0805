//! The value of an identity column, as `syscolpars.idtval` keeps it.

use furrow_types::{DataType, Decimal, Value};

/// Last value, increment and seed of an identity column.
///
/// On disk: the three numbers, each as wide as the column's type, then a byte that is 1 until the first value
/// is issued. Databases from SQL Server 2000 still have the 1 later, so a last value other than the seed also
/// shows that a value was issued.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Identity {
    /// Last value issued; the seed while none was.
    pub last: i128,
    /// Increment.
    pub increment: i128,
    /// First value.
    pub seed: i128,
    /// Whether a value was issued.
    pub issued: bool,
}

impl Identity {
    /// A column from which nothing was issued yet.
    pub const fn new(seed: i128, increment: i128) -> Identity {
        Identity {
            last: seed,
            increment,
            seed,
            issued: false,
        }
    }

    /// The next value; `None` past the range of all types.
    pub fn next(&self) -> Option<i128> {
        if self.issued {
            self.last.checked_add(self.increment)
        } else {
            Some(self.seed)
        }
    }

    /// From the bytes of `idtval` of a column of this type.
    pub fn decode(data_type: &DataType, bytes: &[u8]) -> Option<Identity> {
        let width = usize::from(data_type.fixed_len()?);
        let (numbers, flag) = bytes.split_at_checked(3 * width)?;
        let (last, rest) = numbers.split_at_checked(width)?;
        let (increment, seed) = rest.split_at_checked(width)?;
        let &[unissued] = flag else { return None };
        let number = |bytes| match furrow_types::decode(data_type, bytes).ok()? {
            Value::Decimal(decimal) if decimal.scale == 0 => Some(decimal.unscaled),
            value => value.as_i64().map(i128::from),
        };
        let (last, seed) = (number(last)?, number(seed)?);
        let increment = number(increment)?;
        Some(Identity {
            last,
            increment,
            seed,
            issued: unissued == 0 || last != seed,
        })
    }

    /// The bytes of `idtval` for a column of this type; `None` when a number doesn't fit the type.
    pub fn encode(&self, data_type: &DataType) -> Option<Vec<u8>> {
        let mut bytes = Vec::new();
        for unscaled in [self.last, self.increment, self.seed] {
            let number = Value::Decimal(Decimal { unscaled, scale: 0 });
            furrow_types::encode_into(data_type, &number, &mut bytes).ok()?;
        }
        bytes.push(u8::from(!self.issued));
        Some(bytes)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use furrow_types::TypeId;

    #[test]
    fn a_real_identity_value_is_read_and_written() {
        let bytes = [0x45, 0x2B, 0, 0, 1, 0, 0, 0, 1, 0, 0, 0, 0];
        let int = DataType::simple(TypeId::Int);
        let identity = Identity::decode(&int, &bytes).unwrap();
        assert_eq!(
            identity,
            Identity {
                last: 11077,
                increment: 1,
                seed: 1,
                issued: true
            }
        );
        assert_eq!(identity.next(), Some(11078));
        assert_eq!(identity.encode(&int).unwrap(), bytes);
        assert_eq!(Identity::decode(&int, &bytes[..12]), None);
        let mut of_2000 = bytes;
        of_2000[12] = 1;
        assert_eq!(Identity::decode(&int, &of_2000), Some(identity));
    }

    #[test]
    fn the_first_value_is_the_seed_whatever_the_increment() {
        let fresh = Identity::new(100, -10);
        assert_eq!(fresh.next(), Some(100));
        let decimal = DataType::decimal(TypeId::Numeric, 18, 0).unwrap();
        let bytes = fresh.encode(&decimal).unwrap();
        assert_eq!(bytes.len(), 28);
        assert_eq!(Identity::decode(&decimal, &bytes), Some(fresh));
        assert_eq!(
            Identity::new(300, 1).encode(&DataType::simple(TypeId::TinyInt)),
            None
        );
    }
}
