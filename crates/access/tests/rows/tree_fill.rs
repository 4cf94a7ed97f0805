//! Loads whose rows go to new pages past the log: the same rows, and theirs after a crash.

use crate::ground::{Entry, Ground, Size, Trees};
use crate::kinds::{Big, Kind, Long, Many, Text};
use crate::tree_bulk::{Way, crash, draw, put, run};
use crate::tree_model::{Model, check_whole};
use furrow_access::{By, Tree};
use furrow_format::PageId;
use furrow_io::random::{seeded, test_seed};
use furrow_recovery::RecoveryError;

#[test]
fn filled_pages_match_the_model() {
    run::<Big>("bigint", 60, Way::Filled);
}

#[test]
fn filled_pages_of_text_long_and_equal_keys_match_the_model() {
    run::<Text>("text", 60, Way::Filled);
    run::<Long>("long", 40, Way::Filled);
    run::<Many>("many", 40, Way::Filled);
}

#[test]
fn the_log_and_the_pages_written_give_filled_pages_back() {
    crash::<Big>("bigint", true, Way::Filled);
    crash::<Long>("long", true, Way::Filled);
}

fn entry(tree: &Tree) -> Entry {
    Entry {
        number: 7,
        first_iam: tree.unit().first_iam(),
        root: tree.root(),
        shape: Big::shape(),
    }
}

/// Small files: tests copy them.
fn ground() -> Ground {
    Ground::new(Size {
        files: 2,
        file_pages: 2048,
        frames: 1024,
    })
}

/// Rows of 200 bytes, about: forty on a page.
fn rows(from: i64, count: i64) -> Model<Big> {
    (from..from + count)
        .map(|id| (id, Big::row(&id, &[id as u8; 180])))
        .collect()
}

fn fill(tree: &Tree, by: &mut By<'_>, model: &mut Model<Big>, from: i64, count: i64) {
    put::<Big>(Way::Filled, tree, by, model, rows(from, count));
}

fn page_of(images: &mut [Vec<u8>], page: PageId) -> &mut [u8] {
    let at = page.page.0 as usize * 8192;
    &mut images[usize::from(page.file.0) - 1][at..at + 8192]
}

#[test]
fn a_load_writes_a_tenth_of_its_rows_to_the_log_at_most() {
    let ground = Ground::new(Size::default());
    let tree = ground.tree(7, Big::shape());
    let mut model = Model::<Big>::new();
    let mut used = [0; 2];
    for (n, way) in [Way::Logged, Way::Filled].into_iter().enumerate() {
        let before = ground.store.log().tail();
        let free = ground.store.log().usage().used_bytes;
        let mut txn = ground.begin();
        for step in 0..20_i64 {
            let from = (n as i64 * 20 + step) * 1300;
            let rows = rows(from, 1300);
            put::<Big>(way, &tree, &mut By::Txn(&mut txn), &mut model, rows);
        }
        txn.commit().unwrap();
        used[n] = ground.store.log().usage().used_bytes - free;
        assert!(ground.store.log().tail() > before);
    }
    assert!(
        used[1] * 10 < used[0],
        "{} bytes of log, {} when rows are logged",
        used[1],
        used[0]
    );
    check_whole::<Big>(&tree, &model);
    let audit = tree.audit().unwrap();
    let filled = (audit.row_bytes + 2 * audit.rows) as f64 / (audit.levels[0].len() * 8096) as f64;
    assert!(filled > 0.95, "{filled}");
    ground.check_pages(&tree, &audit);
}

#[test]
fn a_load_that_has_committed_is_on_the_disk_without_a_checkpoint() {
    let ground = ground();
    let tree = ground.tree(7, Big::shape());
    let mut model = Model::<Big>::new();
    let mut txn = ground.begin();
    fill(&tree, &mut By::Txn(&mut txn), &mut model, 0, 3000);
    txn.commit().unwrap();
    let (images, entry) = (ground.data_images(), entry(&tree));
    let (ground, trees, _) = ground.crash(&images, &[entry], &[]);
    check_whole::<Big>(&trees[0], &model);
    ground.check_pages(&trees[0], &trees[0].audit().unwrap());
}

#[test]
fn the_rows_of_a_load_may_be_changed_by_its_transaction_before_it_ends() {
    for commits in [false, true] {
        let ground = ground();
        let tree = ground.tree(7, Big::shape());
        let mut model = Model::<Big>::new();
        let mut txn = ground.begin();
        let mut mine = model.clone();
        fill(&tree, &mut By::Txn(&mut txn), &mut mine, 0, 3000);
        // The first of these forces the pages: it is not to be lost without them.
        for id in (0..3000).step_by(50) {
            let row = Big::row(&id, &[9; 700]);
            tree.update(&mut By::Txn(&mut txn), &Big::key(&id), &row)
                .unwrap();
            mine.insert(id, row);
        }
        fill(&tree, &mut By::Txn(&mut txn), &mut mine, 5000, 2000);
        let mut left = Some(txn);
        if commits {
            left.take().unwrap().commit().unwrap();
            model = mine;
        }
        ground.store.log().flush_all().unwrap();
        let (images, entry) = (ground.data_images(), entry(&tree));
        let (ground, trees, _) = ground.crash(&images, &[entry], &[]);
        check_whole::<Big>(&trees[0], &model);
        ground.check_pages(&trees[0], &trees[0].audit().unwrap());
    }
}

/// Some pages of a load that never ended are on the disk, some are torn, some were never written.
#[test]
fn a_load_that_did_not_end_is_undone_whatever_became_of_its_pages() {
    let seed = test_seed();
    println!("FURROW_SEED={seed}");
    let mut rng = seeded(seed);
    for checkpoint in [false, true] {
        let ground = ground();
        let tree = ground.tree(7, Big::shape());
        let mut model = Model::<Big>::new();
        let mut txn = ground.begin();
        let first = draw::<Big>(&mut 100, &mut rng, 300);
        put::<Big>(
            Way::Filled,
            &tree,
            &mut By::Txn(&mut txn),
            &mut model,
            first,
        );
        txn.commit().unwrap();
        let mut before = ground.data_images();
        let early: Vec<PageId> = tree.audit().unwrap().pages().collect();
        let mut txn = ground.begin();
        let mut scratch = model.clone();
        fill(&tree, &mut By::Txn(&mut txn), &mut scratch, 10_000, 4000);
        txn.force().unwrap();
        let mut images = ground.data_images();
        let leaves = tree.audit().unwrap().levels[0].clone();
        ground.store.log().flush_all().unwrap();
        for (n, &page) in leaves
            .iter()
            .filter(|page| !early.contains(page))
            .enumerate()
        {
            let old = page_of(&mut before, page).to_vec();
            match n % 3 {
                0 => page_of(&mut images, page).copy_from_slice(&old),
                1 => page_of(&mut images, page)[4096..].copy_from_slice(&old[4096..]),
                _ => {}
            }
        }
        let entry = entry(&tree);
        let (ground, trees, _) = ground.crash(&images, std::slice::from_ref(&entry), &[]);
        check_whole::<Big>(&trees[0], &model);
        ground.check_pages(&trees[0], &trees[0].audit().unwrap());
        if checkpoint {
            ground.checkpoint();
        }
        // Undone in the log to its end: the next restart passes over what is not there.
        let after = match checkpoint {
            true => ground.data_images(),
            false => images,
        };
        let txn = {
            let mut txn = ground.begin();
            fill(&trees[0], &mut By::Txn(&mut txn), &mut model, 20_000, 10);
            txn
        };
        txn.commit().unwrap();
        let (ground, trees, _) = ground.crash(&after, &[entry], &[]);
        check_whole::<Big>(&trees[0], &model);
        ground.check_pages(&trees[0], &trees[0].audit().unwrap());
    }
}

/// The rollback is in the log, its pages are not on the disk, and some have a next life there.
#[test]
fn a_load_that_was_rolled_back_needs_none_of_its_pages() {
    let ground = ground();
    let tree = ground.tree(7, Big::shape());
    let mut model = Model::<Big>::new();
    let mut txn = ground.begin();
    fill(&tree, &mut By::Txn(&mut txn), &mut model, 0, 500);
    txn.commit().unwrap();
    ground.checkpoint();
    let images = ground.data_images();
    for round in 0..2 {
        let mut txn = ground.begin();
        let mut scratch = model.clone();
        fill(&tree, &mut By::Txn(&mut txn), &mut scratch, 1000, 3000);
        if round == 1 {
            txn.force().unwrap();
        }
        txn.rollback(&Trees(&[&tree])).unwrap();
        check_whole::<Big>(&tree, &model);
        ground.check_pages(&tree, &tree.audit().unwrap());
    }
    let mut txn = ground.begin();
    let again = rows(1000, 700);
    put::<Big>(
        Way::Logged,
        &tree,
        &mut By::Txn(&mut txn),
        &mut model,
        again,
    );
    txn.commit().unwrap();
    let entry = entry(&tree);
    let (ground, trees, _) = ground.crash(&images, &[entry], &[]);
    check_whole::<Big>(&trees[0], &model);
    ground.check_pages(&trees[0], &trees[0].audit().unwrap());
}

#[test]
fn a_page_that_the_disk_has_lost_after_the_commit_is_reported_and_not_made_empty() {
    for torn in [false, true] {
        let ground = ground();
        let tree = ground.tree(7, Big::shape());
        let mut model = Model::<Big>::new();
        let before = ground.data_images();
        let mut txn = ground.begin();
        fill(&tree, &mut By::Txn(&mut txn), &mut model, 0, 3000);
        txn.commit().unwrap();
        let mut images = ground.data_images();
        let leaves = tree.audit().unwrap().levels[0].clone();
        let lost = leaves[leaves.len() / 2 + usize::from(torn)];
        let mut old = before;
        let from = if torn { 4096 } else { 0 };
        let old = page_of(&mut old, lost)[from..].to_vec();
        page_of(&mut images, lost)[from..].copy_from_slice(&old);
        let entry = entry(&tree);
        let restarted = ground.try_crash(&images, &[entry], &[]);
        match restarted.err() {
            Some(RecoveryError::Broken { page, .. }) => assert_eq!(page, lost),
            other => panic!("{other:?}"),
        }
    }
}

/// What an earlier savepoint keeps is forced with the commit, though what came behind it was undone.
#[test]
fn a_commit_forces_what_a_partial_rollback_has_left() {
    let ground = ground();
    let tree = ground.tree(7, Big::shape());
    let mut model = Model::<Big>::new();
    let locks = furrow_txn::lock::LockManager::default();
    let owner = locks.owner(51);
    let mut txn = ground.begin();
    fill(&tree, &mut By::Txn(&mut txn), &mut model, 0, 1500);
    let save = txn.savepoint(&locks, &owner);
    let mut scratch = model.clone();
    fill(&tree, &mut By::Txn(&mut txn), &mut scratch, 5000, 1500);
    txn.rollback_to(save, &Trees(&[&tree]), &locks, &owner)
        .unwrap();
    txn.commit().unwrap();
    let (images, entry) = (ground.data_images(), entry(&tree));
    let (ground, trees, _) = ground.crash(&images, &[entry], &[]);
    check_whole::<Big>(&trees[0], &model);
    ground.check_pages(&trees[0], &trees[0].audit().unwrap());
}
