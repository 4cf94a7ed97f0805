//! A stripe of a backup, as RESTORE reads it.

use super::Target;
use super::havoc::{Dice, damage};
use furrow_backup::media::{BackupKey, Codec, SetPlace, StripeReader, Unpacker};
use furrow_backup::{BackupRequest, Device, FilePages, Listener, Parts, Throttle, backup_database};
use furrow_engine::{DatabaseSpec, FileSpec, Instance, InstanceConfig};
use furrow_io::{Access, File, MemoryVolume, Open, Volume, read_all};
use std::hint::black_box;
use std::ops::Range;
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
    /// Its chunks, in order.
    chunks: Vec<Sound>,
    /// The key, if it is encrypted.
    key: Option<BackupKey>,
    unpacker: Unpacker,
}

/// A chunk that was read and accepted: it is again as long as its bytes, its stripe's header and its place in
/// the set are the same.
struct Sound {
    bytes: Range<usize>,
    place: SetPlace,
    number: u64,
}

impl Sound {
    fn is_untouched(&self, touched: &Range<usize>) -> bool {
        self.bytes.end <= touched.start || touched.end <= self.bytes.start
    }
}

struct Silent;

impl Listener for Silent {
    fn progress(&mut self, _: u64, _: u64) {}
    fn files_done(&mut self, _: u16, _: &[FilePages]) {}
}

fn request(path: &str, codec: Codec, key: Option<BackupKey>) -> BackupRequest {
    BackupRequest {
        devices: vec![Device::Disk(path.into())],
        codec,
        key,
        throttle: Throttle::Off,
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
    let (lz4, zstd) = (Codec::Lz4, Codec::Zstd(1));
    for (path, codec, key) in [
        (plain, zstd, None),
        (plain, lz4, None),
        (encrypted, zstd, Some(&key)),
    ] {
        let request = request(path, codec, key.cloned());
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
        let written = (0..image.len()).step_by(UNIT).filter(is_chunk).count();
        let mut stripe = Stripe {
            file,
            image,
            chunks: Vec::new(),
            key,
            unpacker: Unpacker::new(),
        };
        let all = 0..stripe.image.len();
        stripe.chunks = stripe.read(&all).ok_or("a sound stripe is refused")?;
        match stripe.chunks.len() == written {
            true => Ok(stripe),
            false => Err(format!(
                "{} of {written} chunks were read",
                stripe.chunks.len()
            )),
        }
    }

    /// Reads the stripe as RESTORE does, but for chunks of which nothing was touched; those that were read,
    /// where all of it is accepted.
    fn read(&mut self, touched: &Range<usize>) -> Option<Vec<Sound>> {
        let mut reader = StripeReader::open(Arc::clone(&self.file)).ok()?;
        if let Some(key) = &self.key {
            reader.unlock(key);
        }
        let mut chunks = Vec::new();
        for place in reader.sets().ok()? {
            let info = reader.info(&place).ok()?;
            let of_stripe = usize::from(reader.header().family).checked_sub(1)?;
            let expected = info.chunks.get(of_stripe).copied()?;
            let (mut at, mut number) = (place.begin, 0);
            while at <= place.tail {
                let next = match self.sound(at, (&place, number), touched) {
                    Some(sound) => sound.bytes.end as u64,
                    None => {
                        let chunk = reader
                            .chunk(at, (&place, number), &mut self.unpacker)
                            .ok()?;
                        black_box(chunk.payload.len());
                        let bytes = at as usize..chunk.next as usize;
                        chunks.push(Sound {
                            bytes,
                            place,
                            number,
                        });
                        chunk.next
                    }
                };
                (at, number) = (next, number + 1);
            }
            // The end and the tail are not counted.
            if number.checked_sub(2) != Some(expected) {
                return None;
            }
        }
        Some(chunks)
    }

    /// The chunk here, if it is known to be sound.
    fn sound(&self, at: u64, of: (&SetPlace, u64), touched: &Range<usize>) -> Option<&Sound> {
        let found = self
            .chunks
            .binary_search_by_key(&(at as usize), |chunk| chunk.bytes.start);
        let chunk = self.chunks.get(found.ok()?)?;
        (chunk.is_untouched(touched) && of == (&chunk.place, chunk.number)).then_some(chunk)
    }

    fn write(&self, at: usize, bytes: &[u8]) -> Result<(), String> {
        let done = self.file.write_at(at as u64, bytes);
        done.map_err(|e| e.to_string())
    }
}

impl Stripe {
    /// Whether a byte has changed that is authenticated in an encrypted set: neither the stripe header nor a
    /// tail, which has no payload, neither a checksum nor padding. `before` begins at the chunk.
    fn is_authenticated(&self, at: usize, before: &[u8]) -> bool {
        let stored = before.get(STORED..).and_then(|b| b.first_chunk());
        let stored = u32::from_le_bytes(stored.copied().unwrap_or_default()) as usize;
        let ends = UNIT + stored;
        let is_checksum = |n: usize| {
            let of = |field| (field..field + 4).contains(&n);
            of(CHUNK_CRC) || of(PAYLOAD_CRC)
        };
        let is_chunk = at > 0 && before.get(8) != Some(&TAIL);
        let now = self.image.get(at..).unwrap_or_default();
        let mut bytes = before.iter().zip(now).enumerate();
        is_chunk && bytes.any(|(n, (a, b))| a != b && n < ends && !is_checksum(n))
    }
}

impl Target for Stripes {
    fn read_one(&mut self, dice: &mut Dice) -> Result<(), String> {
        let which = dice.below(self.0.len());
        match self.0.get_mut(which) {
            Some(stripe) => stripe.read_one(dice),
            None => Err("no stripes".to_owned()),
        }
    }
}

impl Stripe {
    fn read_one(&mut self, dice: &mut Dice) -> Result<(), String> {
        // All of the stripe is read again where its header is damaged.
        let (at, all) = match dice.one_in(64) {
            true => (0, Some(0..self.image.len())),
            false => (
                dice.pick(&self.chunks).map_or(0, |chunk| chunk.bytes.start),
                None,
            ),
        };
        let damaged = at..(at + 2 * UNIT).min(self.image.len());
        let before = self.image.get(damaged.clone()).unwrap_or_default().to_vec();
        let repaired = dice.one_in(2);
        if let Some(bytes) = self.image.get_mut(damaged.clone()) {
            damage(bytes, std::slice::from_ref(&(0..CHUNK_FIELDS)), dice);
        }
        if repaired {
            reseal(&mut self.image, at);
        }
        let now = self.image.get(damaged.clone()).unwrap_or_default();
        let changed = now != before;
        self.write(at, now)?;
        // Right checksums make damage look sound, but not where an encrypted set is authenticated.
        let trusted = repaired && !(self.key.is_some() && self.is_authenticated(at, &before));
        let read = self.read(&all.unwrap_or(damaged.clone()));
        self.write(at, &before)?;
        if let Some(bytes) = self.image.get_mut(damaged) {
            bytes.copy_from_slice(&before);
        }
        match read {
            Some(_) if changed && !trusted => Err(format!("damage at {at} is not noticed")),
            _ => Ok(()),
        }
    }
}
