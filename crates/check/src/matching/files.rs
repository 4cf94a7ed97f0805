//! Files: each is as long as it says, and all are of one database.

use super::Matcher;
use crate::finding::page;
use crate::maps::page_at;
use furrow_format::boot::field;
use furrow_format::{BOOT_PAGE, Boot, FileHeader, Lsn, Page};

impl Matcher<'_> {
    /// By what the files of a database of our own that was shut down cleanly prove to be of one time: the
    /// primary file's header and the boot page's LSN.
    fn rest(&self) -> Option<(FileHeader, Lsn)> {
        let (boot, Ok(_)) = self.library.get(BOOT_PAGE)? else {
            return None;
        };
        let (header, Ok(_)) = self.library.get(page_at(BOOT_PAGE.file, 0))? else {
            return None;
        };
        let own = field::MAGIC.get(&boot).starts_with(b"FURROW");
        let clean = Boot::decode(&boot).is_ok_and(|boot| boot.own.clean_shutdown);
        let header = FileHeader::decode(&header).ok()?;
        (own && clean).then(|| (header, Page::new(&boot).lsn()))
    }

    pub(super) fn match_files(&mut self) {
        let mut binding = None;
        let rest = self.rest();
        for file in self.shared.files {
            let first = page_at(file.id, 0);
            let Some((bytes, Ok(_))) = self.library.get(first) else {
                continue;
            };
            let Ok(header) = FileHeader::decode(&bytes) else {
                continue;
            };
            if header.file != file.id {
                let means = format!("{} says that it is file {}.", file.name, header.file);
                let args = [page(first), "FILE_HEADER_PAGE".into(), 15.into()];
                self.findings.plain(8946, Some(first), &args, means);
            }
            let bound = *binding.get_or_insert(header.binding);
            if bound != header.binding {
                let means = format!("{} is a file of another database.", file.name);
                self.findings.plain(5173, Some(first), &[], means);
            }
            let apart = |(primary, boot): &(FileHeader, Lsn)| {
                file.id != primary.file && !header.rests_with(primary, *boot)
            };
            if bound == header.binding && rest.as_ref().is_some_and(apart) {
                let means = format!(
                    "{} is of another time than the primary file: it was left at {}.",
                    file.name, header.max_lsn
                );
                self.findings.plain(5173, Some(first), &[], means);
            }
            if file.pages < header.size_pages {
                let (expected, actual) =
                    (i64::from(header.size_pages) * 8, i64::from(file.pages) * 8);
                let lost = header.size_pages - file.pages;
                let means = format!(
                    "{} is cut off: it ends {lost} pages early, at {}.",
                    file.name,
                    page_at(file.id, file.pages)
                );
                let args = [file.name.as_str().into(), expected.into(), actual.into()];
                self.findings
                    .plain(5125, Some(page_at(file.id, file.pages)), &args, means);
            }
        }
    }
}
