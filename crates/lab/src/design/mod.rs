//! The order in which an experiment runs.
//!
//! # Purpose
//! A disk that slows down by 5% over a session makes three experiments in four report a difference that
//! is not there, when all runs of one level come first. Here every level runs once a block, in an order
//! drawn from a recorded seed, so that drift meets all levels alike.
//!
//! # Invariants
//! 1. Each block holds every arm exactly once; the baseline has two arms when the control is on.
//! 2. The order is a function of (arms, blocks, seed) alone.
//! 3. With at least as many blocks as arms, every arm is at every place equally often in each full square,
//!    and follows every other arm equally often (Williams) where the number of arms is even; an odd number
//!    needs two squares for that.
//! 4. With fewer blocks no arm holds one place in more than half of the blocks, where that is possible.
//!
//! # Algorithm
//! 1. Cells are all combinations of the factors' levels, the last factor running fastest.
//! 2. Arms are the cells in order, then the baseline's second label.
//! 3. Full squares: the rows of a Williams square, labels and rows shuffled. The rest of the blocks: random
//!    orders, drawn again until rule 4 holds.
//!
//! # What can fail
//! Nothing: a plan is checked before ([`crate::plan::Plan::check`]).

mod order;

pub use order::{block_orders, most_at_one_place};

use serde::{Deserialize, Serialize};

/// A setting that is varied.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Factor {
    /// Name of the setting: `files`.
    pub name: String,
    /// Its levels, in the order in which more is tried.
    pub levels: Vec<Level>,
    /// Whether it counts sessions that work at the same time: the scalability law is then fitted.
    #[serde(default)]
    pub is_concurrency: bool,
    /// Whether it is a part of the load, which is given, and no setting: its levels do other work.
    #[serde(default)]
    pub is_load: bool,
}

impl Factor {
    /// The factor as a part of the load.
    #[must_use]
    pub fn of_load(self) -> Factor {
        Factor {
            is_load: true,
            ..self
        }
    }

    /// A factor whose levels are whole numbers.
    pub fn counts(name: &str, levels: &[u64]) -> Factor {
        let levels = levels
            .iter()
            .map(|&count| Level {
                key: count.to_string(),
                value: Some(count as f64),
            })
            .collect();
        Factor {
            name: name.to_string(),
            levels,
            is_concurrency: false,
            is_load: false,
        }
    }

    /// A factor that counts sessions which work at the same time.
    pub fn sessions(name: &str, levels: &[u64]) -> Factor {
        Factor {
            is_concurrency: true,
            ..Factor::counts(name, levels)
        }
    }

    /// A factor whose levels are names without an order.
    pub fn words(name: &str, levels: &[&str]) -> Factor {
        let levels = levels
            .iter()
            .map(|&word| Level {
                key: word.to_string(),
                value: None,
            })
            .collect();
        Factor {
            name: name.to_string(),
            levels,
            is_concurrency: false,
            is_load: false,
        }
    }
}

/// One setting of a factor.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Level {
    /// As written: `4`, `random-key`.
    pub key: String,
    /// As a number, where it is one.
    pub value: Option<f64>,
}

/// One combination of levels.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Cell {
    /// Place among the cells of the plan.
    pub index: usize,
    /// (factor, level) in the order of the factors.
    pub settings: Vec<(String, Level)>,
}

impl Cell {
    /// The level of a factor.
    pub fn level(&self, factor: &str) -> Option<&Level> {
        self.settings
            .iter()
            .find(|(name, _)| name == factor)
            .map(|(_, level)| level)
    }

    /// The level of a factor as a whole number.
    pub fn count(&self, factor: &str) -> Option<u64> {
        let value = self.level(factor)?.value?;
        (value >= 0.0 && value.fract() == 0.0).then_some(value as u64)
    }

    /// The name of the cell: the level of the factors that vary, `4` or `4 / random-key`.
    pub fn key(&self, factors: &[Factor]) -> String {
        let varied: Vec<&str> = self
            .settings
            .iter()
            .zip(factors)
            .filter(|(_, factor)| factor.levels.len() > 1)
            .map(|((_, level), _)| level.key.as_str())
            .collect();
        match varied.is_empty() {
            true => self
                .settings
                .first()
                .map(|s| s.1.key.clone())
                .unwrap_or_default(),
            false => varied.join(" / "),
        }
    }
}

/// All combinations of the factors' levels, the last factor running fastest.
pub fn cells(factors: &[Factor]) -> Vec<Cell> {
    let mut settings: Vec<Vec<(String, Level)>> = vec![Vec::new()];
    for factor in factors {
        settings = settings
            .iter()
            .flat_map(|before| {
                factor.levels.iter().map(move |level| {
                    let mut next = before.clone();
                    next.push((factor.name.clone(), level.clone()));
                    next
                })
            })
            .collect();
    }
    settings
        .into_iter()
        .enumerate()
        .map(|(index, settings)| Cell { index, settings })
        .collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn cells_are_all_combinations_with_the_last_factor_fastest() {
        let factors = [
            Factor::counts("files", &[1, 4]),
            Factor::words("layout", &["seq", "random"]),
        ];
        let keys: Vec<String> = cells(&factors)
            .iter()
            .map(|cell| cell.key(&factors))
            .collect();
        assert_eq!(keys, ["1 / seq", "1 / random", "4 / seq", "4 / random"]);
        let last = &cells(&factors)[3];
        assert_eq!(
            (last.index, last.count("files"), last.count("layout")),
            (3, Some(4), None)
        );
        assert!(last.level("nothing").is_none());
    }

    #[test]
    fn factors_that_do_not_vary_stay_out_of_the_name() {
        let factors = [
            Factor::counts("files", &[1, 4]),
            Factor::words("layout", &["seq"]),
        ];
        assert_eq!(cells(&factors)[1].key(&factors), "4");
    }
}
