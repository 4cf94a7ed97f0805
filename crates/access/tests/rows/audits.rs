//! Damage that the audits must report, each made by one change of one page.

use crate::ground::{Ground, Size, heap_row};
use crate::kinds::{Big, Kind};
use furrow_access::{AccessError, By, Heap, Tree};
use furrow_format::{
    Change, Fullness, Page, PageBuf, PageId, Pfs, RowId, forwarding_stub, pfs_index_of, pfs_page_of,
};
use furrow_pool::LatchRank;
use furrow_txn::{Author, Mini};

fn change(ground: &Ground, page: PageId, rank: LatchRank, change: &Change<'_>) {
    let mut mini = Mini::new(&ground.store);
    let at = mini.adopt(ground.store.write(page, rank).unwrap());
    mini.push(at, change);
    mini.commit(&Author::System).unwrap();
}

fn copy(ground: &Ground, page: PageId) -> Box<PageBuf> {
    Box::new(*ground.store.read(page, LatchRank::Data).unwrap())
}

#[track_caller]
fn assert_reported<T: std::fmt::Debug>(found: Result<T, AccessError>, expected: &str) {
    match found {
        Err(AccessError::Damaged { what, .. }) => assert_eq!(what, expected),
        other => panic!("{expected} was not reported: {other:?}"),
    }
}

fn tree(ground: &Ground) -> (Tree, Vec<PageId>) {
    let tree = ground.tree(7, Big::shape());
    let mut txn = ground.begin();
    for id in 0..500 {
        tree.insert(
            &mut By::Txn(&mut txn),
            &Big::key(&id),
            &Big::row(&id, &[1; 100]),
        )
        .unwrap();
    }
    txn.commit().unwrap();
    let leaves = tree.audit().unwrap().levels.swap_remove(0);
    (tree, leaves)
}

/// Makes a tree, damages a page as `damage` says (given root and third leaf), and looks for the finding.
fn damage_tree(what: &str, damage: impl Fn(&Ground, PageId, PageId)) {
    let ground = Ground::new(Size::default());
    let (tree, leaves) = tree(&ground);
    damage(&ground, tree.root(), leaves[2]);
    assert_reported(tree.audit(), what);
}

#[test]
fn wrong_headers_of_a_tree_are_reported() {
    let data = LatchRank::Data;
    damage_tree("its left link is not the page before it", |g, _, leaf| {
        change(
            g,
            leaf,
            data,
            &Change::SetLinks {
                prev: Some(PageId::new(1, 9)),
                next: None,
            },
        );
    });
    damage_tree("its right link is not the page behind it", |g, _, leaf| {
        change(
            g,
            leaf,
            data,
            &Change::SetLinks {
                prev: None,
                next: Some(PageId::NONE),
            },
        );
    });
    damage_tree("its count of ghosts is wrong", |g, _, leaf| {
        change(g, leaf, data, &Change::SetGhosts { delta: 2 });
    });
    damage_tree(
        "it is not of the level that its parent says",
        |g, _, leaf| {
            change(g, leaf, data, &Change::SetLevel { level: 1 });
        },
    );
}

#[test]
fn keys_out_of_place_and_wrong_entries_are_reported() {
    let data = LatchRank::Data;
    damage_tree("a key lies behind the range of its page", |g, _, leaf| {
        let row = Big::row(&10_000, &[1; 100]);
        change(
            g,
            leaf,
            data,
            &Change::ReplaceRow {
                slot: 3,
                bytes: &row,
            },
        );
    });
    damage_tree("a key lies before the range of its page", |g, _, leaf| {
        let row = Big::row(&-5, &[1; 100]);
        change(
            g,
            leaf,
            data,
            &Change::ReplaceRow {
                slot: 0,
                bytes: &row,
            },
        );
    });
    damage_tree("its keys do not ascend", |g, _, leaf| {
        let row = Page::new(&copy(g, leaf)).record(5).unwrap().to_vec();
        change(
            g,
            leaf,
            data,
            &Change::ReplaceRow {
                slot: 6,
                bytes: &row,
            },
        );
    });
    damage_tree("its header is another page's", |g, root, _| {
        // The entry for the second leaf leads to a page of the maps.
        let entry = Page::new(&copy(g, root)).record(1).unwrap().to_vec();
        let child = PageId::new(1, 2).to_bytes();
        change(
            g,
            root,
            data,
            &Change::PatchRow {
                slot: 1,
                offset: 9,
                bytes: &child,
            },
        );
        assert_eq!(entry.len(), 15);
    });
    // The rows of a leaf that no entry leads to are missed by readers; its neighbours' links show them.
    damage_tree("its right link is not the page behind it", |g, root, _| {
        change(g, root, data, &Change::RemoveRow { slot: 3 });
    });
}

fn heap(ground: &Ground) -> (Heap, Vec<RowId>) {
    let heap = ground.heap(9, crate::ground::heap_shape());
    let mut txn = ground.begin();
    let by = &mut By::Txn(&mut txn);
    let row = heap_row(&[1; 100]);
    let rids: Vec<RowId> = (0..300)
        .map(|_| heap.insert(by, &row, &mut |_| true).unwrap())
        .collect();
    heap.update(by, rids[0], &heap_row(&[2; 4000])).unwrap();
    txn.commit().unwrap();
    assert_eq!(heap.audit().unwrap().moved, 1);
    (heap, rids)
}

fn damage_heap(what: &str, damage: impl Fn(&Ground, &[RowId])) {
    let ground = Ground::new(Size::default());
    let (heap, rids) = heap(&ground);
    damage(&ground, &rids);
    assert_reported(heap.audit(), what);
}

#[test]
fn damaged_heaps_are_reported() {
    let data = LatchRank::Data;
    damage_heap("PFS does not say how full it is", |g, rids| {
        let page = rids[0].page;
        let pfs = PageId {
            file: page.file,
            page: pfs_page_of(page.page),
        };
        let index = pfs_index_of(page.page);
        let byte = Pfs::new(&g.store.read(pfs, LatchRank::Pfs).unwrap())
            .unwrap()
            .get(index);
        let value = byte.with_fullness(Fullness::UpTo50);
        change(g, pfs, LatchRank::Pfs, &Change::SetPfs { index, value });
    });
    damage_heap("its count of ghosts is wrong", |g, rids| {
        change(g, rids[0].page, data, &Change::SetGhosts { delta: 1 });
    });
    damage_heap(
        "a forwarding stub leads to no record of its own",
        |g, rids| {
            let stub = forwarding_stub(rids[7]);
            let slot = rids[0].slot;
            change(
                g,
                rids[0].page,
                data,
                &Change::ReplaceRow { slot, bytes: &stub },
            );
        },
    );
    damage_heap("its header is not that of a heap's page", |g, rids| {
        let links = Change::SetLinks {
            prev: None,
            next: Some(rids[9].page),
        };
        change(g, rids[0].page, data, &links);
    });
}

#[test]
fn a_reader_that_meets_a_stub_that_leads_nowhere_says_so() {
    let ground = Ground::new(Size::default());
    let (heap, rids) = heap(&ground);
    let (slot, bytes) = (rids[0].slot, forwarding_stub(rids[7]));
    let wrong = Change::ReplaceRow {
        slot,
        bytes: &bytes,
    };
    change(&ground, rids[0].page, LatchRank::Data, &wrong);
    let said = "a forwarding stub leads to no row of it";
    assert_reported(heap.get(rids[0], |_| ()), said);
    assert!(heap.get(rids[7], |_| ()).unwrap().is_some());
}

#[test]
fn a_reader_that_meets_a_wrong_child_says_so_and_goes_no_further() {
    let ground = Ground::new(Size::default());
    let (tree, leaves) = tree(&ground);
    change(
        &ground,
        leaves[2],
        LatchRank::Data,
        &Change::SetLevel { level: 1 },
    );
    let key = {
        let page = copy(&ground, leaves[2]);
        let row = Page::new(&page).record(0).unwrap().to_vec();
        tree.shape().key_of(&row).unwrap()
    };
    let damaged = "it is not the child that its parent says";
    assert_reported(tree.get(&key, |_| ()), damaged);
    let mut txn = ground.begin();
    assert_reported(tree.delete(&mut By::Txn(&mut txn), &key), damaged);
    assert!(ground.store.check().is_ok());
}
