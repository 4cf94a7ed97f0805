//! Power losses on a modelled array: the crash simulation lies below the model, behind the same seam.

#![expect(clippy::unwrap_used, reason = "a failed step is a failed test")]

use furrow_disks::{ModelledVolume, Pace, VolumeSpec};
use furrow_io::random::{Rng, seeded, test_seed};
use furrow_io::sim::{Crash, Effect, Fault, Ops, SimOptions, SimVolume};
use furrow_io::{Access, Fill, Open, Volume};
use std::path::Path;
use std::sync::Arc;

const CELL: u64 = 4096;
const CELLS: usize = 64;
const DIR: &str = "/data";
const FILE: &str = "/data/f";

fn on_array(sim: &SimVolume, model: &str) -> ModelledVolume {
    let spec: VolumeSpec = format!("{DIR},{model}").parse().unwrap();
    ModelledVolume::new(Arc::new(sim.clone()), &[spec], Pace::Virtual).unwrap()
}

/// What each cell may hold after a power loss; the first value is the one that was synced last.
type Possible = Vec<Vec<u8>>;

/// Writes and syncs by the seed until the power goes.
fn work(sim: &SimVolume, model: &str, seed: u64) -> Possible {
    let volume = on_array(sim, model);
    let mut possible = vec![vec![0]; CELLS];
    volume.create_dir(Path::new(DIR)).unwrap();
    let file = volume
        .open(Path::new(FILE), Open::Create, Access::Data)
        .unwrap();
    file.resize(CELLS as u64 * CELL, Fill::Allocate).unwrap();
    let mut rng = seeded(seed);
    sim.inject(Fault::new(Ops::Changes, Effect::PowerLoss).nth(rng.random_range(1..200)));
    for turn in 0..250_u32 {
        let cell = rng.random_range(0..CELLS);
        let value = (turn % 255) as u8 + 1;
        let bytes = vec![value; CELL as usize];
        let place = cell as u64 * CELL;
        let sync = rng.random_ratio(1, 8);
        possible[cell].push(value);
        let done = if sync {
            file.sync()
        } else if rng.random_ratio(1, 5) {
            let durable = file.write_durable_at(place, &bytes);
            if durable.is_ok() {
                possible[cell] = vec![value];
            }
            durable
        } else {
            file.write_at(place, &bytes)
        };
        if done.is_err() {
            break;
        }
        if sync {
            // The value of this turn was not written.
            possible[cell].pop();
            for values in &mut possible {
                values.drain(..values.len() - 1);
            }
        }
    }
    assert!(!sim.is_powered() || sim.counts().total() > 200);
    possible
}

#[test]
fn synced_bytes_survive_every_power_loss_on_every_array() {
    let first = test_seed();
    println!("seed {first}");
    let models = [
        "model=raid10:4x15k,offset=63s",
        "model=raid5:3x7k2,cache=write-back:1M",
        "model=cloud-burst",
    ];
    for (n, model) in models.iter().cycle().take(60).enumerate() {
        let seed = first.wrapping_add(n as u64);
        let sim = SimVolume::new(SimOptions::default());
        let possible = work(&sim, model, seed);
        let random = (0..4).map(|more| Crash::Torn { seed: seed ^ more });
        for crash in random.chain([Crash::DropAll, Crash::KeepAll]) {
            let after = sim.crash(&crash);
            let volume = on_array(&after, model);
            let file = volume
                .open(Path::new(FILE), Open::Existing, Access::Data)
                .unwrap();
            for (cell, values) in possible.iter().enumerate() {
                let mut bytes = vec![0; CELL as usize];
                file.read_at(cell as u64 * CELL, &mut bytes).unwrap();
                for sector in bytes.chunks(512) {
                    assert!(
                        sector.iter().all(|byte| *byte == sector[0]) && values.contains(&sector[0]),
                        "seed {seed}, {crash:?}, cell {cell}: {} is not of {values:?}",
                        sector[0]
                    );
                }
            }
        }
    }
}

#[test]
fn the_disks_below_do_the_same_for_the_same_seed() {
    let run = |seed| {
        let sim = SimVolume::new(SimOptions::default());
        work(&sim, "model=raid6:5x10k", seed);
        sim.fingerprint()
    };
    assert_eq!(run(11), run(11));
    assert_ne!(run(11), run(12));
}
