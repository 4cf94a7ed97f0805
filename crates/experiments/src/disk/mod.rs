//! The experiment "which stripe unit, partition offset and allocation unit?"
//!
//! # Purpose
//! Raw requests of one size, a fixed number of them under way, on a modelled RAID array in virtual time or
//! on a real file by direct I/O. The response is requests per second.
//!
//! # Invariants
//! 1. A run on the model says so: in the question, in the target, and in the heading of its sections.
//! 2. Each run on the model is a fresh array with a seed of its own, so that runs of one level differ as
//!    repeated measurements do. The plan's seed decides all of them.
//! 3. In mode `file-offset` the stripe is that of the volume, and only the offset in the file varies: what
//!    is measured is the device's own reaction to requests that do not begin on its blocks.
//!
//! # What can fail
//! A [`StepError`] with the reason; options that make no sense ([`OptionsError`]).

mod options;
mod section;

pub use options::{Mode, Options, Typed};

use crate::plugin::{Plugin, Start};
use furrow_disks::load::{Arrival, Load, Measurement, Window, run_model, run_target};
use furrow_disks::raid::Raid;
use furrow_disks::spec::{ModelSpec, SpecError};
use furrow_io::raw::{RawAccess, RawTarget};
use furrow_io::time::Duration;
use furrow_lab::design::{Cell, Factor};
use furrow_lab::experiment::{Experiment, OptionsError, RunContext, StepError};
use furrow_lab::plan::Forecast;
use furrow_lab::results::{self, Better, Figure, Latency, Published, Results, Run, Section};
use std::collections::BTreeMap;
use std::path::PathBuf;

/// Modelled requests a second that a run is thought to do before one has been seen.
const ASSUMED_REQUESTS: f64 = 500_000.0;

/// The experiment.
#[derive(Debug)]
pub struct Disk {
    options: Options,
    out_dir: PathBuf,
    target: Option<RawTarget>,
}

fn failed(error: &dyn std::fmt::Display) -> StepError {
    StepError::Failed(error.to_string())
}

impl Disk {
    fn dir(&self) -> PathBuf {
        self.options
            .volume
            .clone()
            .unwrap_or_else(|| self.out_dir.clone())
    }

    fn model(
        &self,
        stripe: u64,
        offset: u64,
        unit: u64,
        seed: u64,
    ) -> Result<ModelSpec, SpecError> {
        let mut model = ModelSpec::parse(&format!("model={}", self.options.array))?;
        let raid = model.array.raid;
        model.array.raid = Raid::new(raid.level(), raid.drives(), stripe)?;
        model.partition_offset = offset;
        model.unit_bytes = unit;
        model.seed = seed;
        Ok(model)
    }

    fn load(&self, cell: &Cell, seed: u64) -> Load {
        let number = |factor| u32::try_from(Options::number(cell, factor)).unwrap_or(u32::MAX);
        Load {
            pattern: self.options.pattern,
            read_percent: number("reads"),
            block_bytes: self.options.block_bytes,
            arrival: Arrival::Depth(number("depth").max(1)),
            file_bytes: 0,
            seed,
        }
    }

    fn measured(&self, cell: &Cell, context: &RunContext<'_>) -> Result<Measurement, StepError> {
        let seed = u64::from(context.run_id());
        let offset = Options::number(cell, "offset");
        let load = self.load(cell, seed);
        if let Some(target) = &self.target {
            let window = Window {
                warm_up: Duration::from_millis(500),
                measured: Duration::from_secs(self.options.seconds),
                offset,
            };
            let found = run_target(target, &load, &window, context.cancel_flag());
            if context.is_cancelled() {
                return Err(StepError::Cancelled);
            }
            return found.map_err(|e| failed(&e));
        }
        let stripe = Options::number(cell, "stripe");
        let unit = Options::number(cell, "unit");
        let model = self
            .model(stripe, offset, unit, seed)
            .map_err(|e| failed(&e))?;
        run_model(&model, &load, self.options.requests).map_err(|e| failed(&e))
    }
}

impl Plugin for Disk {
    const NAME: &'static str = "disk";
    const QUESTION: &'static str =
        "Which stripe unit, partition offset and allocation unit? (modelled array, or a real file)";
    type Options = Typed;

    fn new(typed: Typed, start: &Start) -> Result<Disk, OptionsError> {
        let options = Options::of(typed, start)?;
        let disk = Disk {
            options,
            out_dir: start.out_dir.clone(),
            target: None,
        };
        if disk.options.mode == Mode::Model {
            for cell in furrow_lab::design::cells(&disk.factors()) {
                let of = |factor| Options::number(&cell, factor);
                let model = disk.model(of("stripe"), of("offset"), of("unit"), 1);
                let model = model.map_err(|e| OptionsError(e.to_string()))?;
                let checked = disk.load(&cell, 1).check(model.array.capacity_bytes());
                checked.map_err(|e| OptionsError(e.to_string()))?;
            }
        }
        Ok(disk)
    }
}

impl Experiment for Disk {
    fn subject(&self) -> results::Experiment {
        let (question, target) = match self.options.mode {
            Mode::Model => (
                "Which stripe unit, partition offset and allocation unit?",
                format!("model in virtual time: {}", self.options.array),
            ),
            Mode::FileOffset => (
                "Does the offset of requests in a file matter on this device?",
                match &self.options.device {
                    Some((path, _)) => format!("{}, direct I/O", path.display()),
                    None => format!("file in {}, direct I/O", self.dir().display()),
                },
            ),
        };
        results::Experiment {
            name: Disk::NAME.to_owned(),
            question: question.to_owned(),
            target,
            database: "none: raw requests".to_owned(),
            workload: format!(
                "requests of {} bytes, closed loop",
                self.options.block_bytes
            ),
            factor: results::Factor {
                singular: String::new(),
                plural: "offsets".to_owned(),
                option: "--offset".to_owned(),
            },
            response: results::Response {
                name: "requests".to_owned(),
                unit: "requests/s".to_owned(),
                better: Better::Higher,
            },
        }
    }

    fn factors(&self) -> Vec<Factor> {
        self.options.factors()
    }

    fn settings(&self) -> BTreeMap<String, String> {
        self.options.settings()
    }

    fn volumes(&self) -> Vec<PathBuf> {
        vec![self.dir()]
    }

    fn models(&self) -> Vec<String> {
        let model = ModelSpec::parse(&format!("model={}", self.options.array));
        let is_model = self.options.mode == Mode::Model;
        let model = model.ok().filter(|_| is_model);
        let array = model.map(|model| model.array.to_string());
        array.into_iter().collect()
    }

    fn forecast(&self, _cell: &Cell) -> Forecast {
        match self.options.mode {
            Mode::Model => Forecast {
                seconds: self.options.requests as f64 / ASSUMED_REQUESTS,
                peak_bytes: Vec::new(),
                shared_bytes: Vec::new(),
                bytes_written: 0,
                steps: vec![format!("{} requests on the model", self.options.requests)],
            },
            Mode::FileOffset => Forecast {
                seconds: self.options.seconds as f64 + 0.5,
                peak_bytes: Vec::new(),
                shared_bytes: match &self.options.device {
                    Some(_) => Vec::new(),
                    None => vec![(self.dir(), self.options.file_bytes)],
                },
                bytes_written: 0,
                steps: vec![format!(
                    "{} seconds of requests to one file",
                    self.options.seconds
                )],
            },
        }
    }

    fn prepare(&mut self, context: &mut RunContext<'_>) -> Result<(), StepError> {
        if self.options.mode == Mode::Model {
            return Ok(());
        }
        if let Some((path, access)) = &self.options.device {
            self.target = Some(RawTarget::open(path, *access).map_err(|e| failed(&e))?);
            return Ok(());
        }
        let path = self.dir().join(format!("disk_{}.dat", context.tag()));
        context.claim_file(&path)?;
        let bytes = self.options.file_bytes;
        drop(RawTarget::create(&path, bytes).map_err(|e| failed(&e))?);
        let target = RawTarget::open(&path, RawAccess::Destroy).map_err(|e| failed(&e))?;
        self.target = Some(target);
        Ok(())
    }

    fn setup(&mut self, _cell: &Cell, _context: &mut RunContext<'_>) -> Result<(), StepError> {
        Ok(())
    }

    fn measure(&mut self, cell: &Cell, context: &mut RunContext<'_>) -> Result<Run, StepError> {
        let found = self.measured(cell, context)?;
        let mut run = Run {
            response: Some(found.iops()),
            seconds: Some(found.elapsed_ns as f64 / 1e9),
            ..Run::default()
        };
        let us = |ns: u64| ns / 1_000;
        run.latency.push(Latency {
            operation: "request".to_owned(),
            count: found.requests,
            mean_us: found.latency.mean_ns as f64 / 1e3,
            p50_us: us(found.latency.p50_ns),
            p90_us: us(found.latency.p90_ns),
            p99_us: us(found.latency.p99_ns),
            p999_us: us(found.latency.p999_ns),
            max_us: us(found.latency.max_ns),
            coordinated_omission_possible: true,
            ..Latency::default()
        });
        let mean_ms = found.latency.mean_ns as f64 / 1e6;
        run.figures.push(Figure::higher(
            "throughput",
            "MB/s",
            found.megabytes_per_second(),
        ));
        run.figures
            .push(Figure::lower("mean latency", "ms", mean_ms));
        if let Some(model) = found.model {
            run.figures
                .push(Figure::lower("split requests", "%", model.split_percent));
            let each = model.operations_per_request;
            run.figures.push(Figure::lower(
                "drive operations a request",
                "operations",
                each,
            ));
            run.notes.push("a model, not a measurement".to_owned());
        }
        section::keep(&mut run, cell, &found);
        Ok(run)
    }

    fn teardown(&mut self, _cell: &Cell, _context: &mut RunContext<'_>) -> Result<(), StepError> {
        Ok(())
    }

    fn dispose(&mut self) -> Result<(), StepError> {
        self.target = None;
        Ok(())
    }

    fn limits(&self) -> Vec<String> {
        match self.options.mode {
            Mode::Model => vec![
                "Every figure comes from a model of drives; no real array was used.".to_owned(),
                "The model has no failures, no remapped sectors, and no cache unless the array has one."
                    .to_owned(),
            ],
            Mode::FileOffset => vec![
                "One file on one device: only the offset of requests varies, no stripe unit.".to_owned(),
            ],
        }
    }

    fn published(&self, results: &Results) -> Option<Published> {
        (self.options.mode == Mode::Model).then(|| section::published(results))
    }

    fn sections(&self, results: &Results) -> Vec<Section> {
        section::sections(self.options.mode, results)
    }
}

#[cfg(test)]
mod tests;
