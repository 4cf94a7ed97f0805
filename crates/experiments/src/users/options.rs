//! What may be chosen, and the sizes that follow from it.

use crate::drives::{Place, Places};
use crate::plugin::Start;
use crate::workloads::load::End;
use crate::workloads::order_entry::{Calling, Churn, HotRows, Manner, Scale, seconds_a_new_order};
use clap::Args;
use furrow_lab::design::{Cell, Factor};
use furrow_lab::experiment::OptionsError;
use furrow_lab::size::{parse_size, size_text};
use std::collections::BTreeMap;

const MIB: u64 = 1 << 20;
/// Sessions at most.
const MOST_USERS: u32 = 2000;
/// Users that are specified for each warehouse.
const USERS_A_WAREHOUSE: u32 = 10;
/// New orders that a run is expected to have, at least: one without any has no figures, and leaving it out
/// makes the others look better.
const LEAST_NEW_ORDERS: f64 = 10.0;
/// Least seconds of a run of users who key in and think: no new order begins before 18 s of keying.
const LEAST_PACED_S: f64 = 60.0;
/// Bytes that a second of load adds, at most: the files have space for it without growing.
const GROWTH_BYTES_A_SECOND: u64 = 2 * MIB;

pub(super) const USERS: &str = "users";
pub(super) const FILES: &str = "files";
pub(super) const CHURN: &str = "churn";

fn size(text: &str) -> Result<u64, OptionsError> {
    parse_size(text)
}

/// How sessions are paced.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Keying {
    /// Transactions follow each other at once.
    None,
    /// Keying and think times of the specification.
    Spec,
}

impl Keying {
    fn word(self) -> &'static str {
        match self {
            Keying::None => "none",
            Keying::Spec => "spec",
        }
    }

    fn parse(text: &str) -> Result<Keying, String> {
        let mut all = [Keying::None, Keying::Spec].into_iter();
        let found = all.find(|pace| pace.word() == text);
        found.ok_or_else(|| "write none or spec (keying and think times)".to_owned())
    }
}

/// What may be typed.
#[derive(Debug, Clone, Args)]
pub struct Typed {
    /// Levels: numbers of users, each a session [default: 1,50,100,200,300,400,600, with --quick 1,8,32]
    #[arg(long, value_delimiter = ',', value_name = "N,...")]
    users: Option<Vec<u32>>,
    /// Numbers of data files, a further factor [default: 1,4,64, with --quick 1,4]
    #[arg(long, value_delimiter = ',', value_name = "N,...")]
    files: Option<Vec<u64>>,
    /// Whether each transaction creates, fills and drops a table: off, on (in the database), tempdb (#t);
    /// several make a factor [default: off,on, with --quick on]
    #[arg(long, value_delimiter = ',', value_parser = Churn::parse, value_name = "WORD,...")]
    churn: Option<Vec<Churn>>,
    #[command(flatten)]
    place: Place,
    /// Warehouses, of about 80 MB each; users are dealt to them in turn [default: 10, with --quick 1]
    #[arg(long, value_name = "N")]
    warehouses: Option<u32>,
    /// One part in so many of the customers, orders and items of a warehouse: 1, 10 or 100 [default: 1]
    #[arg(long, value_name = "N")]
    part: Option<u32>,
    /// Seconds that the load of a run lasts [default: 60, with --quick 1.5]
    #[arg(long, value_name = "S")]
    seconds: Option<f64>,
    /// Keying and think times: none, or spec as in the specification [default: none]
    #[arg(long, value_parser = Keying::parse, value_name = "WORD")]
    pace: Option<Keying>,
    /// Transactions as stored procedures or as plain statements: procedures, statements [default: procedures]
    #[arg(long, value_parser = Calling::parse, value_name = "WORD")]
    calls: Option<Calling>,
    /// Rows of warehouses and districts: packed, or padded to a page each [default: packed]
    #[arg(long, value_parser = HotRows::parse, value_name = "WORD")]
    hot_rows: Option<HotRows>,
    /// Buffer pool [default: a quarter more than the tables]
    #[arg(long, value_parser = size, value_name = "SIZE")]
    pool: Option<u64>,
    /// Transaction log [default: 512MB, with --quick 64MB]
    #[arg(long, value_parser = size, value_name = "SIZE")]
    log: Option<u64>,
}

/// What was chosen.
#[derive(Debug, Clone, PartialEq)]
pub struct Options {
    pub(super) users: Vec<u32>,
    pub(super) files: Vec<u64>,
    pub(super) churn: Vec<Churn>,
    pub(super) places: Places,
    pub(super) scale: Scale,
    part: u32,
    pub(super) seconds: f64,
    /// When the load of a run ends: after those seconds.
    pub(super) end: End,
    pub(super) keying: Keying,
    pub(super) calling: Calling,
    pub(super) hot_rows: HotRows,
    pub(super) pool: Option<u64>,
    pub(super) log_bytes: u64,
}

/// What one run does.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct Setting {
    pub(super) users: u32,
    pub(super) files: u64,
    pub(super) churn: Churn,
}

fn between<T: Copy + PartialOrd>(values: &[T], low: T, high: T) -> bool {
    !values.is_empty() && values.iter().all(|&value| (low..=high).contains(&value))
}

/// A part that the tables can be made of.
fn part_of(typed: Option<u32>) -> Result<u32, OptionsError> {
    match typed.unwrap_or(1) {
        part @ (1 | 10 | 100) => Ok(part),
        _ => Err(OptionsError("--part must be 1, 10 or 100".to_owned())),
    }
}

impl Options {
    /// What was typed, with defaults for the rest.
    pub fn of(typed: Typed, start: &Start) -> Result<Options, OptionsError> {
        let quick = start.is_quick;
        let seconds = typed.seconds.unwrap_or(if quick { 1.5 } else { 60.0 });
        let options = Options {
            users: typed.users.unwrap_or_else(|| {
                if quick {
                    vec![1, 8, 32]
                } else {
                    vec![1, 50, 100, 200, 300, 400, 600]
                }
            }),
            files: typed
                .files
                .unwrap_or_else(|| if quick { vec![1, 4] } else { vec![1, 4, 64] }),
            churn: typed.churn.unwrap_or_else(|| {
                if quick {
                    vec![Churn::Database]
                } else {
                    vec![Churn::Off, Churn::Database]
                }
            }),
            places: typed.place.resolve(start)?,
            scale: Scale::part(
                typed.warehouses.unwrap_or(if quick { 1 } else { 10 }),
                part_of(typed.part)?,
            ),
            part: typed.part.unwrap_or(1),
            seconds,
            end: End::Seconds(seconds),
            keying: typed.pace.unwrap_or(Keying::None),
            calling: typed.calls.unwrap_or(Calling::Procedures),
            hot_rows: typed.hot_rows.unwrap_or(HotRows::Packed),
            pool: typed.pool,
            log_bytes: typed
                .log
                .unwrap_or(if quick { 64 * MIB } else { 512 * MIB }),
        };
        options.check()?;
        // What has begun with less goes on.
        if !start.is_resumed {
            options.check_pace()?;
        }
        Ok(options)
    }

    fn check(&self) -> Result<(), OptionsError> {
        let refuse = |text: &str| Err(OptionsError(text.to_owned()));
        if !between(&self.users, 1, MOST_USERS) {
            return refuse("--users takes numbers from 1 to 2000, such as --users 1,50,200");
        }
        if !between(&self.files, 1, 128) {
            return refuse("--files takes numbers from 1 to 128, such as --files 1,4");
        }
        if self.users.len() * self.files.len() * self.churn.len() < 2 {
            return refuse(
                "one level has nothing to be compared with; give several, such as --users 1,50",
            );
        }
        if !(1..=10_000).contains(&self.scale.warehouses) {
            return refuse("--warehouses must be from 1 to 10000");
        }
        if !(0.1..=86_400.0).contains(&self.seconds) {
            return refuse("--seconds must be from 0.1 to 86400");
        }
        if self.pool.is_some_and(|bytes| bytes < 16 * MIB) {
            return refuse("--pool must be at least 16MB");
        }
        if self.log_bytes < 16 * MIB {
            return refuse("--log must be at least 16MB");
        }
        Ok(())
    }

    /// Users who key in and think begin a new order every 48 s, and none before they have keyed in: few of
    /// them, or a short time, give no rate.
    fn check_pace(&self) -> Result<(), OptionsError> {
        let least = self.users.iter().min().copied().unwrap_or(1);
        let each_s = seconds_a_new_order();
        let needed_s = (LEAST_NEW_ORDERS * each_s / f64::from(least.max(1))).max(LEAST_PACED_S);
        if self.keying == Keying::None || self.seconds >= needed_s {
            return Ok(());
        }
        let noun = if least == 1 { "user" } else { "users" };
        Err(OptionsError(format!(
            "--pace spec with {least} {noun} needs --seconds {:.0}: a user begins a new order every \
             {each_s:.0} s on average, the first one after 18 s of keying, and a run needs about \
             {LEAST_NEW_ORDERS} of them",
            (needed_s / 10.0).ceil() * 10.0
        )))
    }

    /// What is varied, users first: the scalability law is fitted along them.
    pub(super) fn factors(&self) -> Vec<Factor> {
        let users: Vec<u64> = self.users.iter().map(|&users| u64::from(users)).collect();
        let mut factors = vec![Factor::sessions(USERS, &users)];
        if self.files.len() > 1 {
            factors.push(Factor::counts(FILES, &self.files));
        }
        if self.churn.len() > 1 {
            let words: Vec<&str> = self.churn.iter().map(|churn| churn.word()).collect();
            factors.push(Factor::words(CHURN, &words).of_load());
        }
        factors
    }

    pub(super) fn of_cell(&self, cell: &Cell) -> Setting {
        let users = cell.count(USERS).and_then(|n| u32::try_from(n).ok());
        let churn = cell
            .level(CHURN)
            .and_then(|level| Churn::parse(&level.key).ok());
        let first = |churn: &[Churn]| churn.first().copied().unwrap_or(Churn::Off);
        Setting {
            users: users.unwrap_or(1),
            files: cell
                .count(FILES)
                .or(self.files.first().copied())
                .unwrap_or(1),
            churn: churn.unwrap_or_else(|| first(&self.churn)),
        }
    }

    pub(super) fn manner(&self, churn: Churn) -> Manner {
        Manner {
            calling: self.calling,
            churn,
            has_pauses: self.keying == Keying::Spec,
        }
    }

    /// Bytes of each of `files` data files: the tables, and what a run adds.
    pub(super) fn file_bytes(&self, files: u64) -> u64 {
        let added = self.seconds.ceil() as u64 * GROWTH_BYTES_A_SECOND;
        let all = self.scale.bytes() / 100 * 115 + added + 16 * MIB;
        (all / files.max(1)).max(4 * MIB).div_ceil(64 << 10) * (64 << 10)
    }

    pub(super) fn pool_bytes(&self) -> u64 {
        let bytes = self.pool.unwrap_or(self.scale.bytes() / 4 * 5 + 64 * MIB);
        bytes.next_multiple_of(MIB)
    }

    /// The load in one sentence.
    pub(super) fn workload(&self) -> String {
        let pace = match self.keying {
            Keying::None => "without keying and think times",
            Keying::Spec => "with keying and think times",
        };
        let part = match self.part {
            1 => String::new(),
            part => format!(" with 1/{part} of the rows"),
        };
        format!(
            "order entry: {}{part}, hot rows {}, five transactions as {}, {pace}, for {} s; \
             log {}, \
             pool {}",
            self.scale.warehouses_text(),
            self.hot_rows.word(),
            self.calling.word(),
            self.seconds,
            size_text(self.log_bytes),
            size_text(self.pool_bytes())
        )
    }

    /// The settings that the plan records.
    pub(super) fn settings(&self, version: &str) -> BTreeMap<String, String> {
        let set = |name: &str, value: String| (name.to_owned(), value);
        let churn: Vec<&str> = self.churn.iter().map(|churn| churn.word()).collect();
        let mut settings = BTreeMap::from([
            set("engine", version.to_owned()),
            set("load", self.workload()),
            set("churn", churn.join(",")),
            set("pace", self.keying.word().to_owned()),
            set("isolation", "READ COMMITTED".to_owned()),
        ]);
        self.places.record(&mut settings);
        settings
    }

    /// How the load differs from what it is derived from, one sentence each.
    pub(super) fn deviations(&self) -> Vec<String> {
        let mut found = vec![
            format!("The measured interval is {} s after one scan of all tables.", self.seconds),
            "Transactions run at READ COMMITTED, with an update lock where a delivery looks for its \
             order.".to_owned(),
            "A delivery is run at once, in ten transactions, not queued.".to_owned(),
            "No foreign keys are declared.".to_owned(),
            "New orders per minute leave out those that are rolled back, 1% of them.".to_owned(),
            "A transaction that is a deadlock's victim is run again; its latency counts from its first \
             try.".to_owned(),
        ];
        if self.part > 1 {
            found.push(format!(
                "Customers, orders and items are one part in {} of those of a whole warehouse. The constants \
                 of the non-uniform choice among them are those of a whole one, so that the choice is nearly \
                 uniform.",
                self.part
            ));
        }
        let most = self.users.iter().max().copied().unwrap_or(0);
        if most > USERS_A_WAREHOUSE * self.scale.warehouses {
            found.push(format!(
                "Up to {most} users work on {}: {USERS_A_WAREHOUSE} on each are specified.",
                self.scale.warehouses_text()
            ));
        }
        if self.hot_rows == HotRows::Padded {
            let text = "Rows of warehouses and districts have a further column of 5,000 bytes, so that each \
                has a page of its own.";
            found.push(text.to_owned());
        }
        if self.keying == Keying::None {
            found.push(
                "Sessions neither key in nor think: contention by warehouse is far higher."
                    .to_owned(),
            );
        }
        if self.churn.iter().any(|&churn| churn != Churn::Off) {
            let text = "With churn each transaction also creates, fills and drops a table before its commit, \
                but for new orders that are rolled back; a delivery does so in the last of its ten \
                transactions.";
            found.push(text.to_owned());
        }
        if self.churn.contains(&Churn::Tempdb) {
            let text = "With churn tempdb the number of files is still that of the user database: tempdb has \
                one.";
            found.push(text.to_owned());
        }
        found
    }
}
