//! Files: each is as long as it says, and all are of one database.

use super::Matcher;
use crate::finding::page;
use crate::library::page_at;
use furrow_format::FileHeader;

impl Matcher<'_> {
    pub(super) fn match_files(&mut self) {
        let mut binding = None;
        for file in self.shared.files {
            let first = page_at(file.id, 0);
            let Some((bytes, Ok(_))) = self.library.get(first) else {
                continue;
            };
            let Ok(header) = FileHeader::decode(bytes) else {
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
