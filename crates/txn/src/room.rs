//! Space on pages that rollbacks may need back.
//!
//! A row that gets shorter leaves free space on its page. If its transaction is rolled back, the row needs
//! that space again, and there may be no other page for it. So the space stays reserved for the transaction
//! until it ends. SQL Server stores two counts for this in the page's header; here memory has, by page, the
//! bytes reserved for each transaction. After a restart only rollbacks run until the last of them is done, so
//! that none of this has to be on disk.
//!
//! # Invariants
//! 1. Every page has at least as many free bytes as all transactions together may need back.
//! 2. A change that takes space leaves what is [reserved for others](KeptRoom::others). Space reserved for
//!    its own transaction it may use for what a rollback gives back whole: the rollback goes in reverse
//!    order, so that each step finds what the step's operation left. What a rollback does not give back, such
//!    as a slot of a heap's page, must not come out of that space.
//! 3. A rollback puts back on a page what its transaction took from that page. Where it may choose another
//!    page, the space must be reserved there too.
//! 4. When rows go from one page to another by a split, the space reserved on the old page is reserved on
//!    both.
//!
//! Everything about a page is read and changed under the page's EX latch.

use crate::active_txn::ActiveTxn;
use furrow_format::{PageId, TxnId};
use furrow_io::sync::Mutex;
use furrow_io::sync::atomic::{AtomicUsize, Ordering};
use smallvec::SmallVec;
use std::collections::HashMap;
use std::sync::Arc;

/// Parts of the table, each with its own lock.
const SHARDS: usize = 32;

/// Bytes reserved on one page for one transaction.
type Claim = (Arc<ActiveTxn>, usize);
type Shard = HashMap<PageId, SmallVec<[Claim; 1]>>;

/// Bytes reserved for transactions, by page.
#[derive(Debug, Default)]
pub struct KeptRoom {
    shards: [Mutex<Shard>; SHARDS],
    /// Claims in all shards: while there are none, nothing else is looked at.
    claims: AtomicUsize,
}

impl KeptRoom {
    fn shard(&self, page: PageId) -> &Mutex<Shard> {
        let number = page.page.0 as usize ^ (page.file.0 as usize) << 3;
        &self.shards[number % SHARDS]
    }

    /// Bytes of the page reserved for transactions other than `txn`.
    #[inline]
    pub fn others(&self, page: PageId, txn: Option<TxnId>) -> usize {
        if self.claims.load(Ordering::Acquire) == 0 {
            return 0;
        }
        let shard = self.shard(page).lock();
        let claims = shard.get(&page).into_iter().flatten();
        let others = claims.filter(|claim| Some(claim.0.id) != txn);
        others.map(|claim| claim.1).sum()
    }

    /// A row of `txn` left `bytes` on the page: they stay reserved for it.
    pub fn keep(&self, page: PageId, txn: &Arc<ActiveTxn>, bytes: usize) {
        if bytes == 0 {
            return;
        }
        let mut shard = self.shard(page).lock();
        let claims = shard.entry(page).or_default();
        match claims.iter_mut().find(|claim| claim.0.id == txn.id) {
            Some(claim) => claim.1 += bytes,
            None => {
                let mut kept = txn.kept.lock();
                // A transaction can end between the split that hands its claim on and this call.
                if let Some(pages) = &mut *kept {
                    pages.push(page);
                    claims.push((Arc::clone(txn), bytes));
                    self.claims.fetch_add(1, Ordering::AcqRel);
                }
            }
        }
        if claims.is_empty() {
            shard.remove(&page);
        }
    }

    /// The rollback of `txn` has put `bytes` back on the page.
    pub fn returned(&self, page: PageId, txn: TxnId, bytes: usize) {
        if bytes == 0 || self.claims.load(Ordering::Acquire) == 0 {
            return;
        }
        let mut shard = self.shard(page).lock();
        let mut claims = shard.get_mut(&page).into_iter().flatten();
        if let Some(claim) = claims.find(|claim| claim.0.id == txn) {
            claim.1 = claim.1.saturating_sub(bytes);
        }
    }

    /// Rows of `from` went to `to`: what is reserved on `from` is reserved on both from now on.
    pub fn split(&self, from: PageId, to: PageId) {
        if self.claims.load(Ordering::Acquire) == 0 {
            return;
        }
        let claims = self.shard(from).lock().get(&from).cloned();
        for (txn, bytes) in claims.into_iter().flatten() {
            self.keep(to, &txn, bytes);
        }
    }

    /// The page has no rows any more.
    pub fn clear(&self, page: PageId) {
        if self.claims.load(Ordering::Acquire) == 0 {
            return;
        }
        let gone = self.shard(page).lock().remove(&page);
        let gone = gone.map_or(0, |claims| claims.len());
        let before = self.claims.fetch_sub(gone, Ordering::AcqRel);
        debug_assert!(before >= gone, "claims are counted once");
    }

    /// The transaction has ended: nothing is reserved for it any more.
    pub(crate) fn forget(&self, txn: &ActiveTxn) {
        let pages = txn.kept.lock().take();
        for page in pages.into_iter().flatten() {
            let mut shard = self.shard(page).lock();
            let Some(claims) = shard.get_mut(&page) else {
                continue;
            };
            let before = claims.len();
            claims.retain(|claim| claim.0.id != txn.id);
            let gone = before - claims.len();
            debug_assert!(gone <= 1, "a transaction has one claim on a page");
            let counted = self.claims.fetch_sub(gone, Ordering::AcqRel);
            debug_assert!(counted >= gone, "claims are counted once");
            if claims.is_empty() {
                shard.remove(&page);
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::active::ActiveTxns;
    use furrow_format::Lsn;

    #[test]
    fn room_is_owed_until_it_is_returned_or_its_transaction_ends() {
        let (active, kept) = (ActiveTxns::new(1), KeptRoom::default());
        let enter = || active.enter(active.next_id(), Lsn(1), Lsn::ZERO);
        let (a, b) = (enter(), enter());
        let (p, q) = (PageId::new(1, 8), PageId::new(3, 8));
        kept.keep(p, &a, 100);
        kept.keep(p, &a, 20);
        kept.keep(p, &b, 7);
        assert_eq!((kept.others(p, None), kept.others(q, None)), (127, 0));
        assert_eq!(kept.others(p, Some(a.id)), 7);
        assert_eq!(kept.others(p, Some(b.id)), 120);
        kept.returned(p, a.id, 50);
        kept.split(p, q);
        assert_eq!(kept.others(q, Some(b.id)), 70);
        assert_eq!(kept.others(q, Some(a.id)), 7);
        kept.forget(&a);
        assert_eq!((kept.others(p, None), kept.others(q, None)), (7, 7));
        kept.forget(&b);
        assert_eq!(kept.claims.load(Ordering::Relaxed), 0);
        assert!(kept.shards.iter().all(|shard| shard.lock().is_empty()));
    }

    #[test]
    fn a_split_hands_no_claim_on_to_a_transaction_that_ended_meanwhile() {
        let (active, kept) = (ActiveTxns::new(1), KeptRoom::default());
        let txn = active.enter(active.next_id(), Lsn(1), Lsn::ZERO);
        kept.keep(PageId::new(1, 8), &txn, 100);
        kept.forget(&txn);
        kept.keep(PageId::new(1, 9), &txn, 100);
        assert_eq!(kept.others(PageId::new(1, 9), None), 0);
        assert_eq!(kept.claims.load(Ordering::Relaxed), 0);
        assert!(kept.shards.iter().all(|shard| shard.lock().is_empty()));
    }
}
