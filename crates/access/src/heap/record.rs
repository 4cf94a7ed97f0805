//! The forms of a heap's record: at its address, moved, ghost.

use furrow_format::{Record, RecordBuilder, RecordKind, RowId, Status, VarColumn};

/// Bit of status B: the ghost was a moved row.
const MOVED_GHOST: u8 = 1;

/// The row as a record for another page: with a pointer back to its stub, or without one (`None`) at its own
/// address.
pub(super) fn rebuilt(row: &[u8], home: Option<RowId>) -> Option<Vec<u8>> {
    let record = Record::data(row)?;
    let columns = record.column_count();
    let mut nulls = vec![0_u8; usize::from(columns).div_ceil(8)];
    for bit in (0..columns).filter(|&bit| record.null_bit(bit) == Some(true)) {
        if let Some(byte) = nulls.get_mut(usize::from(bit / 8)) {
            *byte |= 1 << (bit % 8);
        }
    }
    let vars: Option<Vec<VarColumn<'_>>> = (0..record.var_count())
        .map(|at| {
            record
                .var(at)
                .map(|(bytes, complex)| VarColumn { bytes, complex })
        })
        .collect();
    let vars = vars?;
    let kind = if home.is_some() {
        RecordKind::Forwarded
    } else {
        RecordKind::Primary
    };
    let builder = RecordBuilder {
        columns,
        null_bitmap: &nulls,
        vars: &vars,
        forwarded_from: home,
        version_tag: record.version_tag().copied(),
        ..RecordBuilder::new(kind, record.fixed())
    };
    let mut out = Vec::with_capacity(row.len() + 16);
    builder.build(&mut out)?;
    debug_assert_eq!(
        home_of(&out),
        home,
        "a record that was moved reads back with its home"
    );
    Some(out)
}

/// Whether the record is the ghost of a moved row.
pub(super) fn is_moved_ghost(record: &[u8]) -> bool {
    match record {
        [a, b, ..] => Status(*a).is_ghost() && b & MOVED_GHOST != 0,
        _ => false,
    }
}

/// The address of a moved row, live or ghost.
pub(super) fn home_of(record: &[u8]) -> Option<RowId> {
    if is_moved_ghost(record) {
        let mut live = record.to_vec();
        let bytes = status_of_life(record)?;
        live.splice(..2, bytes);
        return Record::data(&live)?.forwarded_from();
    }
    Record::data(record)?.forwarded_from()
}

/// The two status bytes that make a live record a ghost.
pub(super) fn status_of_ghost(record: &[u8]) -> Option<[u8; 2]> {
    let [a, b, ..] = *record else { return None };
    let moved = Status(a).kind() == RecordKind::Forwarded;
    let b = if moved {
        b | MOVED_GHOST
    } else {
        b & !MOVED_GHOST
    };
    Some([Status(a).with_kind(RecordKind::GhostData).0, b])
}

/// The two status bytes that make a ghost a live record again.
pub(super) fn status_of_life(record: &[u8]) -> Option<[u8; 2]> {
    let [a, b, ..] = *record else { return None };
    let moved = b & MOVED_GHOST != 0;
    let kind = if moved {
        RecordKind::Forwarded
    } else {
        RecordKind::Primary
    };
    Some([Status(a).with_kind(kind).0, b & !MOVED_GHOST])
}

#[cfg(test)]
mod tests {
    use super::*;
    use furrow_format::{ColumnSpec, PageId, RowForm, RowLayout};
    use furrow_types::TypeId;

    #[test]
    fn rows_move_become_ghosts_and_come_home_unchanged() {
        let layout = RowLayout::new(
            RowForm::Heap,
            &[
                ColumnSpec::new(1, TypeId::Int, 4, true),
                ColumnSpec::new(2, TypeId::VarBinary, 100, true),
                ColumnSpec::new(3, TypeId::VarBinary, 100, true),
            ],
        )
        .unwrap();
        let home = RowId {
            page: PageId::new(3, 70_000),
            slot: 9,
        };
        let number = 7_i32.to_le_bytes();
        for values in [
            [Some(&number[..]), Some(b"abc"), Some(b"defg")],
            [None, Some(b""), Some(b"x")],
            [Some(&number), Some(b"x"), Some(b"")],
            [Some(&number), None, None],
        ] {
            let mut row = Vec::new();
            layout.encode(&values, &mut row).unwrap();
            let mut moved = rebuilt(&row, Some(home)).unwrap();
            assert_eq!(home_of(&moved), Some(home));
            let record = layout.record(&moved, layout.pminlen()).unwrap();
            for (at, value) in values.iter().enumerate() {
                assert_eq!(layout.value(record, at).unwrap(), *value);
            }
            let live = moved.clone();
            assert!(!is_moved_ghost(&moved));
            moved.splice(..2, status_of_ghost(&live).unwrap());
            assert!(is_moved_ghost(&moved) && Status(moved[0]).is_ghost());
            assert_eq!(home_of(&moved), Some(home));
            moved.splice(..2, status_of_life(&moved.clone()).unwrap());
            assert_eq!(moved, live);
            assert_eq!(rebuilt(&moved, None).unwrap(), row);
            let mut ghost = row.clone();
            ghost.splice(..2, status_of_ghost(&row).unwrap());
            assert!(!is_moved_ghost(&ghost) && Status(ghost[0]).is_ghost());
            assert_eq!(home_of(&ghost), None);
            ghost.splice(..2, status_of_life(&ghost.clone()).unwrap());
            assert_eq!(ghost, row);
        }
    }
}
