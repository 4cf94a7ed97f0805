//! Chains that are found on media in any order, and what is said of media that lack something.

use crate::chain::{full_model, log_request};
use crate::world::{Silent, World, ids, insert, request, world};
use furrow_backup::chain::{
    Chain, ChainError, ScriptOptions, chains, file_moves, open_media, script,
};
use furrow_backup::media::BackupKind;
use furrow_backup::{
    BackupRequest, Device, KeyRing, RestoreRequest, backup_log, restore_database, restore_log,
};
use furrow_engine::{FileSpec, Session};
use furrow_io::random::{SliceRandom, seeded, test_seed};
use std::path::{Path, PathBuf};
use std::sync::Arc;

/// A full backup on three stripes, two log backups, a differential one, a log backup with a file that was
/// added, and a last one: rows 0 to 99 are there before the full backup, ten more before each of the others.
fn written() -> World {
    let world = world();
    full_model(&world);
    let table = world.table("t");
    let mut session = world.session();
    (0..100).for_each(|id| insert(&mut session, &table, id, "x"));
    world.backup(&request(3)).unwrap();
    let mut next = 100;
    let mut more = |session: &mut Session| {
        (next..next + 10).for_each(|id| insert(session, &table, id, "x"));
        next += 10;
    };
    for name in ["l0", "l1"] {
        more(&mut session);
        backup_log(&world.db, &log_request(name), &mut Silent).unwrap();
    }
    more(&mut session);
    let differential = BackupRequest {
        devices: vec![Device::Disk("d/diff.dif".into())],
        differential: true,
        ..request(1)
    };
    world.backup(&differential).unwrap();
    let added = FileSpec::new("added", "d/added.ndf").size_mb(1);
    world.db.add_file(&added, None).unwrap();
    for name in ["l2", "l3"] {
        more(&mut session);
        backup_log(&world.db, &log_request(name), &mut Silent).unwrap();
    }
    world
}

const ALL: [&str; 8] = [
    "b0.bak", "b1.bak", "b2.bak", "l0.trn", "l1.trn", "diff.dif", "l2.trn", "l3.trn",
];

fn paths(names: &[&str]) -> Vec<PathBuf> {
    names.iter().map(|n| Path::new("d").join(n)).collect()
}

fn chain_of(world: &World, names: &[&str]) -> Result<Chain, ChainError> {
    let media = open_media(&*world.volume, &paths(names), &KeyRing::default())?;
    let mut all = chains(&media, Some("TEST"))?;
    assert_eq!(all.len(), 1);
    Ok(all.remove(0))
}

fn kinds(chain: &Chain) -> Vec<BackupKind> {
    chain.steps.iter().map(|s| s.info.kind).collect()
}

/// Restores a chain to a directory of its own; the ids in the table.
fn restored(world: &World, names: &[&str], name: &str) -> Vec<i64> {
    let media = open_media(&*world.volume, &paths(names), &KeyRing::default()).unwrap();
    let chain = chains(&media, None).unwrap().remove(0);
    let home = PathBuf::from(name);
    world.volume.create_dir(&home).unwrap();
    let moves = file_moves(&chain, &home);
    let mut last = None;
    for (at, (step, moves)) in chain.steps.iter().zip(moves).enumerate() {
        let wanted = RestoreRequest {
            name: name.to_owned(),
            moves,
            recovery: at + 1 == chain.steps.len(),
            position: Some(step.position),
            ..RestoreRequest::default()
        };
        let (instance, media) = (Arc::clone(&world.instance), &media[step.media]);
        let done = match step.info.kind {
            BackupKind::Log => restore_log(&instance, media, &wanted, &mut Silent),
            _ => restore_database(&instance, media, &wanted, &mut Silent),
        };
        last = done.unwrap().database;
    }
    ids(&last.unwrap(), "t")
}

#[test]
fn a_chain_from_scattered_media_restores_to_its_end() {
    let seed = test_seed();
    println!("FURROW_SEED={seed}");
    let mut rng = seeded(seed);
    let world = written();
    for round in 0..4 {
        let mut names = ALL;
        names.shuffle(&mut rng);
        let chain = chain_of(&world, &names).unwrap();
        use BackupKind::{Database, Differential, Log};
        assert_eq!(kinds(&chain), [Database, Differential, Log, Log]);
        assert_eq!(
            chain.unused.len(),
            2,
            "log backups before the differential one"
        );
        let rows = restored(&world, &names, &format!("whole{round}"));
        assert_eq!(rows, (0..150).collect::<Vec<i64>>());
    }
    // Without the differential backup all log backups are needed, and are there.
    let logs = [
        "b2.bak", "l3.trn", "l1.trn", "b0.bak", "l0.trn", "l2.trn", "b1.bak",
    ];
    assert_eq!(kinds(&chain_of(&world, &logs).unwrap()).len(), 5);
    assert_eq!(
        restored(&world, &logs, "logs"),
        (0..150).collect::<Vec<i64>>()
    );
    let early = ["b2.bak", "b0.bak", "b1.bak", "l0.trn"];
    assert_eq!(
        restored(&world, &early, "early"),
        (0..110).collect::<Vec<i64>>()
    );
}

#[test]
fn a_copy_only_backup_does_not_hide_what_reaches_further() {
    let world = written();
    let copy = BackupRequest {
        devices: vec![Device::Disk("d/copy.bak".into())],
        copy_only: true,
        ..request(1)
    };
    world.backup(&copy).unwrap();
    let table = world.session().table("t").unwrap();
    insert(&mut world.session(), &table, 1000, "after the copy");
    let later = BackupRequest {
        devices: vec![Device::Disk("d/later.dif".into())],
        differential: true,
        ..request(1)
    };
    world.backup(&later).unwrap();
    use BackupKind::{Database, Differential};
    let names = ["copy.bak", "b0.bak", "b1.bak", "b2.bak", "later.dif"];
    assert_eq!(
        kinds(&chain_of(&world, &names).unwrap()),
        [Database, Differential]
    );
    let rows = restored(&world, &names, "further");
    assert_eq!(rows.last(), Some(&1000));
    // With nothing behind it the copy is the shortest way.
    let names = ["copy.bak", "b0.bak", "b1.bak", "b2.bak"];
    let chain = chain_of(&world, &names).unwrap();
    assert!(chain.steps.len() == 1 && chain.steps[0].info.copy_only);
}

#[test]
fn media_that_lack_something_say_what() {
    let world = written();
    let reported = |names: &[&str]| chain_of(&world, names).unwrap_err().to_string();
    let text = reported(&["b0.bak", "b2.bak", "l0.trn"]);
    assert!(text.contains("stripe 2 is missing"), "{text}");
    assert!(text.contains("d/b0.bak is stripe 1"), "{text}");
    let text = reported(&["b0.bak", "b1.bak", "b2.bak", "l1.trn"]);
    assert!(
        text.contains("is missing, between d/b0.bak and d/l1.trn"),
        "{text}"
    );
    let text = reported(&["l0.trn", "l1.trn"]);
    assert!(text.contains("no full backup of database test"), "{text}");
    let text = reported(&["diff.dif"]);
    assert!(text.contains("CheckpointLSN"), "{text}");
    let text = reported(&["data.mdf"]);
    assert!(text.contains("3242") && text.contains("data.mdf"), "{text}");
    let media = open_media(&*world.volume, &paths(&["l0.trn"]), &KeyRing::default()).unwrap();
    let text = chains(&media, Some("other")).unwrap_err().to_string();
    assert!(text.contains("other") && text.contains("test"), "{text}");
}

#[test]
fn a_script_moves_each_file_once_and_quotes_what_it_names() {
    let world = written();
    let chain = chain_of(&world, &ALL).unwrap();
    let options = ScriptOptions {
        name: Some("o'co]py".to_owned()),
        to: Some("/x'y".into()),
        replace: true,
        norecovery: false,
    };
    let text = script(&chain, &options);
    assert_eq!(
        text.matches("RESTORE DATABASE [o'co]]py]").count(),
        2,
        "{text}"
    );
    assert_eq!(text.matches("RESTORE LOG [o'co]]py]").count(), 2);
    assert_eq!(text.matches("NORECOVERY").count(), 3);
    assert_eq!(text.matches("REPLACE").count(), 1);
    for file in ["data.mdf", "log.ldf", "more.ndf", "added.ndf"] {
        assert_eq!(
            text.matches(&format!("N'/x''y/{file}'")).count(),
            1,
            "{text}"
        );
    }
    let plain = script(&chain, &ScriptOptions::default());
    assert!(
        !plain.contains("MOVE") && plain.contains("[test]"),
        "{plain}"
    );
}
