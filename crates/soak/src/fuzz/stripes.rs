//! A stripe of a backup, as RESTORE reads it.

use super::Target;
use super::havoc::{Dice, damage};
use furrow_backup::media::{BackupKey, Codec, StripeReader, Unpacker};
use furrow_backup::{BackupRequest, Device, FilePages, Listener, Parts, backup_database};
use furrow_engine::{DatabaseSpec, FileSpec, Instance, InstanceConfig};
use furrow_io::{Access, File, MemoryVolume, Open, Volume, read_all};
use std::hint::black_box;
use std::path::Path;
use std::sync::Arc;

/// A stripe with two sets, and an encrypted one.
const PATHS: [&str; 2] = ["/d/b.bak", "/d/e.bak"];
const KEY: [u8; 32] = [7; 32];
const UNIT: usize = 4096;
/// The kind of a chunk that ends a set.
const TAIL: u8 = 5;
const CHUNK_MAGIC: &[u8; 4] = b"FBCK";
/// Fields of a chunk's header, the first runs among them.
const CHUNK_FIELDS: usize = 128;
/// Where a chunk's header has its checksum, the stored length and the checksum of the payload; and where the
/// header of the stripe has its own.
const CHUNK_CRC: usize = 4;
const STORED: usize = 48;
const PAYLOAD_CRC: usize = 52;
const MEDIA_CRC: usize = 8;

/// The stripes.
struct Stripes(Vec<Stripe>);

/// A stripe of sound sets.
struct Stripe {
    file: Arc<dyn File>,
    image: Vec<u8>,
    /// Where chunks begin.
    chunks: Vec<usize>,
    /// The key, if it is encrypted.
    key: Option<BackupKey>,
}

struct Silent;

impl Listener for Silent {
    fn progress(&mut self, _: u64, _: u64) {}
    fn files_done(&mut self, _: u16, _: &[FilePages]) {}
}

fn request(path: &str, key: Option<BackupKey>) -> BackupRequest {
    BackupRequest {
        devices: vec![Device::Disk(path.into())],
        codec: Codec::Zstd(1),
        key,
        throttle_mb_per_s: None,
        checksum: true,
        continue_after_error: false,
        buffer_count: None,
        transfer_bytes: 64 << 10,
        format: false,
        init: false,
        name: "a set".to_owned(),
        description: String::new(),
        media_name: "a stripe".to_owned(),
        media_description: String::new(),
        differential: false,
        copy_only: false,
        parts: Parts::default(),
        user: "sa".to_owned(),
        server: "soak".to_owned(),
    }
}

/// Stripes with the backups of a small database.
pub(super) fn make() -> Result<Box<dyn Target>, String> {
    let volume = MemoryVolume::new();
    let made = |e: &dyn std::fmt::Display| e.to_string();
    volume.create_dir(Path::new("/d")).map_err(|e| made(&e))?;
    let volume: Arc<dyn Volume> = Arc::new(volume);
    let config = InstanceConfig {
        pool_pages: 256,
        background: false,
        ..InstanceConfig::default()
    };
    let instance = Instance::start(Arc::clone(&volume), config).map_err(|e| made(&e))?;
    let file = FileSpec::new("data", "/d/data.mdf").size_kb(2048);
    let log = FileSpec::new("log", "/d/log.ldf").size_kb(1024);
    let db = instance.create_database(&DatabaseSpec::new("db", file).log(log));
    let db = db.map_err(|e| made(&e))?;
    let [plain, encrypted] = PATHS;
    let key = BackupKey::new("fuzz", KEY);
    for (path, key) in [(plain, None), (plain, None), (encrypted, Some(&key))] {
        let request = request(path, key.cloned());
        backup_database(&db, &request, &mut Silent).map_err(|e| made(&e))?;
    }
    instance.abandon();
    let stripes = [
        Stripe::read_sound(&*volume, plain, None)?,
        Stripe::read_sound(&*volume, encrypted, Some(key))?,
    ];
    Ok(Box::new(Stripes(stripes.into())))
}

/// CRC-32C of bytes whose four at `field` count as zero.
fn crc_without(bytes: &[u8], field: usize) -> u32 {
    let (head, rest) = bytes.split_at(field);
    let crc = crc32c::crc32c_append(crc32c::crc32c(head), &[0; 4]);
    crc32c::crc32c_append(crc, rest.get(4..).unwrap_or_default())
}

fn put(bytes: &mut [u8], at: usize, value: u32) {
    if let Some(place) = bytes.get_mut(at..at + 4) {
        place.copy_from_slice(&value.to_le_bytes());
    }
}

/// Makes the checksums of the chunk, or of the stripe's header, right.
fn reseal(image: &mut [u8], at: usize) {
    if at > 0 {
        let stored = image.get(at + STORED..).and_then(|b| b.first_chunk());
        let stored = u32::from_le_bytes(stored.copied().unwrap_or_default()) as usize;
        let from = at + UNIT;
        let padded = stored.min(image.len()).next_multiple_of(UNIT);
        let end = (from + padded).min(image.len());
        let crc = crc32c::crc32c(image.get(from..end).unwrap_or_default());
        put(image, at + PAYLOAD_CRC, crc);
    }
    let field = if at > 0 { CHUNK_CRC } else { MEDIA_CRC };
    let unit = image.get(at..at + UNIT).unwrap_or_default();
    let crc = crc_without(unit, field);
    put(image, at + field, crc);
}

impl Stripe {
    /// Reads a stripe that is sound, and sees that all of it is read.
    fn read_sound(
        volume: &dyn Volume,
        path: &str,
        key: Option<BackupKey>,
    ) -> Result<Stripe, String> {
        let file = volume.open(Path::new(path), Open::Existing, Access::Data);
        let file = file.map_err(|e| e.to_string())?;
        let image = read_all(&*file).map_err(|e| e.to_string())?;
        let is_chunk = |at: &usize| image.get(*at..).is_some_and(|b| b.starts_with(CHUNK_MAGIC));
        let chunks: Vec<usize> = (0..image.len()).step_by(UNIT).filter(is_chunk).collect();
        let stripe = Stripe {
            file,
            image,
            chunks,
            key,
        };
        let sound = stripe.read().ok_or("a sound stripe is refused")?;
        match sound == stripe.chunks.len() as u64 {
            true => Ok(stripe),
            false => Err(format!(
                "{sound} of {} chunks were read",
                stripe.chunks.len()
            )),
        }
    }

    /// Reads the stripe as RESTORE does; how many chunks, where all of it is accepted.
    fn read(&self) -> Option<u64> {
        let mut reader = StripeReader::open(Arc::clone(&self.file)).ok()?;
        if let Some(key) = &self.key {
            reader.unlock(key);
        }
        let (mut chunks, mut unpacker) = (0, Unpacker::new());
        for place in reader.sets().ok()? {
            let info = reader.info(&place).ok()?;
            let of_stripe = usize::from(reader.header().family).checked_sub(1)?;
            let expected = info.chunks.get(of_stripe).copied()?;
            let (mut at, mut number) = (place.begin, 0);
            while at <= place.tail {
                let chunk = reader.chunk(at, (&place, number), &mut unpacker).ok()?;
                black_box(chunk.payload.len());
                (at, number) = (chunk.next, number + 1);
            }
            // The end and the tail are not counted.
            if number.checked_sub(2) != Some(expected) {
                return None;
            }
            chunks += number;
        }
        Some(chunks)
    }

    fn write(&self, at: usize, bytes: &[u8]) -> Result<(), String> {
        let done = self.file.write_at(at as u64, bytes);
        done.map_err(|e| e.to_string())
    }
}

impl Stripe {
    /// Whether a byte has changed that is authenticated in an encrypted set: neither the stripe header nor a
    /// tail, which has no payload, neither a checksum nor padding.
    fn is_authenticated(&self, at: usize, image: &[u8]) -> bool {
        let stored = self.image.get(at + STORED..).and_then(|b| b.first_chunk());
        let stored = u32::from_le_bytes(stored.copied().unwrap_or_default()) as usize;
        let ends = at + UNIT + stored;
        let is_checksum = |n: usize| {
            let of = |field| (at + field..at + field + 4).contains(&n);
            of(CHUNK_CRC) || of(PAYLOAD_CRC)
        };
        let is_chunk = at > 0 && self.image.get(at + 8) != Some(&TAIL);
        let mut bytes = self.image.iter().zip(image).enumerate();
        is_chunk && bytes.any(|(n, (a, b))| a != b && n < ends && !is_checksum(n))
    }
}

impl Target for Stripes {
    fn read_one(&mut self, dice: &mut Dice) -> Result<(), String> {
        match dice.pick(&self.0) {
            Some(stripe) => stripe.read_one(dice),
            None => Err("no stripes".to_owned()),
        }
    }
}

impl Stripe {
    fn read_one(&self, dice: &mut Dice) -> Result<(), String> {
        let at = match dice.one_in(16) {
            true => 0,
            false => dice.pick(&self.chunks).copied().unwrap_or_default(),
        };
        let end = (at + 2 * UNIT).min(self.image.len());
        let repaired = dice.one_in(2);
        let mut image = self.image.clone();
        if let Some(bytes) = image.get_mut(at..end) {
            damage(bytes, std::slice::from_ref(&(0..CHUNK_FIELDS)), dice);
        }
        if repaired {
            reseal(&mut image, at);
        }
        let changed = image != self.image;
        let (now, before) = (image.get(at..end), self.image.get(at..end));
        self.write(at, now.unwrap_or_default())?;
        let read = self.read();
        self.write(at, before.unwrap_or_default())?;
        // Right checksums make damage look sound, but not where an encrypted set is authenticated.
        let trusted = repaired && !(self.key.is_some() && self.is_authenticated(at, &image));
        match read {
            Some(_) if changed && !trusted => Err(format!("damage at {at} is not noticed")),
            _ => Ok(()),
        }
    }
}
