//! The devices that a backup goes to.

use super::BackupRequest;
use crate::BackupError;
use crate::error::shown;
use crate::media::{
    BackupKey, ChunkKind, Codec, MediaError, MediaHeader, SetInfo, StripeReader, StripeWriter, UNIT,
};
use furrow_format::{FileHeader, PAGE_SIZE, PageBuf};
use furrow_io::time::WallTime;
use furrow_io::{Access, AlignedBuf, File, Fill, IoErrorKind, Open, Volume, random};
use furrow_types::Guid;
use std::path::{Path, PathBuf};
use std::sync::Arc;

/// Most devices of a backup.
pub(crate) const MOST_DEVICES: usize = 64;

/// A device.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Device {
    /// A file.
    Disk(PathBuf),
    /// What is written to it is discarded.
    Nul,
}

impl Device {
    /// How messages name it.
    pub fn path(&self) -> PathBuf {
        match self {
            Device::Disk(path) => path.clone(),
            Device::Nul => PathBuf::from("NUL"),
        }
    }
}

/// A stripe on its device.
#[derive(Debug)]
struct Stripe {
    device: Device,
    file: Option<Arc<dyn File>>,
    /// What to cut it to when the backup fails: the length before; `None`: it was made now.
    before: Option<u64>,
    /// Whether what was on it is already written over.
    touched: bool,
}

/// The stripes of a backup, and their writers.
#[derive(Debug)]
pub(crate) struct Target {
    volume: Arc<dyn Volume>,
    stripes: Vec<Stripe>,
    pub(crate) writers: Vec<StripeWriter>,
    headers: Vec<MediaHeader>,
    position: u16,
}

/// A stripe that is on a device.
struct Found {
    header: MediaHeader,
    /// Sets on it, and where the last tail is.
    sets: u16,
    tail: u64,
    len: u64,
}

impl Target {
    /// Opens or makes the stripes and writes the begin of the set.
    pub(crate) fn open(
        volume: &Arc<dyn Volume>,
        request: &BackupRequest,
        info: &SetInfo,
    ) -> Result<Target, BackupError> {
        check_devices(&request.devices)?;
        let mut target = Target {
            volume: Arc::clone(volume),
            stripes: Vec::new(),
            writers: Vec::new(),
            headers: Vec::new(),
            position: 1,
        };
        match target.begin(request, info) {
            Ok(()) => Ok(target),
            Err(error) => {
                target.give_up();
                Err(error)
            }
        }
    }

    fn begin(&mut self, request: &BackupRequest, info: &SetInfo) -> Result<(), BackupError> {
        for device in &request.devices {
            self.stripes.push(open_stripe(&*self.volume, device)?);
        }
        let found = self.look(request)?;
        let families = self.stripes.len() as u16;
        let append = found
            .first()
            .and_then(Option::as_ref)
            .filter(|_| !request.init);
        let full = "more than 65535 backup sets on one media set. Use INIT, or another file";
        let behind = append.map_or(Some(1), |found| found.sets.checked_add(1));
        self.position = behind.ok_or_else(|| BackupError::unsupported(full))?;
        let kept = found
            .first()
            .and_then(Option::as_ref)
            .filter(|_| !request.format);
        let media_set = kept.map_or_else(|| Guid(random::guid_v4()), |f| f.header.media_set);
        for (at, stripe) in self.stripes.iter_mut().enumerate() {
            let there = found.get(at).and_then(Option::as_ref);
            let append = there.filter(|_| !request.init);
            let family = there.filter(|_| !request.format).map(|f| f.header.family);
            let family = family.unwrap_or(at as u16 + 1);
            let header = MediaHeader {
                media_set,
                family,
                families,
                compressed: request.codec != Codec::None,
                formatted_us: WallTime::now().unix_us(),
                name: request.media_name.clone(),
                description: request.media_description.clone(),
                key: request.key.as_ref().map(BackupKey::thumbprint),
            };
            let place = append.map_or((UNIT as u64, 0), |found| (found.len, found.tail));
            if append.is_none() {
                stripe.format(&header)?;
            }
            let ids = (family, self.position, info.set);
            let mut writer = StripeWriter::new(stripe.file.clone(), ids, place);
            writer = writer.encrypted(request.key.as_ref());
            let begun = writer.write_text(ChunkKind::Begin, info);
            begun.map_err(|e| stripe.failed(&e))?;
            self.writers.push(writer);
            self.headers.push(header);
        }
        Ok(())
    }

    /// What is on the devices; all or none of them have a stripe that counts.
    fn look(&self, request: &BackupRequest) -> Result<Vec<Option<Found>>, BackupError> {
        let mut found: Vec<Option<Found>> = Vec::new();
        for stripe in &self.stripes {
            found.push(if request.format {
                stripe.refuse_database_file()?;
                None
            } else {
                stripe.look(request.init)?
            });
        }
        let first = found
            .iter()
            .zip(&self.stripes)
            .find_map(|(f, s)| Some((f.as_ref()?, s)));
        let Some((first, _)) = first else {
            return Ok(found);
        };
        let families = self.stripes.len();
        let media = first.header.media_set;
        for (found, stripe) in found.iter().zip(&self.stripes) {
            let path = stripe.device.path();
            match found {
                Some(f) if usize::from(f.header.families) != families => {
                    let args = [
                        shown(&path),
                        f.header.families.into(),
                        (families as u32).into(),
                    ];
                    return Err(BackupError::refused(3231, &args));
                }
                // An encrypted set is the only one of its media.
                Some(f) if request.key.is_some() || (f.header.key.is_some() && !request.init) => {
                    debug_assert!(!request.format, "what is formatted is not looked at");
                    let asked = match f.header.key {
                        Some(_) if request.key.is_none() => "NO ENCRYPTION",
                        _ => "ENCRYPTION",
                    };
                    return Err(BackupError::refused(3095, &[asked.into(), asked.into()]));
                }
                Some(f) if f.header.media_set == media => {
                    if f.header.compressed != (request.codec != Codec::None) && !request.init {
                        let (what, other) = match f.header.compressed {
                            true => ("NO_COMPRESSION", "COMPRESSION"),
                            false => ("COMPRESSION", "NO_COMPRESSION"),
                        };
                        let args = [what.into(), what.into(), other.into()];
                        return Err(BackupError::refused(3098, &args));
                    }
                }
                _ => return Err(BackupError::refused(3258, &[shown(&path)])),
            }
        }
        let mut seen = std::collections::BTreeMap::new();
        for (found, stripe) in found.iter().zip(&self.stripes) {
            let Some(found) = found else { continue };
            if let Some(other) = seen.insert(found.header.family, stripe.device.path()) {
                let path = stripe.device.path();
                let args = [shown(&path), found.header.family.into(), shown(&other)];
                return Err(BackupError::refused(3227, &args));
            }
        }
        Ok(found)
    }

    /// The stripes: where they are, and their headers.
    pub(crate) fn stripes(&self) -> Vec<(PathBuf, MediaHeader)> {
        let paths = self.stripes.iter().map(|s| s.device.path());
        paths.zip(self.headers.iter().cloned()).collect()
    }

    /// The set's position on the media.
    pub(crate) fn position(&self) -> u16 {
        self.position
    }

    /// Ends the set on all stripes: everything is durable before the first tail is written.
    pub(crate) fn finish(&mut self, info: &SetInfo) -> Result<(), BackupError> {
        let mut info = info.clone();
        info.chunks = self.writers.iter().map(StripeWriter::chunks).collect();
        for (writer, stripe) in self.writers.iter_mut().zip(&self.stripes) {
            let ended = writer.write_text(ChunkKind::End, &info);
            ended
                .and_then(|()| writer.sync())
                .map_err(|e| stripe.failed(&e))?;
        }
        for (writer, stripe) in self.writers.iter_mut().zip(&self.stripes) {
            writer.write_tail().map_err(|e| stripe.failed(&e))?;
        }
        Ok(())
    }

    /// The device of a stripe failed.
    pub(crate) fn failed(&self, stripe: usize, e: &MediaError) -> BackupError {
        match self.stripes.get(stripe) {
            Some(stripe) => stripe.failed(e),
            None => BackupError::Cancelled,
        }
    }

    /// The backup failed: nothing that looks whole is left. Files that were made are removed; what was
    /// appended is cut off.
    pub(crate) fn give_up(&mut self) {
        self.writers.clear();
        for stripe in std::mem::take(&mut self.stripes) {
            let (Some(file), Device::Disk(path)) = (stripe.file, &stripe.device) else {
                continue;
            };
            let undone = match stripe.before {
                Some(len) => file.resize(if stripe.touched { 0 } else { len }, Fill::Allocate),
                None => {
                    drop(file);
                    self.volume.remove(path)
                }
            };
            if let Err(error) = undone {
                // Without its tail it is incomplete, and refused.
                debug_assert!(!error.to_string().is_empty());
            }
        }
    }
}

fn check_devices(devices: &[Device]) -> Result<(), BackupError> {
    if devices.len() > MOST_DEVICES {
        return Err(BackupError::refused(3205, &[(MOST_DEVICES as u32).into()]));
    }
    let nul = devices.iter().filter(|d| **d == Device::Nul).count();
    if nul != 0 && nul != devices.len() {
        return Err(BackupError::refused(3011, &[]));
    }
    Ok(())
}

fn open_stripe(volume: &dyn Volume, device: &Device) -> Result<Stripe, BackupError> {
    let Device::Disk(path) = device else {
        return Ok(Stripe {
            device: Device::Nul,
            file: None,
            before: None,
            touched: false,
        });
    };
    let open = |how| volume.open(path, how, Access::Data);
    let (file, before) = match open(Open::Existing) {
        Ok(file) => {
            let len = file
                .len_bytes()
                .map_err(|e| BackupError::cannot_open(path, &e))?;
            (file, Some(len))
        }
        Err(e) if e.kind == IoErrorKind::NotFound => {
            let made = open(Open::Create).map_err(|e| BackupError::cannot_open(path, &e))?;
            (made, None)
        }
        Err(e) => return Err(BackupError::cannot_open(path, &e)),
    };
    Ok(Stripe {
        device: device.clone(),
        file: Some(file),
        before,
        touched: false,
    })
}

impl Stripe {
    /// 3201 if a file of a database lies there, open or not: not even FORMAT takes it.
    fn refuse_database_file(&self) -> Result<(), BackupError> {
        let path = self.device.path();
        let there = self.before.is_some_and(|len| len >= PAGE_SIZE as u64);
        let Some(file) = self.file.as_ref().filter(|_| there) else {
            return Ok(());
        };
        let mut head = AlignedBuf::new(PAGE_SIZE);
        file.read_at(0, &mut head)
            .map_err(|e| BackupError::cannot_open(&path, &e))?;
        let page: Option<&PageBuf> = head.first_chunk();
        if page.is_some_and(|page| FileHeader::decode(page).is_ok()) || furrow_log::is_log(&head) {
            let reason = "80(The file belongs to a database. Remove it first if it is of no use.)";
            return Err(BackupError::refused(3201, &[shown(&path), reason.into()]));
        }
        Ok(())
    }

    /// The stripe that is on the device; `None` of an empty one. With INIT the sets may be damaged.
    fn look(&self, init: bool) -> Result<Option<Found>, BackupError> {
        let path = self.device.path();
        let Some(file) = self.file.as_ref().filter(|_| self.before.is_some()) else {
            return Ok(None);
        };
        let reader = match StripeReader::open(Arc::clone(file)) {
            Ok(reader) => reader,
            Err(MediaError::Empty) => return Ok(None),
            Err(e) => return Err(BackupError::of_media(&path, &e)),
        };
        let sets = match (reader.sets(), init) {
            (Ok(sets), _) => sets,
            (Err(_), true) => Vec::new(),
            (Err(MediaError::Incomplete), false) => {
                return Err(BackupError::refused(3266, &[shown(&path)]));
            }
            (Err(e), false) => return Err(BackupError::of_media(&path, &e)),
        };
        Ok(Some(Found {
            header: reader.header().clone(),
            sets: sets.last().map_or(0, |s| s.position),
            tail: sets.last().map_or(0, |s| s.tail),
            len: reader.len_bytes(),
        }))
    }

    /// Makes it an empty stripe.
    fn format(&mut self, header: &MediaHeader) -> Result<(), BackupError> {
        let Some(file) = &self.file else {
            return Ok(());
        };
        self.touched = true;
        let unit = AlignedBuf::copy_of(&header.encode());
        let done = file
            .resize(0, Fill::Allocate)
            .and_then(|()| file.write_at(0, &unit));
        done.map_err(|e| BackupError::cannot_write(&self.device.path(), &e))
    }

    fn failed(&self, e: &MediaError) -> BackupError {
        let path: &Path = &self.device.path();
        match e {
            MediaError::Io(e) => BackupError::cannot_write(path, e),
            e => BackupError::of_media(path, e),
        }
    }
}
