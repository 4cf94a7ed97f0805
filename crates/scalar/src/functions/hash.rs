//! Hashes: CHECKSUM, BINARY_CHECKSUM, HASHBYTES.

use std::borrow::Cow;
use std::hash::Hasher;

use furrow_types::{DataType, Family, TypeId, Value, encode, encode_1252, encode_utf16};
use md5::Md5;
use sha1::{Digest, Sha1};
use sha2::{Sha256, Sha512};

use super::bind::{Binding, Call, INT};
use crate::error::SqlResult;
use crate::ops::hash_value;
use crate::room;

/// What NULL adds to a checksum.
const NULL_SUM: u32 = 0x7FFF_FFFF;

/// 32 bits of what the comparison of values looks at.
struct Folded(u32);

impl Hasher for Folded {
    fn finish(&self) -> u64 {
        u64::from(self.0)
    }

    fn write(&mut self, bytes: &[u8]) {
        for &byte in bytes {
            self.0 = self.0.rotate_left(4) ^ u32::from(byte);
        }
    }
}

/// A hash under the comparison rules: equal values hash alike, whatever their case and trailing blanks. An
/// integer's is itself, as in SQL Server; text's is our own (SQL Server's weights are not published).
pub(super) fn checksum(call: &Call<'_>) -> SqlResult<Binding> {
    combined(call, |value, of| match value {
        Value::Null => NULL_SUM,
        Value::TinyInt(_) | Value::SmallInt(_) | Value::Int(_) | Value::Bit(_) => {
            value.as_i64().unwrap_or(0) as u32
        }
        _ => {
            let mut state = Folded(0);
            hash_value(value, of, &mut state);
            state.0
        }
    })
}

/// A hash of the bytes on disk: text of another case has another one.
pub(super) fn binary_checksum(call: &Call<'_>) -> SqlResult<Binding> {
    combined(call, |value, of| match value {
        Value::Null => NULL_SUM,
        Value::TinyInt(_) | Value::SmallInt(_) | Value::Int(_) | Value::Bit(_) => {
            value.as_i64().unwrap_or(0) as u32
        }
        Value::VarChar(text) => folded_text(text, false),
        Value::NVarChar(text) => folded_text(text, true),
        Value::Binary(bytes) => folded(bytes),
        _ => folded(&encode(of, value).unwrap_or_default()),
    })
}

fn folded(bytes: &[u8]) -> u32 {
    let mut state = Folded(0);
    room::pieces(bytes).for_each(|piece| state.write(piece));
    state.0
}

fn folded_text(text: &str, unicode: bool) -> u32 {
    let mut state = Folded(0);
    for part in room::parts(text) {
        let mut bytes = Vec::with_capacity(part.len() * 2);
        match unicode {
            true => encode_utf16(part, &mut bytes),
            false => encode_1252(part, &mut bytes),
        }
        state.write(&bytes);
    }
    state.0
}

fn combined(call: &Call<'_>, sum: fn(&Value, &DataType) -> u32) -> SqlResult<Binding> {
    for place in 0..call.len() {
        let id = call.get(place).data_type.id;
        if matches!(id.family(), Family::Lob) || id == TypeId::Xml {
            return Err(call.refuse(place));
        }
    }
    let types: Vec<DataType> = call
        .arguments
        .iter()
        .map(|operand| operand.data_type)
        .collect();
    let binding = Binding::new(vec![], INT, move |_, values| {
        let mut total = 0u32;
        for (value, of) in values.iter().zip(&types) {
            total = total.rotate_left(4) ^ sum(value, of);
        }
        Ok(Value::Int(total.cast_signed()))
    });
    Ok(binding.sees_null())
}

/// The digest of bytes, piece by piece.
fn digest<D: Digest>(bytes: &[u8]) -> Vec<u8> {
    let mut state = D::new();
    room::pieces(bytes).for_each(|piece| state.update(piece));
    state.finalize().to_vec()
}

pub(super) fn hashbytes(call: &Call<'_>) -> SqlResult<Binding> {
    let of = call.get(1).data_type;
    let is_bytes = matches!(of.id, TypeId::Binary | TypeId::VarBinary);
    let of = if is_bytes {
        of
    } else if of.id.has_collation() || call.get(1).is_null_literal {
        call.text(1)?
    } else {
        return Err(call.refuse(1));
    };
    let parameters = vec![Some(call.text(0)?), (!is_bytes).then_some(of)];
    let result = DataType::sized(TypeId::VarBinary, 8000);
    Ok(Binding::new(parameters, result, |_, values| {
        let name = values
            .first()
            .and_then(|value| value.as_str())
            .unwrap_or_default();
        let bytes = match values.get(1) {
            Some(Value::VarChar(text)) => Cow::Owned(room::encoded(text, false)?),
            Some(Value::NVarChar(text)) => Cow::Owned(room::encoded(text, true)?),
            Some(Value::Binary(bytes)) => Cow::Borrowed(bytes.as_slice()),
            _ => return Ok(Value::Null),
        };
        let digest = match name.trim_end().to_ascii_uppercase().as_str() {
            "MD5" => digest::<Md5>(&bytes),
            "SHA" | "SHA1" => digest::<Sha1>(&bytes),
            "SHA2_256" => digest::<Sha256>(&bytes),
            "SHA2_512" => digest::<Sha512>(&bytes),
            _ => return Ok(Value::Null),
        };
        Ok(Value::Binary(digest))
    }))
}
