//! The engine under power losses on modelled arrays: the crash simulation and the model share one seam.

use furrow_disks::{ModelledVolume, Pace, VolumeSpec};
use furrow_io::Volume;
use furrow_io::random::test_seed;
use furrow_soak::crash::{Figures, Length, run};
use furrow_soak::engine::{Engine, EngineStore};
use furrow_soak::subject::{Failure, Layout, Subject};
use std::sync::Arc;

/// The engine, on a modelled array before whatever volume it is given.
#[derive(Debug)]
struct OnArray {
    engine: Engine,
    array: VolumeSpec,
}

impl OnArray {
    fn new(model: &str) -> OnArray {
        let engine = Engine::default();
        let text = format!("{},{model}", engine.home.display());
        OnArray {
            engine,
            array: text.parse().unwrap_or_else(|e| panic!("{text}: {e}")),
        }
    }

    fn before(&self, volume: Arc<dyn Volume>) -> Arc<dyn Volume> {
        let specs = std::slice::from_ref(&self.array);
        let modelled = ModelledVolume::new(volume, specs, Pace::Virtual);
        Arc::new(modelled.unwrap_or_else(|e| panic!("{e}")))
    }
}

impl Subject for OnArray {
    type Store = EngineStore;

    fn create(&self, volume: Arc<dyn Volume>, layout: &Layout) -> Result<EngineStore, Failure> {
        self.engine.create(self.before(volume), layout)
    }

    fn open(&self, volume: Arc<dyn Volume>, layout: &Layout) -> Result<EngineStore, Failure> {
        self.engine.open(self.before(volume), layout)
    }
}

const ARRAYS: [&str; 3] = [
    "model=raid10:4x15k,offset=63s",
    "model=raid5:4x7k2,cache=write-back:64M",
    "model=raid6:6xnvme,unit=64K",
];

#[test]
fn power_losses_on_a_modelled_array_lose_nothing_and_tear_nothing() {
    let seed = test_seed();
    println!("seed {seed}");
    let mut all = Figures::default();
    for (n, model) in ARRAYS.iter().cycle().take(9).enumerate() {
        let done = run(
            &OnArray::new(model),
            seed.wrapping_add(n as u64),
            Length::default(),
        );
        all.add(&done.unwrap_or_else(|finding| panic!("{model}: {finding}")));
    }
    println!("{all:?}");
    assert!(all.crashes > 50 && all.in_recovery > 3);
}

#[test]
fn a_seed_decides_a_run_on_a_modelled_array() {
    // With the second one a header of another length was left over in a double-write file.
    for seed in [test_seed(), 12_202_996_391_574_341_601] {
        println!("seed {seed}");
        let length = Length {
            cycles: 4,
            steps: 200,
            loads: true,
        };
        for model in ARRAYS {
            // To the last operation of the disks.
            let one = run(&OnArray::new(model), seed, length);
            assert_eq!(one, run(&OnArray::new(model), seed, length), "{model}");
        }
    }
}
