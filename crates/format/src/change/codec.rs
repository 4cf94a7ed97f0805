//! Changes as bytes.

use super::kinds::{Change, ChangeError};
use super::rows::RowList;
use crate::bytes::{chunk, u16_at};
use crate::{AllocUnitId, MapInit, MapKind, PAGE_SIZE, PageId, PageInit, PageType, PfsByte, TxnId};

// Tags are written to logs: never reuse or renumber one.
const FORMAT: u8 = 1;
const FORMAT_MAP: u8 = 2;
const INSERT_ROW: u8 = 3;
const REMOVE_ROW: u8 = 4;
const REMOVE_ROWS: u8 = 5;
const LOAD_ROWS: u8 = 6;
const REPLACE_ROW: u8 = 7;
const PATCH_ROW: u8 = 8;
const HEAP_PUT: u8 = 9;
const HEAP_FREE: u8 = 10;
const SET_LINKS: u8 = 11;
const SET_LEVEL: u8 = 12;
const SET_GHOSTS: u8 = 13;
const SET_RESERVED: u8 = 14;
const PATCH_BYTES: u8 = 15;
const SET_BIT: u8 = 16;
const SET_BITS: u8 = 17;
const SET_PFS: u8 = 18;
const IMAGE: u8 = 19;
const FORMAT_FORCED: u8 = 20;

const MAP_PFS: u8 = 0;
const MAP_GAM: u8 = 1;
const MAP_SGAM: u8 = 2;
const MAP_DIFF: u8 = 3;
const MAP_ML: u8 = 4;
const MAP_IAM: u8 = 5;

const HAS_PREV: u8 = 1;
const HAS_NEXT: u8 = 2;

impl<'a> Change<'a> {
    /// The first byte of the encoding.
    pub(super) const fn tag(&self) -> u8 {
        match self {
            Change::Format(_) => FORMAT,
            Change::FormatMap(_) => FORMAT_MAP,
            Change::InsertRow { .. } => INSERT_ROW,
            Change::RemoveRow { .. } => REMOVE_ROW,
            Change::RemoveRows { .. } => REMOVE_ROWS,
            Change::LoadRows(_) => LOAD_ROWS,
            Change::ReplaceRow { .. } => REPLACE_ROW,
            Change::PatchRow { .. } => PATCH_ROW,
            Change::HeapPut { .. } => HEAP_PUT,
            Change::HeapFree { .. } => HEAP_FREE,
            Change::SetLinks { .. } => SET_LINKS,
            Change::SetLevel { .. } => SET_LEVEL,
            Change::SetGhosts { .. } => SET_GHOSTS,
            Change::SetReserved { .. } => SET_RESERVED,
            Change::PatchBytes { .. } => PATCH_BYTES,
            Change::SetBit { .. } => SET_BIT,
            Change::SetBits { .. } => SET_BITS,
            Change::SetPfs { .. } => SET_PFS,
            Change::Image { .. } => IMAGE,
            Change::FormatForced(_) => FORMAT_FORCED,
        }
    }

    /// Appends everything behind tag and page.
    pub(super) fn encode_fields(&self, out: &mut Vec<u8>) {
        match *self {
            Change::Format(init) | Change::FormatForced(init) => put_init(&init, out),
            Change::FormatMap(init) => put_map(&init, out),
            Change::InsertRow { slot, bytes }
            | Change::ReplaceRow { slot, bytes }
            | Change::HeapPut { slot, bytes }
            | Change::PatchBytes {
                offset: slot,
                bytes,
            } => {
                put_u16(slot, out);
                put_bytes(bytes, out);
            }
            Change::RemoveRow { slot } | Change::HeapFree { slot } => put_u16(slot, out),
            Change::RemoveRows { from, count } => {
                put_u16(from, out);
                put_u16(count, out);
            }
            Change::LoadRows(rows) => put_bytes(rows.bytes(), out),
            Change::PatchRow {
                slot,
                offset,
                bytes,
            } => {
                put_u16(slot, out);
                put_u16(offset, out);
                put_bytes(bytes, out);
            }
            Change::SetLinks { prev, next } => {
                out.push(prev.map_or(0, |_| HAS_PREV) | next.map_or(0, |_| HAS_NEXT));
                for link in [prev, next].into_iter().flatten() {
                    out.extend_from_slice(&link.to_bytes());
                }
            }
            Change::SetLevel { level } => out.push(level),
            Change::SetGhosts { delta } => out.extend_from_slice(&delta.to_le_bytes()),
            Change::SetReserved {
                reserved,
                xact_reserved,
                xdes,
            } => {
                put_u16(reserved, out);
                put_u16(xact_reserved, out);
                out.extend_from_slice(&xdes.0.to_le_bytes());
            }
            Change::SetBit { index, value } => {
                put_u16(index, out);
                out.push(u8::from(value));
            }
            Change::SetBits {
                first,
                count,
                value,
            } => {
                put_u16(first, out);
                put_u16(count, out);
                out.push(u8::from(value));
            }
            Change::SetPfs { index, value } => {
                put_u16(index, out);
                out.push(value.0);
            }
            Change::Image { head, tail } => {
                put_bytes(head, out);
                put_bytes(tail, out);
            }
        }
    }

    /// Reads the fields of a change with this tag, and leaves `input` behind them.
    pub(super) fn decode_fields(tag: u8, input: &mut &'a [u8]) -> Result<Change<'a>, ChangeError> {
        match tag {
            FORMAT..=HEAP_FREE | IMAGE | FORMAT_FORCED => Change::decode_content(tag, input),
            _ => Change::decode_setting(tag, input),
        }
    }

    /// Changes of whole pages and of rows.
    fn decode_content(tag: u8, input: &mut &'a [u8]) -> Result<Change<'a>, ChangeError> {
        Ok(match tag {
            FORMAT => Change::Format(take_init(input)?),
            FORMAT_FORCED => Change::FormatForced(take_init(input)?),
            FORMAT_MAP => Change::FormatMap(take_map(tag, input)?),
            INSERT_ROW => Change::InsertRow {
                slot: take_u16(input)?,
                bytes: take_bytes(input)?,
            },
            REMOVE_ROW => Change::RemoveRow {
                slot: take_u16(input)?,
            },
            REMOVE_ROWS => Change::RemoveRows {
                from: take_u16(input)?,
                count: take_u16(input)?,
            },
            LOAD_ROWS => {
                let rows = RowList::parse(take_bytes(input)?);
                Change::LoadRows(rows.ok_or(ChangeError::BadField { tag })?)
            }
            REPLACE_ROW => Change::ReplaceRow {
                slot: take_u16(input)?,
                bytes: take_bytes(input)?,
            },
            PATCH_ROW => {
                let (slot, offset) = (take_u16(input)?, take_u16(input)?);
                Change::PatchRow {
                    slot,
                    offset,
                    bytes: take_bytes(input)?,
                }
            }
            HEAP_PUT => Change::HeapPut {
                slot: take_u16(input)?,
                bytes: take_bytes(input)?,
            },
            HEAP_FREE => Change::HeapFree {
                slot: take_u16(input)?,
            },
            IMAGE => {
                let (head, tail) = (take_bytes(input)?, take_bytes(input)?);
                if head.len() + tail.len() > PAGE_SIZE {
                    return Err(ChangeError::BadField { tag });
                }
                Change::Image { head, tail }
            }
            _ => return Err(ChangeError::UnknownTag { tag }),
        })
    }

    /// Changes of header fields, bytes and maps.
    fn decode_setting(tag: u8, input: &mut &'a [u8]) -> Result<Change<'a>, ChangeError> {
        Ok(match tag {
            SET_LINKS => {
                let [present] = take(input)?;
                if present & !(HAS_PREV | HAS_NEXT) != 0 {
                    return Err(ChangeError::BadField { tag });
                }
                let mut link = |bit| {
                    if present & bit == 0 {
                        Ok(None)
                    } else {
                        take_page(input).map(Some)
                    }
                };
                Change::SetLinks {
                    prev: link(HAS_PREV)?,
                    next: link(HAS_NEXT)?,
                }
            }
            SET_LEVEL => Change::SetLevel {
                level: u8::from_le_bytes(take(input)?),
            },
            SET_GHOSTS => Change::SetGhosts {
                delta: i16::from_le_bytes(take(input)?),
            },
            SET_RESERVED => Change::SetReserved {
                reserved: take_u16(input)?,
                xact_reserved: take_u16(input)?,
                xdes: TxnId(u64::from_le_bytes(take(input)?)),
            },
            PATCH_BYTES => Change::PatchBytes {
                offset: take_u16(input)?,
                bytes: take_bytes(input)?,
            },
            SET_BIT => Change::SetBit {
                index: take_u16(input)?,
                value: take_bool(tag, input)?,
            },
            SET_BITS => {
                let (first, count) = (take_u16(input)?, take_u16(input)?);
                Change::SetBits {
                    first,
                    count,
                    value: take_bool(tag, input)?,
                }
            }
            SET_PFS => {
                let index = take_u16(input)?;
                Change::SetPfs {
                    index,
                    value: PfsByte(u8::from_le_bytes(take(input)?)),
                }
            }
            _ => return Err(ChangeError::UnknownTag { tag }),
        })
    }
}

fn put_u16(value: u16, out: &mut Vec<u8>) {
    out.extend_from_slice(&value.to_le_bytes());
}

/// A byte string with its length. Strings of changes are parts of one page, or the rows of one page with a
/// length each. A longer one is a bug of the caller's: it is cut here, and the reader refuses it.
fn put_bytes(bytes: &[u8], out: &mut Vec<u8>) {
    debug_assert!(
        bytes.len() <= usize::from(u16::MAX),
        "no page has so many bytes"
    );
    let len = u16::try_from(bytes.len()).unwrap_or(u16::MAX);
    put_u16(len, out);
    out.extend_from_slice(bytes.get(..usize::from(len)).unwrap_or(bytes));
}

fn put_init(init: &PageInit, out: &mut Vec<u8>) {
    out.extend_from_slice(&init.page.to_bytes());
    out.extend_from_slice(&[init.kind.to_byte(), init.type_flags, init.level]);
    out.extend_from_slice(&init.unit.0.to_le_bytes());
    put_u16(init.pminlen, out);
    out.extend_from_slice(&init.prev.to_bytes());
    out.extend_from_slice(&init.next.to_bytes());
}

fn put_map(init: &MapInit, out: &mut Vec<u8>) {
    out.extend_from_slice(&init.page.to_bytes());
    match init.kind {
        MapKind::Pfs { file_pages } => {
            out.push(MAP_PFS);
            out.extend_from_slice(&file_pages.to_le_bytes());
        }
        MapKind::Gam => out.push(MAP_GAM),
        MapKind::Sgam => out.push(MAP_SGAM),
        MapKind::DiffMap => out.push(MAP_DIFF),
        MapKind::MlMap => out.push(MAP_ML),
        MapKind::Iam {
            unit,
            sequence,
            interval_start,
        } => {
            out.push(MAP_IAM);
            out.extend_from_slice(&unit.0.to_le_bytes());
            out.extend_from_slice(&sequence.to_le_bytes());
            out.extend_from_slice(&interval_start.to_bytes());
        }
    }
}

pub(super) fn take<const N: usize>(input: &mut &[u8]) -> Result<[u8; N], ChangeError> {
    let taken = chunk(input, 0).ok_or(ChangeError::Truncated)?;
    *input = input.get(N..).unwrap_or_default();
    Ok(taken)
}

pub(super) fn take_page(input: &mut &[u8]) -> Result<PageId, ChangeError> {
    take(input).map(PageId::from_bytes)
}

fn take_u16(input: &mut &[u8]) -> Result<u16, ChangeError> {
    take(input).map(u16::from_le_bytes)
}

fn take_bool(tag: u8, input: &mut &[u8]) -> Result<bool, ChangeError> {
    match take(input)? {
        [0] => Ok(false),
        [1] => Ok(true),
        _ => Err(ChangeError::BadField { tag }),
    }
}

fn take_bytes<'a>(input: &mut &'a [u8]) -> Result<&'a [u8], ChangeError> {
    let len = usize::from(u16_at(input, 0).ok_or(ChangeError::Truncated)?);
    let (bytes, rest) = input
        .get(2..)
        .and_then(|rest| rest.split_at_checked(len))
        .ok_or(ChangeError::Truncated)?;
    *input = rest;
    Ok(bytes)
}

fn take_init(input: &mut &[u8]) -> Result<PageInit, ChangeError> {
    let page = take_page(input)?;
    let [kind, type_flags, level] = take(input)?;
    Ok(PageInit {
        page,
        kind: PageType::from_byte(kind),
        type_flags,
        level,
        unit: AllocUnitId(u64::from_le_bytes(take(input)?)),
        pminlen: take_u16(input)?,
        prev: take_page(input)?,
        next: take_page(input)?,
    })
}

fn take_map(tag: u8, input: &mut &[u8]) -> Result<MapInit, ChangeError> {
    let page = take_page(input)?;
    let [kind] = take(input)?;
    let kind = match kind {
        MAP_PFS => MapKind::Pfs {
            file_pages: u32::from_le_bytes(take(input)?),
        },
        MAP_GAM => MapKind::Gam,
        MAP_SGAM => MapKind::Sgam,
        MAP_DIFF => MapKind::DiffMap,
        MAP_ML => MapKind::MlMap,
        MAP_IAM => MapKind::Iam {
            unit: AllocUnitId(u64::from_le_bytes(take(input)?)),
            sequence: u32::from_le_bytes(take(input)?),
            interval_start: take_page(input)?,
        },
        _ => return Err(ChangeError::BadField { tag }),
    };
    Ok(MapInit { page, kind })
}
