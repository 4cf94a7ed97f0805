//! The design of the experiment on raw requests: every combination of its factors, run on the model.
//!
//! Each cell is a fresh array, so that no cell depends on the ones before it. Cells of one array, reads and
//! depth use the same seed, that is, the same sequence of pages: their differences are due to stripe unit,
//! offset and allocation unit alone.

use crate::load::{Arrival, Load, LoadError, Measurement, Pattern, run_model};
use crate::raid::{Raid, crossing_share};
use crate::spec::{ModelSpec, SpecError};
use serde::{Deserialize, Serialize};
use std::sync::atomic::{AtomicBool, Ordering};

/// Factors and what stays the same.
#[derive(Debug, Clone, PartialEq)]
pub struct Grid {
    /// Arrays as texts: `raid10:6x15k`, with more options behind commas.
    pub arrays: Vec<String>,
    /// Stripe units.
    pub stripes: Vec<u64>,
    /// Partition offsets.
    pub offsets: Vec<u64>,
    /// Allocation units.
    pub units: Vec<u64>,
    /// Reads of 100 requests.
    pub read_percents: Vec<u32>,
    /// Requests under way.
    pub depths: Vec<u32>,
    /// Sizes of requests.
    pub blocks: Vec<u64>,
    /// The order of offsets.
    pub pattern: Pattern,
    /// The size of the file; 0 for the whole partition.
    pub file_bytes: u64,
    /// Measured requests of a cell.
    pub requests: u64,
    /// Of everything.
    pub seed: u64,
}

impl Default for Grid {
    fn default() -> Grid {
        Grid {
            arrays: vec!["raid10:6x15k".to_owned()],
            stripes: vec![8 << 10, 64 << 10, 128 << 10],
            offsets: vec![63 * 512, 64 << 10],
            units: vec![4 << 10, 8 << 10, 64 << 10],
            read_percents: vec![100, 80, 0],
            depths: vec![64],
            blocks: vec![crate::PAGE_BYTES],
            pattern: Pattern::Random,
            file_bytes: 0,
            requests: 100_000,
            seed: 1,
        }
    }
}

/// One combination.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Cell {
    /// The array.
    pub array: String,
    /// Stripe unit.
    pub stripe_bytes: u64,
    /// Partition offset.
    pub offset_bytes: u64,
    /// Allocation unit.
    pub unit_bytes: u64,
    /// Reads of 100 requests.
    pub read_percent: u32,
    /// Requests under way.
    pub depth: u32,
    /// Size of a request.
    pub block_bytes: u64,
}

/// A combination with its result.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct CellResult {
    /// The combination.
    pub cell: Cell,
    /// Requests that cross a stripe unit, percent, by arithmetic, of a file that begins on a multiple of its
    /// own request size behind the offset.
    pub crossing_percent: f64,
    /// What the model gave.
    pub measurement: Measurement,
}

/// Why a grid did not run.
#[derive(Debug, thiserror::Error)]
pub enum GridError {
    /// A text is no array.
    #[error(transparent)]
    Spec(#[from] SpecError),
    /// A load makes no sense.
    #[error(transparent)]
    Load(#[from] LoadError),
    /// It was cancelled.
    #[error("stopped before all cells had run")]
    Cancelled,
}

impl Grid {
    /// All combinations; the offset varies fastest but one, so that cells to be compared are neighbours.
    pub fn cells(&self) -> Vec<Cell> {
        let mut cells = Vec::new();
        for array in &self.arrays {
            for &block_bytes in &self.blocks {
                for &read_percent in &self.read_percents {
                    for &depth in &self.depths {
                        for &stripe_bytes in &self.stripes {
                            for &unit_bytes in &self.units {
                                cells.extend(self.offsets.iter().map(|&offset_bytes| Cell {
                                    array: array.clone(),
                                    stripe_bytes,
                                    offset_bytes,
                                    unit_bytes,
                                    read_percent,
                                    depth,
                                    block_bytes,
                                }));
                            }
                        }
                    }
                }
            }
        }
        cells
    }

    /// Runs every cell; calls `done` with each result.
    pub fn run(
        &self,
        cancel: &AtomicBool,
        mut done: impl FnMut(&CellResult),
    ) -> Result<Vec<CellResult>, GridError> {
        let cells = self.cells();
        // What makes no sense is refused before the first cell runs.
        let models: Result<Vec<ModelSpec>, GridError> =
            cells.iter().map(|cell| self.model(cell)).collect();
        let mut results = Vec::with_capacity(cells.len());
        for (cell, model) in cells.into_iter().zip(models?) {
            if cancel.load(Ordering::Relaxed) {
                return Err(GridError::Cancelled);
            }
            let load = Load {
                pattern: self.pattern,
                read_percent: cell.read_percent,
                block_bytes: cell.block_bytes,
                arrival: Arrival::Depth(cell.depth),
                file_bytes: self.file_bytes,
                seed: self.seed,
            };
            let measurement = run_model(&model, &load, self.requests)?;
            let (crossing, of) =
                crossing_share(cell.stripe_bytes, cell.offset_bytes, cell.block_bytes);
            let result = CellResult {
                crossing_percent: crossing as f64 * 100.0 / of as f64,
                cell,
                measurement,
            };
            done(&result);
            results.push(result);
        }
        Ok(results)
    }

    fn model(&self, cell: &Cell) -> Result<ModelSpec, GridError> {
        let mut model = ModelSpec::parse(&format!("model={}", cell.array))?;
        let raid = model.array.raid;
        model.array.raid =
            Raid::new(raid.level(), raid.drives(), cell.stripe_bytes).map_err(SpecError::from)?;
        model.partition_offset = cell.offset_bytes;
        model.unit_bytes = cell.unit_bytes;
        model.seed = self.seed;
        let capacity = model.array.capacity_bytes();
        if cell.offset_bytes >= capacity {
            return Err(SpecError::OffsetPastEnd {
                offset: cell.offset_bytes,
                capacity,
            }
            .into());
        }
        Ok(model)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_combination_runs_once_and_a_grid_that_makes_no_sense_does_not_begin() {
        let grid = Grid {
            arrays: vec![
                "raid10:4x15k".to_owned(),
                "raid5:5x10k,queue=fifo".to_owned(),
            ],
            depths: vec![1, 8],
            requests: 300,
            ..Grid::default()
        };
        let mut seen = 0;
        let results = grid.run(&AtomicBool::new(false), |_| seen += 1).unwrap();
        assert_eq!((results.len(), seen), (2 * 3 * 2 * 3 * 3 * 2, 216));
        assert!(
            results
                .iter()
                .all(|result| result.measurement.is_modelled())
        );
        for wrong in ["raid10:3x15k", "raid5:4x20k"] {
            let grid = Grid {
                arrays: vec!["raid10:4x15k".to_owned(), wrong.to_owned()],
                ..Grid::default()
            };
            let mut seen = 0;
            assert!(grid.run(&AtomicBool::new(false), |_| seen += 1).is_err());
            assert_eq!(seen, 0);
        }
        let stopped = grid.run(&AtomicBool::new(true), |_| ());
        assert!(matches!(stopped, Err(GridError::Cancelled)));
    }
}
