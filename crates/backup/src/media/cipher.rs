//! Encryption of payloads: AES-256-GCM.
//!
//! 1. A [`BackupKey`] has 32 bytes and a name. Its *thumbprint* is derived from the bytes. It is on the
//!    media, so that a restore finds the key again, whatever its name is there.
//! 2. Each backup set has a key of its own, derived from the backup key and the set's GUID. The nonce of a
//!    chunk is the number of its stripe and its own number: a nonce is used once with each key.
//! 3. The header of a chunk is authenticated with its payload. A chunk that was exchanged, moved or changed
//!    does not open, whatever checksums say.

use super::{MediaError, THUMBPRINT_BYTES, Thumbprint, UNIT};
use aes_gcm::aead::{AeadInPlace, KeyInit};
use aes_gcm::{Aes256Gcm, Nonce, Tag};
use furrow_types::Guid;
use hkdf::Hkdf;
use sha2::Sha256;
use std::fmt;

/// Bytes that a payload grows by.
pub(super) const TAG_BYTES: usize = 16;
/// Bytes of a key.
pub const KEY_BYTES: usize = 32;

/// A key that backups are encrypted with.
#[derive(Clone, PartialEq, Eq)]
pub struct BackupKey {
    name: String,
    bytes: [u8; KEY_BYTES],
}

impl fmt::Debug for BackupKey {
    /// The bytes of a key are shown nowhere.
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("BackupKey")
            .field("name", &self.name)
            .finish_non_exhaustive()
    }
}

impl BackupKey {
    /// A key of these bytes.
    pub fn new(name: impl Into<String>, bytes: [u8; KEY_BYTES]) -> BackupKey {
        let name = name.into();
        BackupKey { name, bytes }
    }

    /// Reads a key: 64 hexadecimal digits, with blanks and line ends around them.
    pub fn parse(name: impl Into<String>, text: &[u8]) -> Option<BackupKey> {
        let digits = text.trim_ascii();
        if digits.len() != 2 * KEY_BYTES {
            return None;
        }
        let mut bytes = [0; KEY_BYTES];
        for (byte, pair) in bytes.iter_mut().zip(digits.as_chunks::<2>().0) {
            let pair = str::from_utf8(pair).ok()?;
            let is_hex = pair.bytes().all(|b| b.is_ascii_hexdigit());
            *byte = u8::from_str_radix(pair, 16).ok().filter(|_| is_hex)?;
        }
        Some(BackupKey::new(name, bytes))
    }

    /// Its name.
    pub fn name(&self) -> &str {
        &self.name
    }

    /// What it is known by on media.
    pub fn thumbprint(&self) -> Thumbprint {
        let mut thumbprint = [0; THUMBPRINT_BYTES];
        derive(
            &self.bytes,
            &[],
            b"furrow backup thumbprint",
            &mut thumbprint,
        );
        thumbprint
    }
}

fn derive(key: &[u8; KEY_BYTES], salt: &[u8], purpose: &[u8], to: &mut [u8]) {
    let derived = Hkdf::<Sha256>::new(Some(salt), key).expand(purpose, to);
    debug_assert!(
        derived.is_ok(),
        "no more than 255 times 32 bytes are derived"
    );
}

/// Encrypts and decrypts the chunks of one backup set.
pub(super) struct SetCipher {
    set: Guid,
    aead: Aes256Gcm,
}

impl fmt::Debug for SetCipher {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("SetCipher").finish_non_exhaustive()
    }
}

/// Where a chunk is: its nonce.
#[derive(Debug, Clone, Copy)]
pub(super) struct ChunkPlace {
    pub(super) family: u16,
    pub(super) number: u64,
}

impl ChunkPlace {
    fn nonce(self) -> [u8; 12] {
        let mut nonce = [0; 12];
        let (family, number) = nonce.split_at_mut(4);
        family.copy_from_slice(&u32::from(self.family).to_le_bytes());
        number.copy_from_slice(&self.number.to_le_bytes());
        nonce
    }
}

impl SetCipher {
    pub(super) fn new(key: &BackupKey, set: Guid) -> SetCipher {
        let mut bytes = [0; KEY_BYTES];
        derive(&key.bytes, &set.0, b"furrow backup set", &mut bytes);
        SetCipher {
            set,
            aead: Aes256Gcm::new(&bytes.into()),
        }
    }

    /// Whether it is of this set.
    pub(super) fn is_of(&self, set: Guid) -> bool {
        self.set == set
    }

    /// Encrypts in place; the tag.
    pub(super) fn seal(
        &self,
        place: ChunkPlace,
        authenticated: &[u8],
        payload: &mut [u8],
    ) -> Result<[u8; TAG_BYTES], MediaError> {
        let nonce = place.nonce();
        let tag =
            self.aead
                .encrypt_in_place_detached(Nonce::from_slice(&nonce), authenticated, payload);
        // Only a payload of 64 GB is refused.
        let tag = tag.map_err(|_| MediaError::Damaged("a payload that cannot be encrypted"))?;
        Ok(tag.into())
    }

    /// Decrypts in place.
    pub(super) fn open(
        &self,
        place: ChunkPlace,
        authenticated: &[u8],
        (payload, tag): (&mut [u8], [u8; TAG_BYTES]),
    ) -> Result<(), MediaError> {
        let nonce = place.nonce();
        let tag = Tag::from(tag);
        let opened = self.aead.decrypt_in_place_detached(
            Nonce::from_slice(&nonce),
            authenticated,
            payload,
            &tag,
        );
        opened.map_err(|_| MediaError::Damaged("an encrypted payload"))
    }
}

/// What is authenticated of a header: its unit without the checksums, which cover the encrypted payload, and
/// without the tag of a tail.
pub(super) fn authenticated(unit: &[u8], without: &[std::ops::Range<usize>]) -> Vec<u8> {
    debug_assert!(unit.len() == UNIT);
    let mut authenticated = unit.to_vec();
    for field in without {
        if let Some(field) = authenticated.get_mut(field.clone()) {
            field.fill(0);
        }
    }
    authenticated
}

#[cfg(test)]
mod tests {
    use super::*;

    fn key(byte: u8) -> BackupKey {
        BackupKey::new("k", [byte; KEY_BYTES])
    }

    #[test]
    fn what_was_sealed_opens_with_the_same_key_set_place_and_header_alone() {
        let cipher = SetCipher::new(&key(7), Guid([1; 16]));
        let at = ChunkPlace {
            family: 2,
            number: 9,
        };
        let text: Vec<u8> = (0..100_u8).collect();
        let mut sealed = text.clone();
        let tag = cipher.seal(at, b"header", &mut sealed).unwrap();
        assert_ne!(sealed, text);
        let opens = |cipher: &SetCipher, at, header: &[u8], tag| {
            let mut opened = sealed.clone();
            let done = cipher.open(at, header, (&mut opened, tag));
            done.is_ok_and(|()| opened == text)
        };
        assert!(opens(&cipher, at, b"header", tag));
        let other_key = SetCipher::new(&key(8), Guid([1; 16]));
        let other_set = SetCipher::new(&key(7), Guid([2; 16]));
        assert!(!opens(&other_key, at, b"header", tag));
        assert!(!opens(&other_set, at, b"header", tag));
        assert!(!opens(
            &cipher,
            ChunkPlace { number: 8, ..at },
            b"header",
            tag
        ));
        assert!(!opens(
            &cipher,
            ChunkPlace { family: 1, ..at },
            b"header",
            tag
        ));
        assert!(!opens(&cipher, at, b"Header", tag));
        let mut bent = tag;
        bent[3] ^= 1;
        assert!(!opens(&cipher, at, b"header", bent));
    }

    #[test]
    fn keys_are_read_from_64_digits_and_shown_nowhere() {
        let digits = "0aF1".repeat(16);
        let read = BackupKey::parse("name", format!(" {digits}\r\n").as_bytes()).unwrap();
        let [.., last] = read.bytes;
        assert_eq!((read.bytes[0], last), (0x0A, 0xF1));
        assert!(!format!("{read:?}").contains("241"));
        for bad in [
            "",
            "0a",
            &digits[1..],
            &format!("{digits}00"),
            &"+1".repeat(32),
        ] {
            assert_eq!(BackupKey::parse("name", bad.as_bytes()), None, "{bad}");
        }
        assert_ne!(key(1).thumbprint(), key(2).thumbprint());
        assert_ne!(key(1).thumbprint(), [1; THUMBPRINT_BYTES]);
    }
}
