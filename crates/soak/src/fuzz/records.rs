//! Records, rows in them, values in these.

use super::Target;
use super::havoc::{Dice, damage, damage_any};
use furrow_format::{ColumnSpec, Record, RowForm, RowLayout};
use furrow_types::{DataType, TypeId, Value, compare, decode, encode};
use std::hint::black_box;

/// Looks at a record in every way there is.
pub(super) fn look_at(record: Record<'_>) -> Result<(), String> {
    let all = record.bytes().len();
    // Columns of a damaged record may overlap, but none is longer than it.
    let vars = (0..record.var_count()).filter_map(|ordinal| record.var(ordinal));
    let longest = vars.map(|(bytes, _)| bytes.len()).max().unwrap_or_default();
    if record.fixed().len().max(longest) > all {
        return Err(format!("a column of {longest} bytes in a record of {all}"));
    }
    for bit in [
        0,
        7,
        record.column_count().saturating_sub(1),
        record.column_count(),
        u16::MAX,
    ] {
        black_box(record.null_bit(bit));
    }
    black_box((record.status(), record.is_ghost(), record.fixed_at(4, 8)));
    black_box((
        record.forwarded_from(),
        record.version_tag(),
        record.child(),
    ));
    Ok(())
}

const FORMS: [RowForm; 4] = [
    RowForm::Heap,
    RowForm::ClusteredLeaf,
    RowForm::IndexLeaf,
    RowForm::IndexNode,
];

/// A type with a length where it needs one.
fn typed(id: TypeId, dice: &mut Dice) -> DataType {
    let plain = DataType::simple(id);
    match plain.length {
        1 | 2 if plain.precision == 0 && id.is_variable() => {
            DataType::sized(id, 2 + 2 * dice.below(40) as i16)
        }
        _ => plain,
    }
}

struct Records {
    /// Layouts with their types, and a row of each.
    corpus: Vec<(RowLayout, Vec<DataType>, Vec<u8>)>,
}

/// A value of the type: zeros of its length mostly, which every type has a value for.
fn bytes_of(data_type: &DataType, dice: &mut Dice) -> Vec<u8> {
    let len = match data_type.length {
        len if data_type.id.is_variable() => dice.below(usize::from(len.unsigned_abs()).max(1)),
        len => usize::from(len.unsigned_abs()),
    };
    let mut bytes = vec![0; len];
    if dice.one_in(2) && !bytes.is_empty() {
        damage(&mut bytes, &[], dice);
    }
    bytes
}

/// Layouts of all forms over columns of all types that rows hold.
pub(super) fn make() -> Result<Box<dyn Target>, String> {
    let mut dice = Dice::of(20_26, 0);
    let mut corpus = Vec::new();
    let storable: Vec<TypeId> = TypeId::ALL
        .iter()
        .copied()
        .filter(|id| DataType::simple(*id).length > 0)
        .collect();
    for number in 0..64 {
        let form = FORMS[number % 4];
        let count = 1 + dice.below(9);
        let mut types = Vec::new();
        for _ in 0..count {
            let id = dice.pick(&storable).copied().unwrap_or(TypeId::Int);
            types.push(typed(id, &mut dice));
        }
        let nullable = dice.one_in(2);
        let specs: Vec<ColumnSpec> = (1..)
            .zip(&types)
            .map(|(id, t)| ColumnSpec::new(id, t.id, t.length.unsigned_abs(), nullable))
            .collect();
        let Ok(layout) = RowLayout::new(form, &specs) else {
            continue;
        };
        let values: Vec<Vec<u8>> = types.iter().map(|t| bytes_of(t, &mut dice)).collect();
        let given: Vec<Option<&[u8]>> = values
            .iter()
            .map(|value| (!nullable || !dice.one_in(3)).then_some(value.as_slice()))
            .collect();
        let mut row = Vec::new();
        let made = match form {
            RowForm::IndexNode => {
                layout.encode_node(&given, furrow_format::PageId::new(1, 77), &mut row)
            }
            _ => layout.encode(&given, &mut row),
        };
        if made.is_ok() {
            corpus.push((layout, types, row));
        }
    }
    match corpus.len() {
        0..32 => Err(format!("only {} of 64 rows can be made", corpus.len())),
        _ => Ok(Box::new(Records { corpus })),
    }
}

impl Target for Records {
    fn read_one(&mut self, dice: &mut Dice) -> Result<(), String> {
        let Some((layout, types, row)) = dice.pick(&self.corpus) else {
            return Ok(());
        };
        let mut bytes = row.clone();
        if dice.one_in(2) {
            damage_any(&mut bytes, dice);
        } else {
            let head = 0..bytes.len().clamp(1, 6);
            damage(&mut bytes, &[head], dice);
        }
        black_box((Record::data(&bytes).is_some(), Record::forwarded_to(&bytes)));
        let Some(record) = layout.record(&bytes, layout.pminlen()) else {
            return Ok(());
        };
        look_at(record)?;
        for (index, data_type) in types.iter().enumerate() {
            black_box((
                layout.held(record, index).is_ok(),
                layout.is_off_row(record, index),
            ));
            if let Ok(Some(value)) = layout.value(record, index) {
                value_of(data_type, value)?;
            }
        }
        Ok(())
    }
}

/// A value that can be read can be written, reads the same again, and is equal to itself.
fn value_of(data_type: &DataType, bytes: &[u8]) -> Result<(), String> {
    let Ok(value) = decode(data_type, bytes) else {
        return Ok(());
    };
    black_box((value.to_string().len(), compare(data_type, bytes, bytes)));
    // A damaged row may hold more than its column takes: that is read as it lies there, and when it is
    // written blanks at its end are cut off.
    if data_type.length > 0 && bytes.len() > usize::from(data_type.length.unsigned_abs()) {
        return Ok(());
    }
    let Ok(written) = encode(data_type, &value) else {
        return Ok(());
    };
    let again = decode(data_type, &written);
    let same = again
        .as_ref()
        .is_ok_and(|again| *again == value || is_nan(&value));
    match same {
        true => Ok(()),
        false => Err(format!(
            "{data_type:?}: {bytes:02x?} is {value:?}, written {written:02x?}, read {again:?}"
        )),
    }
}

/// Numbers that are none are not equal to themselves.
fn is_nan(value: &Value) -> bool {
    match value {
        Value::Real(number) => number.is_nan(),
        Value::Float(number) => number.is_nan(),
        _ => false,
    }
}
