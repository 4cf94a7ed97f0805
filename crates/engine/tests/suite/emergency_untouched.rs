//! A repair in EMERGENCY that is refused, cancelled or fails leaves everything as it was, files of other
//! databases among it.

use crate::emergency_log::{
    BOOT, HEADER, LOG, PRIMARY, SECOND, change, changed, damage, enter, files, in_use, machines,
    options, prove_untouched, put, read, repair, state, without_images,
};
use crate::repair_crash::{findings, start};
use furrow_check::Progress;
use furrow_engine::DatabaseState;
use furrow_format::{FileHeader, stamp_checksum};
use furrow_io::Volume;
use furrow_io::sim::{Effect, Fault, Ops};
use furrow_types::Guid;
use std::path::{Path, PathBuf};

#[test]
fn a_repair_leaves_files_of_other_databases() {
    for (path, is_header_damaged) in [(PRIMARY, false), (PRIMARY, true), (SECOND, false)] {
        let context = format!("{path}, header damaged: {is_header_damaged}");
        let (volume, other) = (in_use(), in_use());
        let instance = start(&volume).unwrap();
        enter(&instance).unwrap();
        put(&volume, path, &read(&other, path));
        if is_header_damaged {
            damage(&volume, (path, HEADER));
            change(&volume, (path, BOOT), |page| {
                use furrow_format::boot::field;
                field::DATABASE_ID.set(page, [77, 0]);
                stamp_checksum(page);
            });
        }
        without_images(&volume);
        volume.remove(Path::new(LOG)).unwrap();
        let before = files(&volume);
        let refused = repair(&instance).map(drop).unwrap_err();
        assert!(refused.has(5173), "{context}: {refused}");
        assert_eq!(
            changed(&volume, &before),
            Vec::<PathBuf>::new(),
            "{context}"
        );
        instance.abandon();
    }
}

#[test]
fn a_second_file_that_was_made_again_is_not_taken_for_the_one_of_the_catalog() {
    let volume = in_use();
    let instance = start(&volume.fork()).unwrap();
    instance.abandon();
    let instance = start(&volume).unwrap();
    enter(&instance).unwrap();
    change(&volume, (SECOND, HEADER), |page| {
        let mut header = FileHeader::decode(page).unwrap();
        header.file_guid = Guid([9; 16]);
        header.format(page).unwrap();
        stamp_checksum(page);
    });
    volume.remove(Path::new(LOG)).unwrap();
    let before = files(&volume);
    let refused = repair(&instance).map(drop).unwrap_err();
    assert!(refused.has(5173), "{refused}");
    assert_eq!(changed(&volume, &before), Vec::<PathBuf>::new());
    instance.abandon();
}

#[test]
fn a_repair_that_fails_leaves_everything_as_it_was() {
    let whole = ("with nothing to repair", in_use());
    for (name, ready) in machines().into_iter().chain([whole]) {
        let mut failed = 0;
        for n in 1..=30 {
            let volume = ready.fork();
            let instance = start(&volume).unwrap();
            enter(&instance).unwrap();
            let before = files(&volume);
            volume.inject(Fault::new(Ops::Changes, Effect::NoSpace).nth(n));
            let ended = repair(&instance).map(drop);
            let journal = volume.exists(Path::new("d/p.mdf_MSSQL_REPAIR")).unwrap();
            let context = format!("{name}, operation {n}: {ended:?}");
            let online = state(&instance) == DatabaseState::Online;
            if ended.is_err() && !journal && !online {
                prove_untouched((&instance, &volume), &before, &context);
                failed += 1;
            }
            instance.abandon();
            // From here on the repair is done, whatever fails: by its journal, or already without it.
            if journal {
                break;
            }
        }
        assert!(failed > 0, "{name}: no operation before the journal failed");
    }
}

#[test]
fn a_repair_that_is_cancelled_or_not_agreed_to_leaves_everything_as_it_was() {
    for (name, volume) in machines() {
        let instance = start(&volume).unwrap();
        enter(&instance).unwrap();
        let before = files(&volume);
        let refused = instance.repair_database("Db", &options(), &mut |_| false);
        assert!(refused.is_ok(), "{name}");
        prove_untouched((&instance, &volume), &before, name);
        let stop = |_: Progress| false;
        let how = (
            &options(),
            (None, Some(&stop as furrow_check::Listener<'_>)),
        );
        let cancelled = instance.repair_database_within("Db", how, &mut |_| true);
        assert!(cancelled.map(drop).unwrap_err().is_cancelled(), "{name}");
        prove_untouched((&instance, &volume), &before, name);
        let repaired = repair(&instance).map(|done| done.left.len());
        assert_eq!(repaired.unwrap(), 0, "{name}");
        assert_eq!(findings(&instance), Vec::<String>::new(), "{name}");
        instance.abandon();
    }
}

#[test]
fn a_primary_file_of_another_database_is_not_read_in_emergency() {
    let (volume, other) = (in_use(), in_use());
    put(&volume, PRIMARY, &read(&other, PRIMARY));
    without_images(&volume);
    let before = files(&volume);
    let instance = start(&volume).unwrap();
    let refused = enter(&instance).unwrap_err();
    assert!(refused.has(5173), "{refused}");
    assert_eq!(changed(&volume, &before), Vec::<PathBuf>::new());
    instance.abandon();
}
