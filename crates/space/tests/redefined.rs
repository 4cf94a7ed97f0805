//! A filegroup that is defined again, as at every open: its name and flags come later than its first use.

mod common;

use common::{audit, base, growing, unit_id};
use furrow_io::thread::{scope, spawn_scoped};
use furrow_space::FilegroupSpec;

#[test]
fn a_filegroup_made_known_again_still_grows_under_one_latch() {
    let base = base(&[growing(1, 64, 8)]);
    let mut units = vec![base.unit(1)];
    let spec = FilegroupSpec {
        id: 1,
        name: "RENAMED".to_owned(),
        autogrow_all: true,
        is_default: true,
    };
    base.space.add_filegroup(spec.clone());
    assert_eq!(base.space.filegroups(), [spec]);
    units.push(base.space.create_unit(unit_id(2), 1).unwrap());
    scope(|threads| {
        for at in 0..16 {
            let (base, unit) = (&base, &units[at % 2]);
            let work = move || {
                for _ in 0..600 {
                    base.allocate_one(unit, None);
                }
            };
            spawn_scoped(threads, format!("loader {at}"), work).unwrap();
        }
    });
    let found = audit(&base, &units);
    let pages: usize = found
        .used
        .values()
        .map(std::collections::BTreeSet::len)
        .sum();
    assert_eq!(pages, 9_600);
    let (size, free, _) = found.files[&1];
    assert!(
        size >= 9_600 && free * 8 < 64,
        "{size} pages, {free} free extents"
    );
}
