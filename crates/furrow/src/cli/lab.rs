//! `furrow lab`: lists experiments, runs them, goes on with them, explains what they would do.

mod outputs;
mod start;

use super::args::{LabCommand, RunArguments};
use super::{FAILED, Failure, INTERRUPTED, REFUSED, USAGE, interrupt};
use furrow_io::{SystemVolume, Volume};
use furrow_lab::datafiles::{self, DataFiles};
use furrow_lab::environment::Capture;
use furrow_lab::experiment::Experiment;
use furrow_lab::journal::SystemClock;
use furrow_lab::plan::{PlannedRun, TimeModel, explain, power_sentence};
use furrow_lab::runner::{Runner, RunnerError, RunnerSetup, Stop};
use furrow_lab::terminal::{Live, Mode, ProgressView, Style, summary};
use start::Start;
use std::cell::RefCell;
use std::io::Stderr;
use std::path::Path;
use std::rc::Rc;
use std::sync::Arc;

/// Name and question of each experiment.
const EXPERIMENTS: &[(&str, &str)] = &[(
    datafiles::NAME,
    "Do multiple data files make a difference for an insert load? (16 sessions, 1 to 16 files)",
)];

/// Runs a command of the lab.
pub(super) fn run(command: &LabCommand) -> Result<u8, Failure> {
    match command {
        LabCommand::List => {
            for (name, question) in EXPERIMENTS {
                println!("{name:<12} {question}");
            }
            println!(
                "\nfurrow lab run {} --quick   takes about a minute",
                datafiles::NAME
            );
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
            "there is no experiment {name:?}; there is: {}",
            names.join(", ")
        );
        return Err(Failure::new(USAGE, text));
    }
    let volume: Arc<dyn Volume> = Arc::new(SystemVolume::new());
    let mut start = match &options.resume {
        Some(dir) => Start::again(volume.as_ref(), dir)?,
        None => Start::fresh(volume.as_ref(), options)?,
    };
    if options.explain {
        print!("{}", explained(&start));
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
    let capture = Capture::start(&start.experiment.volumes());
    let view = view(options, &start.experiment);
    let mut runner = begin(setup, &mut start, &view)?;
    let shown = Rc::clone(&view);
    start
        .experiment
        .watch(Box::new(move |live: &Live| shown.borrow_mut().live(live)));
    let went = runner.run(&mut start.experiment, &mut |progress| {
        view.borrow_mut().step(progress);
    });
    let stop = went.map_err(|error| failure(&error, &start.out_dir))?;
    start.experiment.take_in(runner.log().history());
    let mut results = runner.results(&start.experiment, capture.finish());
    datafiles::compare_with_published(&mut results);
    outputs::write(volume.as_ref(), &start.out_dir, &results)?;
    clear_line(&view);
    print!(
        "{}",
        summary(&results, Style::of_stdout(), Some(&start.out_dir))
    );
    ended(stop, &start.out_dir)
}

type View = Rc<RefCell<ProgressView<Stderr>>>;

fn view(options: &RunArguments, experiment: &DataFiles) -> View {
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
        experiment.subject(),
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
            // Space is looked for where files will lie: the directory has to be there before.
            let made = make_directory(&setup)?;
            let volume = Arc::clone(&setup.volume);
            let text = format!(
                "{} runs in {} blocks, seed {}; {}",
                plan.runs().len(),
                plan.blocks,
                plan.seed,
                power_sentence(&plan, datafiles::ASSUMED_CV)
            );
            let created = Runner::create(setup, plan, &start.experiment);
            if created.is_err() && made {
                // Nothing was begun. A directory that is not empty stays.
                let _ = volume.remove(&out_dir);
            }
            let runner = created.map_err(about)?;
            let mut view = view.borrow_mut();
            view.note(&text);
            view.note(&format!(
                "journal, results and report: {}",
                out_dir.display()
            ));
            Ok(runner)
        }
        None => {
            let runner = Runner::resume(setup, &mut start.experiment).map_err(about)?;
            let history = runner.log().history();
            let settled = history.runs.values().filter(|run| run.is_settled()).count();
            let text = format!(
                "going on: {settled} of {} runs are done",
                history.plan.runs().len()
            );
            view.borrow_mut().note(&text);
            Ok(runner)
        }
    }
}

/// Makes the output directory; `false` when it was there.
fn make_directory(setup: &RunnerSetup) -> Result<bool, Failure> {
    let dir = &setup.out_dir;
    if setup.volume.exists(dir).unwrap_or(false) {
        return Ok(false);
    }
    let made = setup.volume.create_dir(dir);
    made.map_err(|e| {
        Failure::new(
            FAILED,
            format!("{} cannot be made: {}", dir.display(), e.kind),
        )
    })?;
    Ok(true)
}

fn explained(start: &Start) -> String {
    let Some(plan) = &start.plan else {
        return String::new();
    };
    let forecast = |run: &PlannedRun| start.experiment.forecast(&run.cell);
    let mut text = explain(plan, TimeModel::Assumed, datafiles::ASSUMED_CV, forecast);
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
        RunnerError::Guard(_) => Failure::new(REFUSED, error.to_string()),
        RunnerError::Plan(_) => Failure::new(USAGE, error.to_string()),
        RunnerError::Journal(_) => Failure::new(FAILED, error.to_string()),
        _ => Failure::new(
            FAILED,
            format!("{error}; when it is mended, go on with: {again}"),
        ),
    }
}

fn ended(stop: Stop, out_dir: &Path) -> Result<u8, Failure> {
    let go_on = format!("go on with: furrow lab run --resume {}", out_dir.display());
    match stop {
        Stop::Finished => Ok(0),
        Stop::Deadline => {
            println!("{}; {go_on}", stop.words());
            Ok(0)
        }
        Stop::Cancelled => Err(Failure::new(INTERRUPTED, format!("interrupted; {go_on}"))),
        Stop::Failures => Err(Failure::new(
            FAILED,
            format!(
                "{}, the reasons are in journal.jsonl; {go_on}",
                stop.words()
            ),
        )),
        Stop::Space => Err(Failure::new(REFUSED, format!("{}; {go_on}", stop.words()))),
    }
}
