//! Links between leaves that lead astray: a scan ends with an error, whatever it does with the rows.

use crate::ground::{Everything, Ground, Size, all_rows};
use crate::kinds::{Big, Kind};
use furrow_access::{AccessError, Bound, By, Direction, InPlace, RowCheck, Step, Tree, Visitor};
use furrow_format::{Change, Page, PageId};
use furrow_pool::LatchRank;
use furrow_txn::{Author, Mini};

/// Counts rows, leaf by leaf or many leaves in a step.
struct Counter(bool);

impl Visitor for Counter {
    fn in_place(&self) -> InPlace {
        InPlace::Count
    }
    fn wants_more(&self) -> bool {
        self.0
    }
    fn all_committed(&mut self) -> bool {
        true
    }
    fn check(&mut self, _: &[u8], _: bool) -> RowCheck {
        RowCheck::Take
    }
}

fn link(ground: &Ground, page: PageId, prev: Option<PageId>, next: Option<PageId>) {
    let mut mini = Mini::new(&ground.store);
    let at = mini.adopt(ground.store.write(page, LatchRank::Data).unwrap());
    mini.push(at, &Change::SetLinks { prev, next });
    mini.commit(&Author::System).unwrap();
}

/// A tree of 400 leaves in order.
fn tree(ground: &Ground) -> (Tree, Vec<PageId>) {
    let tree = ground.tree(7, Big::shape());
    let mut txn = ground.begin();
    for id in 0..4000 {
        let row = Big::row(&id, &[3; 700]);
        tree.insert(&mut By::Txn(&mut txn), &Big::key(&id), &row)
            .unwrap();
    }
    txn.commit().unwrap();
    let leaves = tree.audit().unwrap().levels[0].clone();
    assert!(leaves.len() > 300, "{} leaves", leaves.len());
    (tree, leaves)
}

/// The error of a scan, and the steps before it.
fn walk(tree: &Tree, direction: Direction, high: &Bound, visitor: &mut dyn Visitor) -> AccessError {
    let mut cursor = tree.scan(Bound::Open, high.clone(), direction);
    loop {
        match cursor.step(visitor) {
            Ok(Step::End) => panic!("the scan did not notice"),
            Ok(_) => while cursor.next_in_batch().is_some() {},
            Err(error) => return error,
        }
    }
}

fn assert_astray(error: &AccessError) {
    let AccessError::Damaged { what, .. } = error else {
        panic!("{error}");
    };
    assert_eq!(*what, "the links of its level lead astray");
}

#[test]
fn a_leaf_that_leads_to_itself_or_back_ends_a_scan_forward() {
    for back in [0, 1, 50, 90, 199] {
        let ground = Ground::new(Size::default());
        let (tree, leaves) = tree(&ground);
        let at = 200;
        link(&ground, leaves[at], None, Some(leaves[at - back]));
        for high in [Bound::Open, Bound::Included(Big::key(&3990))] {
            let forward = Direction::Forward;
            assert_astray(&walk(&tree, forward, &high, &mut Everything));
            assert_astray(&walk(&tree, forward, &high, &mut Counter(false)));
            assert_astray(&walk(&tree, forward, &high, &mut Counter(true)));
        }
    }
}

/// Takes the first row of a leaf away: a scan to the left comes to the leaf once more, and finds no row.
fn take_first(ground: &Ground, tree: &Tree, leaf: PageId) {
    let first = {
        let page = ground.store.read(leaf, LatchRank::Data).unwrap();
        let row = Page::new(&page).record(0).unwrap().to_vec();
        tree.shape().key_of(&row).unwrap()
    };
    let mut txn = ground.begin();
    tree.delete(&mut By::Txn(&mut txn), &first).unwrap();
    txn.commit().unwrap();
    tree.purge_ghosts(&first, &|_, _| true).unwrap();
}

#[test]
fn a_leaf_whose_left_neighbour_does_not_lead_to_it_ends_a_scan_backward() {
    let ground = Ground::new(Size::default());
    let (tree, leaves) = tree(&ground);
    take_first(&ground, &tree, leaves[200]);
    for wrong in [leaves[200], leaves[250], leaves[100]] {
        link(&ground, leaves[200], Some(wrong), None);
        let error = walk(&tree, Direction::Backward, &Bound::Open, &mut Everything);
        assert_astray(&error);
    }
    link(&ground, leaves[200], Some(leaves[199]), None);
    assert_eq!(all_rows(&tree, Direction::Backward).len(), 3999);
}
