//! A fast hash of column values: 64 bits, few enough collisions to distinguish billions of rows.

const A: u64 = 0x9E37_79B9_7F4A_7C15;
const B: u64 = 0xD6E8_FEB8_6659_FD93;

/// Gathers the columns of a row.
#[derive(Debug, Clone, Copy)]
pub(crate) struct RowHash(u64);

#[inline]
fn mix(a: u64, b: u64) -> u64 {
    let product = u128::from(a) * u128::from(b);
    (product as u64) ^ (product >> 64) as u64
}

impl RowHash {
    pub(crate) fn new() -> RowHash {
        RowHash(A)
    }

    /// Adds a value; NULL differs from every value.
    #[inline]
    pub(crate) fn add(&mut self, value: Option<&[u8]>) {
        let Some(bytes) = value else {
            self.0 = mix(self.0 ^ B, A);
            return;
        };
        self.0 = mix(self.0 ^ (bytes.len() as u64 + 1), B);
        let (words, rest) = bytes.as_chunks::<8>();
        for word in words {
            self.0 = mix(self.0 ^ u64::from_le_bytes(*word), A);
        }
        if !rest.is_empty() {
            let mut last = [0; 8];
            for (place, byte) in last.iter_mut().zip(rest) {
                *place = *byte;
            }
            self.0 = mix(self.0 ^ u64::from_le_bytes(last), A);
        }
    }

    /// The hash; never 0, so that a row always leaves a trace in a sum.
    #[inline]
    pub(crate) fn done(self) -> u64 {
        mix(self.0, B).max(1)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn of(values: &[Option<&[u8]>]) -> u64 {
        let mut hash = RowHash::new();
        for value in values {
            hash.add(*value);
        }
        hash.done()
    }

    #[test]
    fn rows_that_differ_in_value_border_or_null_have_other_hashes() {
        let rows: [&[Option<&[u8]>]; 8] = [
            &[Some(b"ab"), Some(b"c")],
            &[Some(b"a"), Some(b"bc")],
            &[Some(b"abc"), None],
            &[None, Some(b"abc")],
            &[Some(b"abc"), Some(b"")],
            &[Some(b""), Some(b"abc")],
            &[Some(b"abc\0"), None],
            &[Some(b"\0\0\0\0\0\0\0\0"), Some(b"\0")],
        ];
        let mut hashes: Vec<u64> = rows.iter().map(|row| of(row)).collect();
        hashes.sort_unstable();
        hashes.dedup();
        assert_eq!(hashes.len(), rows.len());
        assert_eq!(of(rows[0]), of(rows[0]));
    }
}
