//! `furrow lab`: lists experiments, runs them, goes on with them, explains what they would do.

mod choice;
mod outputs;
mod start;

use super::args::{LabCommand, RunArguments};
use super::{FAILED, Failure, INTERRUPTED, REFUSED, USAGE, interrupt, print};
use choice::Choice;
use furrow_io::{SystemVolume, Volume};
use furrow_lab::datafiles;
use furrow_lab::environment::Capture;
use furrow_lab::fill;
use furrow_lab::journal::SystemClock;
use furrow_lab::plan::{ASSUMED_CV, PlannedRun, TimeModel, explain, power_sentence};
use furrow_lab::results::Results;
use furrow_lab::runner::{Runner, RunnerError, RunnerSetup, Stop, check_plan};
use furrow_lab::terminal::{Live, Mode, ProgressView, Style, summary};
use start::Start;
use std::cell::RefCell;
use std::io::Stderr;
use std::path::Path;
use std::rc::Rc;
use std::sync::Arc;

/// Name and question of each experiment.
const EXPERIMENTS: &[(&str, &str)] = &[
    (
        datafiles::NAME,
        "Do multiple data files make a difference for an insert load? (16 sessions, 1 to 16 files)",
    ),
    (
        fill::NAME,
        "Where do extents go when files are equal, unequal, or one is added, and what does it cost?",
    ),
];

/// Runs a command of the lab.
pub(super) fn run(command: &LabCommand) -> Result<u8, Failure> {
    match command {
        LabCommand::List => {
            let line = |(name, question): &(&str, &str)| format!("{name:<18} {question}\n");
            let mut list: String = EXPERIMENTS.iter().map(line).collect();
            list.push_str(&format!(
                "\nfurrow lab run {} --quick   takes about a minute\n",
                datafiles::NAME
            ));
            print(&list)?;
            Ok(0)
        }
        LabCommand::Run(options) => run_experiment(options),
    }
}

fn run_experiment(options: &RunArguments) -> Result<u8, Failure> {
    if let Some(name) = &options.experiment
        && !EXPERIMENTS.iter().any(|(known, _)| known == name)
    {
        let names: Vec<&str> = EXPERIMENTS.iter().map(|(name, _)| *name).collect();
        let text = format!(
            "there is no experiment '{name}'; there is: {}",
            names.join(", ")
        );
        return Err(Failure::new(USAGE, text));
    }
    let volume: Arc<dyn Volume> = Arc::new(SystemVolume::new());
    let mut start = match &options.resume {
        Some(dir) => Start::again(volume.as_ref(), dir, options.blocks)?,
        None => Start::fresh(volume.as_ref(), options)?,
    };
    if options.explain {
        print(&explained(&start, volume.as_ref()))?;
        return Ok(0);
    }
    let cancel = interrupt::flag()?;
    let setup = RunnerSetup {
        volume: Arc::clone(&volume),
        out_dir: start.out_dir.clone(),
        clock: Arc::new(SystemClock::new()),
        cancel,
        program: format!("furrow {}", env!("CARGO_PKG_VERSION")),
    };
    let capture = Capture::start(&start.experiment.volumes())
        .of_build(env!("FURROW_COMMIT"), env!("FURROW_COMPILER"));
    let view = view(options, &start.experiment);
    let mut runner = begin(setup, &mut start, &view)?;
    if options.resume.is_some()
        && let Some(blocks) = options.blocks
    {
        let extended = runner.extend(blocks, start.experiment.as_dyn());
        extended.map_err(|error| failure(&error, &start.out_dir))?;
    }
    let shown = Rc::clone(&view);
    start
        .experiment
        .watch(Box::new(move |live: &Live| shown.borrow_mut().live(live)));
    let went = runner.run(start.experiment.as_dyn_mut(), &mut |progress| {
        view.borrow_mut().step(progress);
    });
    let stop = went.map_err(|error| failure(&error, &start.out_dir))?;
    start.experiment.take_in(runner.log().history());
    let mut results = runner.results(start.experiment.as_dyn(), capture.finish());
    if let Choice::DataFiles(_) = start.experiment {
        datafiles::compare_with_published(&mut results);
    }
    outputs::write(volume.as_ref(), &start.out_dir, &results)?;
    clear_line(&view);
    let text = summary(&results, Style::of_stdout(), Some(&start.out_dir));
    print(&text)?;
    ended(stop, &results, &start.out_dir)
}

type View = Rc<RefCell<ProgressView<Stderr>>>;

fn view(options: &RunArguments, experiment: &Choice) -> View {
    let mode = match (options.plain, options.json_progress) {
        (true, _) => Mode::Plain,
        (_, true) => Mode::Json,
        _ => Mode::of_stderr(),
    };
    let width = Style::of_stdout().width;
    Rc::new(RefCell::new(ProgressView::new(
        std::io::stderr(),
        mode,
        width,
        experiment.as_dyn().subject(),
    )))
}

/// The line that is written over goes before the summary comes.
fn clear_line(view: &View) {
    let width = Style::of_stdout().width;
    let quiet = ProgressView::new(std::io::stderr(), Mode::Quiet, width, Default::default());
    view.replace(quiet).finish();
}

fn begin(setup: RunnerSetup, start: &mut Start, view: &View) -> Result<Runner, Failure> {
    let out_dir = setup.out_dir.clone();
    let about = |error: RunnerError| failure(&error, &out_dir);
    match start.plan.take() {
        Some(plan) => {
            let text = format!(
                "{} runs in {} blocks, seed {}; {}",
                plan.runs().len(),
                plan.blocks,
                plan.seed,
                power_sentence(&plan, ASSUMED_CV)
            );
            let runner = Runner::create(setup, plan, start.experiment.as_dyn()).map_err(about)?;
            let mut view = view.borrow_mut();
            view.note(&text);
            view.note(&format!(
                "journal, results and report: {}",
                out_dir.display()
            ));
            Ok(runner)
        }
        None => {
            let runner = Runner::resume(setup, start.experiment.as_dyn_mut()).map_err(about)?;
            let history = runner.log().history();
            let settled = history.runs.values().filter(|run| run.is_settled()).count();
            let text = format!(
                "going on: {settled} of {} runs of the plan are done",
                history.plan.runs().len()
            );
            view.borrow_mut().note(&text);
            Ok(runner)
        }
    }
}

fn explained(start: &Start, volume: &dyn Volume) -> String {
    let Some(plan) = &start.plan else {
        return String::new();
    };
    let forecast = |run: &PlannedRun| start.experiment.as_dyn().forecast(&run.cell);
    let mut text = explain(plan, TimeModel::Assumed, ASSUMED_CV, forecast);
    match check_plan(volume, plan, start.experiment.as_dyn()) {
        Ok(checks) => {
            for check in checks {
                text.push_str(&format!("Space: {check}\n"));
            }
        }
        Err(error) => text.push_str(&format!("It would be refused: {error}\n")),
    }
    text.push_str(&format!(
        "It would leave its files in {}\n",
        start.out_dir.display()
    ));
    text
}

fn failure(error: &RunnerError, out_dir: &Path) -> Failure {
    let again = format!("furrow lab run --resume {}", out_dir.display());
    match error {
        RunnerError::Guard(furrow_lab::guard::GuardError::Space { .. }) => Failure::new(
            REFUSED,
            format!("{error}; make room, give a smaller --total, or other volumes by --volume DIR"),
        ),
        RunnerError::Guard(furrow_lab::guard::GuardError::Memory { .. }) => Failure::new(
            REFUSED,
            format!("{error}; give a smaller --pool (a quarter of --total where none is given)"),
        ),
        RunnerError::Guard(_) => Failure::new(REFUSED, error.to_string()),
        RunnerError::Plan(_) => Failure::new(USAGE, error.to_string()),
        RunnerError::Journal(_) => Failure::new(FAILED, error.to_string()),
        _ => Failure::new(
            FAILED,
            format!("{error}; when it is mended, go on with: {again}"),
        ),
    }
}

fn ended(stop: Stop, results: &Results, out_dir: &Path) -> Result<u8, Failure> {
    let go_on = format!("go on with: furrow lab run --resume {}", out_dir.display());
    let failed = results.runs.iter().rev().find(|run| !run.status.is_good());
    let failed = failed.map(|run| {
        let reason = run.status.reason().unwrap_or("unknown");
        format!("run {} failed: {reason}", run.id)
    });
    match stop {
        Stop::Finished => match failed {
            None => Ok(0),
            Some(why) => {
                let text = format!("not every run has figures: {why}; {go_on}");
                Err(Failure::new(FAILED, text))
            }
        },
        Stop::Deadline => {
            print(&format!("{}; {go_on}\n", stop.words()))?;
            Ok(0)
        }
        Stop::Cancelled => Err(Failure::new(INTERRUPTED, format!("interrupted; {go_on}"))),
        Stop::Failures => Err(Failure::new(
            FAILED,
            format!("{}: {}; {go_on}", stop.words(), failed.unwrap_or_default()),
        )),
        Stop::Space => Err(Failure::new(REFUSED, format!("{}; {go_on}", stop.words()))),
    }
}
