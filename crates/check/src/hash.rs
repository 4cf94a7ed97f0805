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

/// Up to seven bytes as a word, without a loop.
#[inline]
fn word_of(rest: &[u8]) -> u64 {
    if let (Some(first), Some(last)) = (rest.first_chunk::<4>(), rest.last_chunk::<4>()) {
        let last = u64::from(u32::from_le_bytes(*last)) << 32;
        return u64::from(u32::from_le_bytes(*first)) | last;
    }
    match *rest {
        [a, b, c] => u64::from_le_bytes([a, b, c, 0, 0, 0, 0, 0]),
        [a, b] => u64::from(u16::from_le_bytes([a, b])),
        [a] => u64::from(a),
        _ => 0,
    }
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
        let (words, rest) = bytes.as_chunks::<8>();
        for word in words {
            self.0 = mix(self.0 ^ u64::from_le_bytes(*word), A);
        }
        // The length comes with the last bytes: most values are short.
        self.0 = mix(self.0 ^ word_of(rest), B ^ bytes.len() as u64);
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
