//! The input audit: compares what sessions requested and got with what the specification requires.
//!
//! The specification has bounds for each share. A short run of a correct load can be outside of the bounds
//! by chance. So the bounds are widened by four standard deviations of a share of as many draws. The numbers
//! of transactions of each kind follow from decks of cards: there it is the deviation of decks that are dealt
//! in part, and a card of each session that was dealt and not played.

use super::calls::Outcome;
use super::random::{DECK, Kind};
use super::requests::{Finding, Request};
use furrow_lab::results::SheetTable;
use serde::{Deserialize, Serialize};
use std::collections::BTreeMap;

/// Counts of one run.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
pub(crate) struct Asked {
    /// Transactions that ended, by kind.
    pub(crate) transactions: [u64; Kind::ALL.len()],
    /// New orders that committed.
    pub(crate) new_orders: u64,
    /// New orders that were rolled back because an item does not exist.
    pub(crate) rolled_back: u64,
    /// Lines of all new orders.
    pub(crate) lines: u64,
    /// Lines from another warehouse.
    pub(crate) remote_lines: u64,
    /// Payments by a customer of another warehouse.
    pub(crate) remote_payments: u64,
    /// Payments that found their customer by name.
    pub(crate) payments_by_name: u64,
    /// Order statuses that found their customer by name.
    pub(crate) statuses_by_name: u64,
    /// Orders that were delivered.
    pub(crate) delivered: u64,
    /// Those of each district, by warehouse and district; not kept in the record of a run.
    #[serde(skip)]
    pub(crate) by_district: BTreeMap<(u32, u32), u64>,
    /// Districts in which a delivery found nothing to deliver.
    pub(crate) skipped: u64,
    /// Times that a transaction was run again because it had been a deadlock's victim.
    pub(crate) deadlocks: u64,
    /// The first transaction whose outcome did not match its request, in words.
    pub(crate) wrong: Option<String>,
}

/// Standard deviations by which the bounds of a share are widened.
const REACH: f64 = 4.0;
/// Districts without an order to deliver that need not be reported, as a share.
const MOST_SKIPPED: f64 = 0.01;

/// How far the number of transactions of a kind, of which a deck has this share, may be from the exact mix
/// after so many sessions. A session that ends in the middle of a deck is off by the scatter of half a deck;
/// its last card may not have been played.
fn mix_reach(sessions: u32, share: f64) -> f64 {
    let (sessions, deck) = (f64::from(sessions), DECK as f64);
    // Cards drawn without putting them back: largest after half of the deck.
    let variance = deck * deck / (4.0 * (deck - 1.0)) * share * (1.0 - share);
    sessions + REACH * (sessions * variance).sqrt()
}

impl Asked {
    /// Transactions that changed rows and committed. A delivery commits each district by itself.
    pub(crate) fn commits(&self) -> u64 {
        let [_, payments, ..] = self.transactions;
        self.new_orders + payments + self.delivered
    }

    /// Transactions of a kind.
    pub(crate) fn of(&self, kind: Kind) -> u64 {
        self.transactions.get(kind as usize).copied().unwrap_or(0)
    }

    /// All transactions.
    pub(crate) fn all(&self) -> u64 {
        self.transactions.iter().sum()
    }

    /// Adds the counts of another run.
    pub(crate) fn add(&mut self, other: &Asked) {
        for (sum, count) in self.transactions.iter_mut().zip(other.transactions) {
            *sum += count;
        }
        self.new_orders += other.new_orders;
        self.rolled_back += other.rolled_back;
        self.lines += other.lines;
        self.remote_lines += other.remote_lines;
        self.remote_payments += other.remote_payments;
        self.payments_by_name += other.payments_by_name;
        self.statuses_by_name += other.statuses_by_name;
        self.delivered += other.delivered;
        for (&district, orders) in &other.by_district {
            *self.by_district.entry(district).or_default() += orders;
        }
        self.skipped += other.skipped;
        self.deadlocks += other.deadlocks;
    }

    /// Counts a transaction that ended.
    pub(super) fn count(&mut self, request: &Request, outcome: Outcome, w: u32, districts: u32) {
        if let Some(count) = self.transactions.get_mut(request.kind() as usize) {
            *count += 1;
        }
        let by_name = |customer: &Finding| u64::from(matches!(customer, Finding::Name(_)));
        match (request, outcome) {
            (
                Request::NewOrder {
                    lines, is_invalid, ..
                },
                outcome,
            ) => {
                let is_rolled_back = outcome == Outcome::RolledBack;
                if is_rolled_back {
                    self.rolled_back += 1;
                } else {
                    self.new_orders += 1;
                }
                self.lines += lines.len() as u64;
                self.remote_lines += lines.iter().filter(|line| line.supply != w).count() as u64;
                if is_rolled_back != *is_invalid {
                    let what = if *is_invalid {
                        "committed"
                    } else {
                        "rolled back"
                    };
                    let items = if *is_invalid {
                        "an item that does not exist"
                    } else {
                        "items that all exist"
                    };
                    let text = format!("a new order of {items} was {what}");
                    self.wrong.get_or_insert(text);
                }
            }
            (Request::Payment { home, customer, .. }, _) => {
                self.remote_payments += u64::from(home.0 != w);
                self.payments_by_name += by_name(customer);
            }
            (Request::OrderStatus { customer, .. }, _) => {
                self.statuses_by_name += by_name(customer);
            }
            (Request::Delivery { .. }, Outcome::Delivered { bits, deadlocks }) => {
                self.deadlocks += u64::from(deadlocks);
                for d in (1..=districts).filter(|d| bits >> (d - 1) & 1 == 1) {
                    *self.by_district.entry((w, d)).or_default() += 1;
                }
                self.delivered += u64::from(bits.count_ones());
                self.skipped += u64::from(districts.saturating_sub(bits.count_ones()));
            }
            (Request::Delivery { .. } | Request::StockLevel { .. }, _) => {}
        }
    }

    /// Shares with what the specification allows: name, hits, draws, lowest, highest.
    fn shares(&self, warehouses: u32) -> Vec<(&'static str, u64, u64, f64, f64)> {
        let new_orders = self.of(Kind::NewOrder);
        let payments = self.of(Kind::Payment);
        let mut shares = vec![
            (
                "new orders rolled back",
                self.rolled_back,
                new_orders,
                0.009,
                0.011,
            ),
            (
                "payments by name",
                self.payments_by_name,
                payments,
                0.57,
                0.63,
            ),
            (
                "order statuses by name",
                self.statuses_by_name,
                self.of(Kind::OrderStatus),
                0.57,
                0.63,
            ),
        ];
        if warehouses > 1 {
            shares.push((
                "lines from another warehouse",
                self.remote_lines,
                self.lines,
                0.0095,
                0.0105,
            ));
            shares.push((
                "payments from another warehouse",
                self.remote_payments,
                payments,
                0.14,
                0.16,
            ));
        }
        shares
    }

    /// What is not as specified, one sentence each.
    pub(crate) fn faults(&self, sessions: u32, warehouses: u32) -> Vec<String> {
        let mut faults: Vec<String> = self.wrong.iter().cloned().collect();
        for (name, hits, draws, low, high) in self.shares(warehouses) {
            if draws == 0 {
                continue;
            }
            let (share, n) = (hits as f64 / draws as f64, draws as f64);
            let reach = |p: f64| REACH * (p * (1.0 - p) / n).sqrt() + 1.0 / n;
            if share < low - reach(low) || share > high + reach(high) {
                faults.push(format!(
                    "{name}: {:.2}% of {draws}, where {:.2} to {:.2}% are specified",
                    100.0 * share,
                    100.0 * low,
                    100.0 * high
                ));
            }
        }
        let orders = self.of(Kind::NewOrder);
        let mean = self.lines as f64 / orders.max(1) as f64;
        // Lines are 5 to 15 with equal probability: a variance of 10.
        let reach = REACH * (10.0 / orders.max(1) as f64).sqrt();
        if orders > 0 && !(9.5 - reach..=10.5 + reach).contains(&mean) {
            faults.push(format!(
                "an order has {mean:.2} lines on average, where 9.5 to 10.5 are specified"
            ));
        }
        for kind in Kind::ALL {
            let share = kind.cards() as f64 / DECK as f64;
            let exact = self.all() as f64 * share;
            if (self.of(kind) as f64 - exact).abs() > mix_reach(sessions, share) {
                let (name, found) = (kind.name(), self.of(kind));
                faults.push(format!(
                    "{name}: {found} transactions, where the deck deals {exact:.0}"
                ));
            }
        }
        faults
    }

    /// The share of the districts in which a delivery found no order.
    pub(crate) fn skipped_share(&self) -> f64 {
        self.skipped as f64 / (self.delivered + self.skipped).max(1) as f64
    }

    /// A sentence about a level where so many districts had no order to deliver that it has to be reported.
    pub(crate) fn skipped_note(&self, level: &str) -> Option<String> {
        let share = self.skipped_share();
        (share > MOST_SKIPPED).then(|| {
            format!(
                "Deliveries found no order in {:.1}% of the districts at {level}: more than {:.0}% has to be \
                 reported. Such deliveries are shorter; a larger warehouse (--part) or fewer users for each \
                 leave more orders.",
                100.0 * share,
                100.0 * MOST_SKIPPED
            )
        })
    }

    /// The audit as a table.
    pub(crate) fn table(&self, warehouses: u32) -> SheetTable {
        let percent =
            |hits: u64, draws: u64| format!("{:.2}%", 100.0 * hits as f64 / draws.max(1) as f64);
        let share = |&(name, hits, draws, low, high): &(&str, u64, u64, f64, f64)| {
            let bounds = format!("{:.2} to {:.2}%", 100.0 * low, 100.0 * high);
            vec![
                name.to_owned(),
                percent(hits, draws),
                bounds,
                draws.to_string(),
            ]
        };
        let mut rows: Vec<Vec<String>> = self.shares(warehouses).iter().map(share).collect();
        let mean = self.lines as f64 / self.of(Kind::NewOrder).max(1) as f64;
        let orders = self.of(Kind::NewOrder).to_string();
        rows.push(vec![
            "lines of an order".to_owned(),
            format!("{mean:.2}"),
            "9.5 to 10.5".to_owned(),
            orders,
        ]);
        for kind in Kind::ALL {
            let exact = format!("{:.2}%", 100.0 * kind.cards() as f64 / DECK as f64);
            let all = self.all();
            rows.push(vec![
                kind.name().to_owned(),
                percent(self.of(kind), all),
                exact,
                all.to_string(),
            ]);
        }
        let districts = self.delivered + self.skipped;
        rows.push(vec![
            "districts without an order to deliver".to_owned(),
            percent(self.skipped, districts),
            format!("at most {:.0}%", 100.0 * MOST_SKIPPED),
            districts.to_string(),
        ]);
        SheetTable {
            caption: "Input audit: what sessions asked for, in all good runs together".to_owned(),
            columns: ["", "asked", "specified", "of"].map(str::to_owned).to_vec(),
            rows,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::super::random::Constants;
    use super::super::requests::Requests;
    use super::super::schema::Scale;
    use super::*;

    fn asked(warehouses: u32, decks: usize) -> Asked {
        let seed = furrow_io::random::test_seed();
        println!("FURROW_SEED={seed}");
        let scale = Scale::full(warehouses);
        let mut asked = Asked::default();
        for place in 0..8 {
            let constants = Constants::of_seed(seed);
            let mut requests = Requests::new(scale, constants, (seed, place));
            for _ in 0..decks * DECK {
                let request = requests.next();
                let outcome = match request {
                    Request::NewOrder {
                        is_invalid: true, ..
                    } => Outcome::RolledBack,
                    Request::Delivery { .. } => Outcome::Delivered {
                        bits: (1 << 10) - 1,
                        deadlocks: 0,
                    },
                    _ => Outcome::Committed,
                };
                asked.count(&request, outcome, requests.warehouse, scale.districts);
            }
        }
        asked
    }

    #[test]
    fn a_delivery_commits_each_district_and_a_rolled_back_order_nothing() {
        let asked = asked(1, 20);
        // 160 decks of 10 new orders, 10 payments, one delivery and two transactions that only read.
        assert!(asked.rolled_back > 0);
        assert_eq!(asked.commits(), 1600 - asked.rolled_back + 1600 + 10 * 160);
    }

    #[test]
    fn what_the_generator_asks_passes_the_audit() {
        for (warehouses, decks) in [(1, 20), (1, 400), (5, 1000)] {
            let asked = asked(warehouses, decks);
            assert_eq!(
                asked.faults(8, warehouses),
                Vec::<String>::new(),
                "{asked:?}"
            );
            assert_eq!(asked.all(), (8 * decks * DECK) as u64);
        }
    }

    #[test]
    fn every_share_that_is_off_is_named() {
        let fair = asked(5, 500);
        let faults = |change: fn(&mut Asked)| {
            let mut changed = fair.clone();
            change(&mut changed);
            changed.faults(8, 5).join("; ")
        };
        assert!(faults(|a| a.rolled_back *= 2).contains("rolled back"));
        assert!(faults(|a| a.payments_by_name = 0).contains("payments by name"));
        assert!(faults(|a| a.statuses_by_name /= 2).contains("order statuses by name"));
        assert!(faults(|a| a.remote_lines *= 2).contains("lines from another"));
        assert!(faults(|a| a.remote_payments *= 2).contains("payments from another"));
        assert!(faults(|a| a.lines += a.lines / 5).contains("lines on average"));
        assert!(faults(|a| a.transactions[Kind::Delivery as usize] += 1000).contains("delivery"));
    }

    #[test]
    fn many_sessions_do_not_hide_that_a_kind_is_missing() {
        // 1,600 deliveries in all.
        let mut asked = asked(5, 200);
        assert_eq!(asked.faults(600, 5), Vec::<String>::new());
        asked.transactions[Kind::Delivery as usize] = 0;
        let faults = asked.faults(600, 5);
        assert!(
            faults.len() == 1 && faults[0].contains("delivery: 0 transactions"),
            "{faults:?}"
        );
    }

    #[test]
    fn decks_that_are_dealt_in_part_are_within_the_mix() {
        let seed = furrow_io::random::test_seed();
        println!("FURROW_SEED={seed}");
        let scale = Scale::full(1);
        let mut asked = Asked::default();
        for place in 0..600 {
            let mut requests = Requests::new(scale, Constants::of_seed(seed), (seed, place));
            for _ in 0..DECK / 2 {
                asked.transactions[requests.next().kind() as usize] += 1;
            }
        }
        let faults = asked.faults(600, 1);
        let off = faults.iter().find(|fault| fault.contains("the deck deals"));
        assert_eq!(off, None);
    }

    #[test]
    fn districts_without_an_order_to_deliver_are_reported() {
        let mut asked = Asked {
            delivered: 995,
            skipped: 5,
            ..Asked::default()
        };
        let row = |asked: &Asked| asked.table(1).rows.pop().unwrap().join(" | ");
        let wanted = "districts without an order to deliver | 0.50% | at most 1% | 1000";
        assert_eq!(row(&asked), wanted);
        assert_eq!(asked.skipped_note("600"), None);
        asked.skipped = 105;
        let note = asked.skipped_note("600").unwrap();
        assert!(note.contains("in 9.5% of the districts at 600:"), "{note}");
    }

    #[test]
    fn an_order_that_ended_otherwise_than_asked_is_a_fault() {
        let request = Request::NewOrder {
            district: 1,
            customer: 1,
            lines: Vec::new(),
            is_invalid: true,
        };
        let mut asked = Asked::default();
        asked.count(&request, Outcome::Committed, 1, 10);
        assert!(asked.faults(1, 1)[0].contains("does not exist was committed"));
    }
}
