//! The header of a stripe.
//!
//! | bytes | field |
//! |---|---|
//! | 00-07 | magic `FURBAK`, 0, then the version: 1, or 2 of encrypted media |
//! | 08-11 | CRC-32C of the unit, this field taken as zero |
//! | 12-13 | number of the stripe in the media set, from 1 |
//! | 14-15 | stripes in the media set |
//! | 16-31 | GUID of the media set |
//! | 32-35 | bytes of a unit: 4096 |
//! | 36 | 1 when backup sets on it are compressed |
//! | 37 | version 2: 1, AES-256-GCM |
//! | 40-47 | when it was formatted, in microseconds since 1970 |
//! | 48-49 | bytes of the media name |
//! | 50-51 | bytes of the media description |
//! | 52-.. | both, in UTF-8; zeros to the end of the unit. Version 2: 20 bytes of thumbprint before them |

use super::{MediaError, THUMBPRINT_BYTES, Thumbprint, UNIT, bytes_at, crc_without, put};
use furrow_types::Guid;

const MAGIC: [u8; 7] = *b"FURBAK\x00";
/// A reader of version 1 refuses encrypted media as no media of its own.
const PLAIN: u8 = 1;
const ENCRYPTED: u8 = 2;
const AES_256_GCM: u8 = 1;
const CRC: usize = 8;
const TEXTS: usize = 52;

/// The header of a stripe.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct MediaHeader {
    /// The media set.
    pub media_set: Guid,
    /// The number of the stripe, from 1.
    pub family: u16,
    /// Stripes of the media set.
    pub families: u16,
    /// Whether backup sets on it are compressed.
    pub compressed: bool,
    /// When it was formatted, in microseconds since 1970.
    pub formatted_us: i64,
    /// MEDIANAME.
    pub name: String,
    /// MEDIADESCRIPTION.
    pub description: String,
    /// Of encrypted media, the key.
    pub key: Option<Thumbprint>,
}

impl MediaHeader {
    /// The stripe's own GUID: the media set's with the number of the stripe.
    pub fn family_guid(&self) -> Guid {
        let mut guid = self.media_set;
        let [a, b] = self.family.to_le_bytes();
        let [.., low, high] = &mut guid.0;
        (*low, *high) = (*low ^ a, *high ^ b);
        guid
    }

    /// The bytes of the unit. Texts that do not fit are cut.
    pub fn encode(&self) -> [u8; UNIT] {
        let mut unit = [0; UNIT];
        let cut = |text: &str| text.chars().take(255).collect::<String>();
        let (name, description) = (cut(&self.name), cut(&self.description));
        put(&mut unit, 0, &MAGIC);
        put(&mut unit, 12, &self.family.to_le_bytes());
        put(&mut unit, 14, &self.families.to_le_bytes());
        put(&mut unit, 16, &self.media_set.0);
        put(&mut unit, 32, &(UNIT as u32).to_le_bytes());
        put(&mut unit, 36, &[u8::from(self.compressed)]);
        put(&mut unit, 40, &self.formatted_us.to_le_bytes());
        put(&mut unit, 48, &(name.len() as u16).to_le_bytes());
        put(&mut unit, 50, &(description.len() as u16).to_le_bytes());
        let mut texts = TEXTS;
        put(&mut unit, MAGIC.len(), &[PLAIN]);
        if let Some(key) = &self.key {
            put(&mut unit, MAGIC.len(), &[ENCRYPTED]);
            put(&mut unit, 37, &[AES_256_GCM]);
            put(&mut unit, TEXTS, key);
            texts += THUMBPRINT_BYTES;
        }
        put(&mut unit, texts, name.as_bytes());
        put(&mut unit, texts + name.len(), description.as_bytes());
        let crc = crc_without(&unit, CRC);
        put(&mut unit, CRC, &crc.to_le_bytes());
        unit
    }

    /// Reads the unit.
    pub fn decode(unit: &[u8]) -> Result<MediaHeader, MediaError> {
        let version = bytes_at(unit, MAGIC.len()).map(|[version]| version);
        match (bytes_at(unit, 0) == Some(MAGIC), version) {
            (true, Some(PLAIN)) => MediaHeader::parse(unit, false),
            (true, Some(ENCRYPTED)) => MediaHeader::parse(unit, true),
            _ => return Err(MediaError::NotMedia),
        }
        .ok_or(MediaError::BadHeader)
    }

    fn parse(unit: &[u8], encrypted: bool) -> Option<MediaHeader> {
        let half = |at| Some(u16::from_le_bytes(bytes_at(unit, at)?));
        let word = |at| Some(u32::from_le_bytes(bytes_at(unit, at)?));
        let whole = unit.len() == UNIT && word(CRC)? == crc_without(unit, CRC);
        let (family, families) = (half(12)?, half(14)?);
        if !whole || word(32)? != UNIT as u32 || family == 0 || family > families {
            return None;
        }
        let key = match encrypted {
            false => None,
            true if bytes_at(unit, 37)? == [AES_256_GCM] => Some(bytes_at(unit, TEXTS)?),
            true => return None,
        };
        let texts = TEXTS + key.map_or(0, |_| THUMBPRINT_BYTES);
        let (name_end, texts_end) = {
            let name_end = texts + usize::from(half(48)?);
            (name_end, name_end + usize::from(half(50)?))
        };
        let text =
            |from: usize, to: usize| Some(str::from_utf8(unit.get(from..to)?).ok()?.to_owned());
        let [compressed] = bytes_at(unit, 36)?;
        Some(MediaHeader {
            media_set: Guid(bytes_at(unit, 16)?),
            family,
            families,
            compressed: compressed != 0,
            formatted_us: i64::from_le_bytes(bytes_at(unit, 40)?),
            name: text(texts, name_end)?,
            description: text(name_end, texts_end)?,
            key,
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_header_reads_back_and_any_flipped_bit_of_the_unit_is_found() {
        let header = MediaHeader {
            media_set: Guid([7; 16]),
            family: 2,
            families: 3,
            compressed: true,
            formatted_us: 12_345,
            name: "weekly".into(),
            description: "what \u{e4} week was".into(),
            key: None,
        };
        let encrypted = MediaHeader {
            key: Some([9; THUMBPRINT_BYTES]),
            ..header.clone()
        };
        for header in [header, encrypted] {
            let unit = header.encode();
            assert_eq!(MediaHeader::decode(&unit), Ok(header));
            for bit in 0..UNIT * 8 {
                let mut damaged = unit;
                damaged[bit / 8] ^= 1 << (bit % 8);
                assert!(MediaHeader::decode(&damaged).is_err(), "bit {bit}");
            }
        }
        assert_eq!(MediaHeader::decode(&[]), Err(MediaError::NotMedia));
    }
}
