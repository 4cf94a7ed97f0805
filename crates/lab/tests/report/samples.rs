//! Invented experiments, seeded: what a page looks like when all goes well, and when it does not.

use crate::fit;
use crate::parts::{
    environment, experiment, file_io, latency, limits, normal, plan, published, waits,
};
use furrow_lab::results::*;
use rand_chacha::ChaCha8Rng;
use rand_chacha::rand_core::{RngCore, SeedableRng};

/// The differences between the samples.
#[derive(Debug, Clone)]
pub(crate) struct Recipe {
    pub(crate) seed: u64,
    pub(crate) blocks: u32,
    /// Response of each level over the baseline's.
    pub(crate) shape: Vec<(&'static str, f64)>,
    /// Standard deviation of a run on the log scale.
    pub(crate) scatter: f64,
    /// Change over the whole session.
    pub(crate) drift: f64,
    /// A run that something else slowed down.
    pub(crate) disturbed: Option<(u32, f64)>,
    /// A level whose runs all fail.
    pub(crate) failing: Option<&'static str>,
    /// Data files on every second volume write this much of their even share.
    pub(crate) uneven: f64,
}

pub(crate) fn conclusive() -> Results {
    let shape = vec![
        ("1", 1.0),
        ("2", 0.984),
        ("4", 0.949),
        ("8", 0.944),
        ("16", 0.968),
    ];
    let recipe = Recipe {
        seed: 20_261_121,
        blocks: 6,
        shape,
        scatter: 0.008,
        drift: 0.02,
        disturbed: None,
        failing: None,
        uneven: 1.0,
    };
    let mut results = build(&recipe);
    results.answer = Answer {
        is_under_load: false,
        badge: Badge::Conclusive,
        sentence: sentence(&results, "4", "8"),
        detail: "Sixteen files cost three times the checkpoint writes of four and give nothing back.".into(),
        recommended: Some("4".into()),
        apply: "ALTER DATABASE Sales ADD FILE (NAME = sales_2, FILENAME = 'D:\\sales_2.ndf', SIZE = 256MB);\n\
            ALTER DATABASE Sales ADD FILE (NAME = sales_3, FILENAME = 'D:\\sales_3.ndf', SIZE = 256MB);\n\
            ALTER DATABASE Sales ADD FILE (NAME = sales_4, FILENAME = 'D:\\sales_4.ndf', SIZE = 256MB);"
            .into(),
        undo: "DBCC SHRINKFILE (sales_4, EMPTYFILE); ALTER DATABASE Sales REMOVE FILE sales_4;".into(),
        next_step: None,
    };
    results.attribution = Attribution {
        resource: "Checkpoint writes, now spread over several files".into(),
        confidence: Confidence::Likely,
        share: Some(0.71),
        summary: String::new(),
        evidence_for: vec![
            "Sessions wait 0.38 s less in Tran Log IO at 4 files than at 1.".into(),
            "Checkpoints end 22% sooner at 4 files.".into(),
        ],
        evidence_against: vec![
            "PAGELATCH_EX keeps its share (38% to 39%): page latches are not the cause.".into(),
        ],
        fills: None,
    };
    results.ceilings = vec![
        ceiling(
            "log device, synced writes",
            "writes/s",
            Some((1480.0, 1391.0)),
            "same writes, nothing else running",
        ),
        ceiling(
            "data device, writes",
            "MB/s",
            Some((310.0, 141.0)),
            "raw sequential writes",
        ),
        ceiling(
            "processors",
            "cores",
            Some((2.0, 1.21)),
            "processors of the machine",
        ),
        ceiling("network", "MB/s", None, "embedded engine, no network"),
    ];
    results
}

pub(crate) fn noisy() -> Results {
    let recipe = Recipe {
        seed: 7,
        blocks: 6,
        shape: vec![
            ("1", 1.0),
            ("2", 0.99),
            ("4", 0.97),
            ("8", 0.965),
            ("16", 0.98),
        ],
        scatter: 0.055,
        drift: 0.09,
        disturbed: Some((17, 0.34)),
        failing: None,
        uneven: 1.0,
    };
    let mut results = build(&recipe);
    results.answer = Answer {
        badge: Badge::CannotTell,
        sentence: "cannot tell: 21 more blocks (48 minutes) would see 3%".into(),
        detail: "A run scatters by about 6%; with six blocks only effects beyond 12% can be seen."
            .into(),
        next_step: Some(
            "furrow lab run datafiles --resume furrow-lab/datafiles-20261121 --blocks 27".into(),
        ),
        ..Answer::default()
    };
    if let Some(outlier) = results.noise.outliers.first_mut() {
        outlier.causes = vec![
            "the hypervisor gave 14% of the processors to others".into(),
            "a checkpoint took 3.1 s".into(),
        ];
    }
    results.deviations = vec![Deviation {
        kind: "resumed".into(),
        run: Some(12),
        text: "stopped by Ctrl-C, resumed 4 min 10 s later".into(),
    }];
    results
}

pub(crate) fn one_level_failed() -> Results {
    let recipe = Recipe {
        seed: 99,
        blocks: 6,
        shape: vec![
            ("1", 1.0),
            ("2", 0.97),
            ("4", 0.94),
            ("8", 0.938),
            ("16", 0.97),
        ],
        scatter: 0.009,
        drift: 0.0,
        disturbed: None,
        failing: Some("16"),
        uneven: 1.0,
    };
    let mut results = build(&recipe);
    results.answer.badge = Badge::Aborted;
    results.answer.sentence = sentence(&results, "4", "8");
    results.answer.recommended = Some("4".into());
    results.plan.stopped_because = "three failures in a row".into();
    let failed: Vec<u32> = results
        .runs
        .iter()
        .filter(|r| !r.status.is_good())
        .map(|r| r.id)
        .collect();
    results.deviations = failed
        .into_iter()
        .map(|run| Deviation {
            kind: "failed".into(),
            run: Some(run),
            text: "file 16: error 1105, the volume /mnt/b is full".into(),
        })
        .collect();
    results
}

pub(crate) fn sixteen_uneven_files() -> Results {
    let recipe = Recipe {
        seed: 1105,
        blocks: 10,
        shape: vec![
            ("1", 1.0),
            ("2", 0.93),
            ("4", 0.88),
            ("8", 0.84),
            ("12", 0.835),
            ("16", 0.83),
        ],
        scatter: 0.012,
        drift: -0.01,
        disturbed: Some((5, 0.08)),
        failing: None,
        uneven: 0.6,
    };
    let mut results = build(&recipe);
    results.answer.badge = Badge::Conclusive;
    results.answer.sentence = sentence(&results, "8", "16");
    results.answer.recommended = Some("8".into());
    results
}

/// More than a real experiment has: long series, whole histograms.
pub(crate) fn a_thousand_runs() -> Results {
    let mut results = build(&Recipe {
        seed: 1000,
        blocks: 170,
        shape: vec![
            ("1", 1.0),
            ("2", 0.98),
            ("4", 0.95),
            ("8", 0.94),
            ("16", 0.96),
        ],
        scatter: 0.02,
        drift: 0.1,
        disturbed: None,
        failing: None,
        uneven: 1.0,
    });
    for run in &mut results.runs {
        run.latency[0].histogram = Some("HISTFAAAB".repeat(300));
        run.series[0].values = (0..600)
            .map(|second| 30_000.0 + f64::from(second))
            .collect();
    }
    results
}

/// Every text hostile: markup, quotes, controls, a line separator, very long words.
pub(crate) fn hostile() -> Results {
    let evil = "<img src=x onerror=alert(1)>\"'&</script><!--\u{0}\u{2028}";
    let mut results = conclusive();
    results.experiment.question = format!("{evil}?");
    results.experiment.target = evil.into();
    results.experiment.factor.plural = evil.into();
    results.answer.sentence = format!("{evil} {}", "W".repeat(300));
    results.answer.apply = format!("</code></pre>{evil}");
    results.reproduce = format!("furrow lab run '{evil}'");
    results.limits.push(evil.into());
    for level in &mut results.levels {
        level.level = format!("{}{evil}", level.level);
    }
    for run in &mut results.runs {
        run.level = format!("{}{evil}", run.level);
        run.status = RunStatus::Retried(evil.into());
        for wait in &mut run.waits {
            wait.wait_type.push_str(evil);
            wait.category.push_str(evil);
        }
        for file in &mut run.files {
            file.path = format!("/mnt/{evil}/f{}.ndf", file.file_id);
        }
    }
    results.environment.volumes[0].path = evil.into();
    results
}

fn sentence(results: &Results, knee: &str, next: &str) -> String {
    let level = results.level(knee).unwrap();
    let less = |ratio: f64| (1.0 - ratio) * 100.0;
    let range = level.interval.unwrap();
    format!(
        "{knee} files: {:.1}% faster than 1 ({:.1} to {:.1}); {next} is not better by more than 2%",
        less(level.ratio.unwrap()),
        less(range.high),
        less(range.low)
    )
}

fn ceiling(name: &str, unit: &str, figures: Option<(f64, f64)>, note: &str) -> Ceiling {
    Ceiling {
        name: name.into(),
        unit: unit.into(),
        limit: figures.map(|(limit, _)| limit),
        used: figures.map(|(_, used)| used),
        level: "4".into(),
        note: note.into(),
    }
}

fn order(recipe: &Recipe, rng: &mut ChaCha8Rng) -> Vec<PlannedRun> {
    let mut order = Vec::new();
    for block in 1..=recipe.blocks {
        let mut cells: Vec<(&str, Control)> = vec![(recipe.shape[0].0, Control::APrime)];
        cells.extend(
            recipe
                .shape
                .iter()
                .enumerate()
                .map(|(at, (level, _))| (*level, if at == 0 { Control::A } else { Control::None })),
        );
        for at in (1..cells.len()).rev() {
            cells.swap(at, rng.next_u32() as usize % (at + 1));
        }
        for (position, (level, control)) in cells.into_iter().enumerate() {
            order.push(PlannedRun {
                id: order.len() as u32 + 1,
                block,
                position: position as u32 + 1,
                level: level.into(),
                control,
            });
        }
    }
    order
}

fn build(recipe: &Recipe) -> Results {
    let mut rng = ChaCha8Rng::seed_from_u64(recipe.seed);
    let order = order(recipe, &mut rng);
    let all = order.len() as f64;
    let mut clock = 4.0;
    let mut runs = Vec::new();
    for planned in &order {
        let factor = recipe
            .shape
            .iter()
            .find(|(level, _)| *level == planned.level)
            .unwrap()
            .1;
        let drift = recipe.drift * f64::from(planned.id) / all;
        let hit = recipe
            .disturbed
            .filter(|(id, _)| *id == planned.id)
            .map_or(0.0, |(_, by)| by);
        let seconds = 8.4 * (factor.ln() + drift + hit + recipe.scatter * normal(&mut rng)).exp();
        let mut run = measured(recipe, planned, seconds, clock, &mut rng);
        if recipe.failing == Some(planned.level.as_str()) {
            run = Run {
                status: RunStatus::Failed("error 1105: the volume /mnt/b is full".into()),
                response: None,
                ..header(planned, clock)
            };
        }
        clock += seconds + 2.6;
        runs.push(run);
    }
    let mut results = Results {
        schema_version: SCHEMA_VERSION,
        experiment: experiment(),
        started: "2026-11-21T20:45:00Z".into(),
        finished: "2026-11-21T20:52:00Z".into(),
        duration_s: clock,
        plan: plan(recipe, order),
        environment: environment(),
        runs,
        limits: limits(),
        published: Some(published()),
        reproduce:
            "furrow lab run datafiles --files 1,2,4,8,16 --blocks 6 --seed 20261121 --total 1GB"
                .into(),
        ..Results::default()
    };
    fit::fit(&mut results);
    results
}

fn header(planned: &PlannedRun, clock: f64) -> Run {
    Run {
        id: planned.id,
        block: planned.block,
        position: planned.position,
        level: planned.level.clone(),
        control: planned.control,
        started_s: clock,
        workers: 16,
        ..Run::default()
    }
}

fn measured(
    recipe: &Recipe,
    planned: &PlannedRun,
    seconds: f64,
    clock: f64,
    rng: &mut ChaCha8Rng,
) -> Run {
    let rows = 262_144u64;
    let rate = rows as f64 / seconds;
    let files: u32 = planned.level.parse().unwrap();
    Run {
        status: RunStatus::Done,
        response: Some(seconds),
        seconds: Some(seconds),
        overhead_s: Some(2.6),
        rows: Some(rows),
        rows_per_s: Some(rate),
        commits_per_s: Some(rate),
        latency: vec![latency(rows, seconds)],
        waits: waits(seconds, rng),
        latches: vec![LatchTotal {
            class: "LOG_MANAGER".into(),
            waits: 31,
            total_us: 9000,
            max_us: 800,
        }],
        spinlocks: vec![SpinTotal {
            class: "FGCB_PRP_FILL".into(),
            collisions: 3,
            spins: 90,
            ..SpinTotal::default()
        }],
        files: file_io(recipe, files, rows),
        cpu_s: Some(seconds * 1.2),
        cpu_other_s: Some(0.05),
        series: vec![Series {
            name: "commits".into(),
            unit: "commits/s".into(),
            interval_s: 0.25,
            values: (0..(seconds * 4.0) as usize)
                .map(|at| rate * (1.0 + 0.06 * normal(rng) - if at % 9 == 8 { 0.3 } else { 0.0 }))
                .collect(),
        }],
        events: (1..=3)
            .map(|n| Event {
                at_s: f64::from(n) * 2.2,
                kind: "checkpoint".into(),
                text: String::new(),
            })
            .collect(),
        ..header(planned, clock)
    }
}

/// The conclusive sample cut down to one run of the baseline and one of four files; every list has something.
pub(crate) fn two_runs() -> Results {
    let mut results = conclusive();
    results
        .runs
        .retain(|run| run.block == 1 && (run.level == "4" || run.control == Control::A));
    results.plan.order.truncate(2);
    results
        .levels
        .retain(|level| level.level == "1" || level.level == "4");
    results.noise.residuals.truncate(2);
    for run in &mut results.runs {
        run.cell.insert("volumes".into(), "2".into());
        run.series
            .iter_mut()
            .for_each(|series| series.values.truncate(3));
        run.background_waits.push(run.waits[0].clone());
        run.waits.truncate(2);
        run.files.truncate(2);
        run.notes.push("a note".into());
    }
    results.runs[1].status = RunStatus::Retried("a deadlock".into());
    results.noise.outliers.push(Outlier {
        run: results.runs[0].id,
        score: 4.5,
        causes: vec!["a checkpoint".into()],
        ratio_without: Some(0.95),
    });
    results.deviations.push(Deviation {
        kind: "retried".into(),
        run: Some(6),
        text: "once".into(),
    });
    results
        .environment
        .settings
        .push(("recovery".into(), "full".into()));
    results
}
