//! The pages that a check of a part of a database reads.
//!
//! A table's pages are those of the extents and mixed pages that its IAM chains name. A filegroup's are its
//! files. Where a chain cannot be followed, all pages are read: some of them may be the table's.

use crate::maps::{Maps, page_at};
use crate::options::Scope;
use crate::plan::Plan;
use furrow_datafile::{Pages, SourceFile};
use furrow_format::{Bitmap, EXTENT_PAGES, Iam, Page, PageId};
use std::collections::HashSet;

/// Extents to be read, by file and number; `None` for all.
#[derive(Debug, Default)]
pub(crate) struct Wanted(Option<Vec<Vec<bool>>>);

impl Wanted {
    /// What a scope needs.
    pub(crate) fn of(
        scope: Scope,
        plan: &Plan,
        (library, maps): (&Pages<'_>, &Maps),
        files: &[SourceFile],
    ) -> Wanted {
        if !plan.readable {
            return Wanted(None);
        }
        match scope {
            Scope::Database => Wanted(None),
            Scope::Catalog => Wanted(Some(files.iter().map(|_| Vec::new()).collect())),
            Scope::Filegroup(group) => {
                let of_file = |file: &SourceFile| {
                    let extents = file.pages.div_ceil(EXTENT_PAGES) as usize;
                    vec![plan.group_of(file.id) == Some(group); extents]
                };
                Wanted(Some(files.iter().map(of_file).collect()))
            }
            Scope::Object(id) => Wanted(of_object(id, plan, (library, maps), files)),
        }
    }

    /// Whether an extent is to be read.
    pub(crate) fn has(&self, file: usize, extent: u32) -> bool {
        self.0.as_ref().is_none_or(|extents| {
            let extent = extents
                .get(file)
                .and_then(|of_file| of_file.get(extent as usize));
            extent.copied().unwrap_or(false)
        })
    }

    /// How many pages are to be read.
    pub(crate) fn pages(&self, files: &[SourceFile]) -> u64 {
        let all = |file: &SourceFile| u64::from(file.pages);
        match &self.0 {
            None => files.iter().map(all).sum(),
            Some(extents) => {
                let wanted = extents.iter().flatten().filter(|wanted| **wanted).count();
                wanted as u64 * u64::from(EXTENT_PAGES)
            }
        }
    }
}

fn of_object(
    object: i32,
    plan: &Plan,
    (library, maps): (&Pages<'_>, &Maps),
    files: &[SourceFile],
) -> Option<Vec<Vec<bool>>> {
    let extents = |file: &SourceFile| vec![false; file.pages.div_ceil(EXTENT_PAGES) as usize];
    let mut wanted: Vec<Vec<bool>> = files.iter().map(extents).collect();
    let mut add = |id: PageId| {
        let file = maps.file_index(id.file)?;
        let place = wanted
            .get_mut(file)?
            .get_mut((id.page.0 / EXTENT_PAGES) as usize)?;
        *place = true;
        Some(())
    };
    for unit in plan.units.iter().filter(|unit| unit.object_id == object) {
        let mut seen: HashSet<PageId> = HashSet::new();
        let mut next = unit.first_iam;
        while !next.is_none() {
            if !seen.insert(next) {
                return None;
            }
            let (bytes, whole) = library.get(next)?;
            whole.ok()?;
            let view = Page::new(&bytes);
            let iam = Iam::new(&bytes).filter(|_| view.unit().0 == unit.id)?;
            add(next)?;
            for single in iam.single_pages().filter(|single| !single.is_none()) {
                add(single)?;
            }
            let start = iam.interval_start();
            for bit in iam.extents().iter_set(Bitmap::BITS) {
                let page = start
                    .page
                    .0
                    .saturating_add(bit.saturating_mul(EXTENT_PAGES));
                add(page_at(start.file, page))?;
            }
            next = view.next();
        }
        // A root elsewhere is a finding, and is read to be reported.
        if !unit.root.is_none() {
            add(unit.root)?;
        }
    }
    Some(wanted)
}
