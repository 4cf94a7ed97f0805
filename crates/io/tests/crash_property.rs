//! Random work on several files, then every named outcome and random ones: each byte that survives was
//! possible there, and what was synced is there.

#![expect(clippy::unwrap_used, reason = "a failed step is a failed test")]

use furrow_io::random::{Rng, seeded, test_seed};
use furrow_io::sim::{Crash, SimOptions, SimVolume};
use furrow_io::{Access, File, Fill, Open, Volume};
use std::path::Path;
use std::sync::Arc;

fn create(volume: &SimVolume, path: &str) -> Arc<dyn File> {
    volume
        .open(Path::new(path), Open::Create, Access::Data)
        .unwrap()
}

/// Cells of a file that are written whole, and every value each may have after a power loss.
const CELL: u64 = 256;

struct Model {
    /// Values possible per cell; the last is what the running system sees.
    cells: Vec<Vec<u8>>,
    durable_cells: usize,
}

impl Model {
    fn write(&mut self, cell: usize, count: usize, value: u8) {
        while self.cells.len() < cell + count {
            self.cells.push(vec![0]);
        }
        self.cells[cell..cell + count]
            .iter_mut()
            .for_each(|values| values.push(value));
    }

    fn certain(&mut self, cell: usize, count: usize) {
        for values in &mut self.cells[cell..cell + count] {
            values.drain(..values.len() - 1);
        }
        self.durable_cells = self.durable_cells.max(cell + count);
    }

    fn check(&self, left: &[u8], what: &str) {
        let cells: Vec<&[u8]> = left.chunks(CELL as usize).collect();
        assert!(
            cells.len() >= self.durable_cells && cells.len() <= self.cells.len(),
            "{what}: length"
        );
        for (at, (cell, possible)) in cells.iter().zip(&self.cells).enumerate() {
            assert!(
                cell.iter().all(|byte| *byte == cell[0]),
                "{what}: cell {at} is torn inside a sector"
            );
            let hole = at >= self.durable_cells && cell[0] == 0;
            assert!(
                hole || possible.contains(&cell[0]),
                "{what}: cell {at} is {}, not of {possible:?}",
                cell[0]
            );
        }
    }
}

#[test]
fn synced_bytes_never_suffer_whatever_is_done_and_lost() {
    let first = test_seed();
    println!("seed {first}");
    for seed in (0..60).map(|step| first.wrapping_add(step)) {
        let mut rng = seeded(seed);
        let volume = SimVolume::new(SimOptions::default());
        let names = ["a", "b", "c"];
        let files: Vec<_> = names.iter().map(|name| create(&volume, name)).collect();
        let mut models: Vec<Model> = names
            .iter()
            .map(|_| Model {
                cells: Vec::new(),
                durable_cells: 0,
            })
            .collect();
        for turn in 0..60_u8 {
            let pick = rng.random_range(0..3);
            let (file, model) = (&files[pick], &mut models[pick]);
            let cell = rng.random_range(0..60_usize);
            let count = rng.random_range(1..40_usize);
            let value = turn + 1;
            let bytes = vec![value; count * CELL as usize];
            match rng.random_range(0..10) {
                0..6 => {
                    file.write_at(cell as u64 * CELL, &bytes).unwrap();
                    model.write(cell, count, value);
                }
                6..8 => {
                    file.write_durable_at(cell as u64 * CELL, &bytes).unwrap();
                    model.write(cell, count, value);
                    model.certain(cell, count);
                }
                8 => {
                    file.sync().unwrap();
                    model.certain(0, model.cells.len());
                }
                _ => {
                    file.resize(cell as u64 * CELL, Fill::Allocate).unwrap();
                    model.cells.resize(cell, vec![0]);
                    model.durable_cells = cell;
                }
            }
            if turn % 6 == 5 {
                for crash in (0..4)
                    .map(|more| Crash::Torn { seed: seed ^ more })
                    .chain(volume.outcomes())
                {
                    let after = volume.crash(&crash);
                    for (name, model) in names.iter().zip(&models) {
                        model.check(
                            &after.contents(Path::new(name)).unwrap(),
                            &format!("seed {seed}, turn {turn}, {crash:?}"),
                        );
                    }
                }
            }
        }
    }
}
