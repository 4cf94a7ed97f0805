//! `furrow lab`: lists, runs, resumes and explains experiments.

mod condition;
mod notify;
mod outputs;
mod start;
mod typed;

pub(super) use typed::{Chosen, NotifyArguments, RunArguments};

use super::args::LabCommand;
use super::{FAILED, Failure, INTERRUPTED, REFUSED, USAGE, interrupt, print};
use furrow_experiments::{Entry, REGISTRY};
use furrow_io::{SystemVolume, Volume};
use furrow_lab::environment::Capture;
use furrow_lab::experiment::Experiment;
use furrow_lab::journal::SystemClock;
use furrow_lab::plan::{ASSUMED_CV, PlannedRun, TimeModel, explain, power_sentence};
use furrow_lab::report::words::shell_word;
use furrow_lab::results::{Deviation, Results};
use furrow_lab::runner::{Runner, RunnerError, RunnerSetup, Stop, check_plan};
use furrow_lab::terminal::{Live, Mode, ProgressView, Style, summary};
use notify::{Heart, Notifier};
use start::Start;
use std::cell::RefCell;
use std::io::Stderr;
use std::path::Path;
use std::rc::Rc;
use std::sync::Arc;
use typed::ViewArguments;

/// Runs a command of the lab.
pub(super) fn run(command: &LabCommand) -> Result<u8, Failure> {
    match command {
        LabCommand::List => {
            let line = |entry: &Entry| format!("{:<18} {}\n", entry.name, entry.question);
            let mut list: String = REGISTRY.iter().map(line).collect();
            if let Some(first) = REGISTRY.first() {
                list.push_str(&format!(
                    "\nfurrow lab run {} --quick   takes about a minute\n",
                    first.name
                ));
            }
            print(&list)?;
            Ok(0)
        }
        LabCommand::Run(options) => run_experiment(options),
        LabCommand::Notify(options) => notify::test(&options.addresses),
        LabCommand::Experiment(chosen) => run_experiment(&RunArguments::of(chosen.clone())),
    }
}

fn run_experiment(options: &RunArguments) -> Result<u8, Failure> {
    let volume: Arc<dyn Volume> = Arc::new(SystemVolume::new());
    let start = Start::of(volume.as_ref(), options)?;
    let common = options.experiment.as_ref().map(|chosen| &chosen.common);
    if common.is_some_and(|common| common.explain) {
        print(&explained(&start, volume.as_ref()))?;
        return Ok(0);
    }
    let shown = common.map_or(&options.view, |common| &common.view);
    let (name, out_dir) = (start.experiment.subject().name, start.out_dir.clone());
    let notifier = Notifier::new(&shown.notify, &name, &out_dir.display().to_string());
    let went = carry_out(options, start, &volume, &notifier.heart());
    match &went {
        Ok((_, results)) => notifier.ended(&results.answer.sentence),
        Err(failure) => notifier.failed(&failure.text),
    }
    let (code, results) = went?;
    match options.fail_if() {
        Some(condition) => condition.judge(&results).map(|()| code),
        None => Ok(code),
    }
}

/// Program, version and build, for the journal: runs of another build are those of another program.
fn program() -> String {
    let profile = if cfg!(debug_assertions) { "debug" } else { "" };
    let mut build = vec![env!("FURROW_COMMIT"), env!("FURROW_COMPILER"), profile];
    build.retain(|part| !part.is_empty());
    match build.is_empty() {
        true => format!("furrow {}", env!("CARGO_PKG_VERSION")),
        false => format!(
            "furrow {} ({})",
            env!("CARGO_PKG_VERSION"),
            build.join(", ")
        ),
    }
}

/// Runs an experiment to its end or until it is stopped, and writes its files.
fn carry_out(
    options: &RunArguments,
    mut start: Start,
    volume: &Arc<dyn Volume>,
    heart: &Heart,
) -> Result<(u8, Results), Failure> {
    let common = options.experiment.as_ref().map(|chosen| &chosen.common);
    let cancel = interrupt::flag(interrupt::OF_A_RUN)?;
    let setup = RunnerSetup {
        volume: Arc::clone(volume),
        out_dir: start.out_dir.clone(),
        clock: Arc::new(SystemClock::new()),
        cancel,
        program: program(),
    };
    let capture = Capture::start(&start.experiment.volumes())
        .of_build(env!("FURROW_COMMIT"), env!("FURROW_COMPILER"));
    let shown = common.map_or(&options.view, |common| &common.view);
    let view = view(shown, start.experiment.as_ref());
    let mut runner = begin(setup, &mut start, &view)?;
    if let Some(blocks) = options.blocks {
        let extended = runner.extend(blocks, start.experiment.as_ref());
        extended.map_err(|error| failure(&error, &start.out_dir))?;
    }
    let shown = Rc::clone(&view);
    let pulse = heart.clone();
    runner.watch_live(Box::new(move |live: &Live| {
        pulse.live(live);
        shown.borrow_mut().live(live);
    }));
    let went = runner.run(start.experiment.as_mut(), &mut |progress| {
        heart.step();
        view.borrow_mut().step(progress);
    });
    let stop = went.map_err(|error| failure(&error, &start.out_dir))?;
    let results = runner.results(start.experiment.as_ref(), capture.finish());
    outputs::write(volume.as_ref(), &start.out_dir, &results)?;
    clear_line(&view);
    let text = summary(&results, Style::of_stdout(), Some(&start.out_dir));
    print(&text)?;
    let fixed = start.experiment.fixed_text();
    let fixed = fixed.filter(|_| stop == Stop::Failures);
    let go_on = match (runner.has_open_run(), fixed) {
        (true, Some(fixed)) => format!(
            "; {}; where the cause was elsewhere, {}",
            begin_new(fixed),
            go_on(options, &start.out_dir)
        ),
        (true, None) => format!("; {}", go_on(options, &start.out_dir)),
        (false, _) => String::new(),
    };
    let code = ended(stop, &results, &go_on)?;
    Ok((code, results))
}

type View = Rc<RefCell<ProgressView<Stderr>>>;

fn view(options: &ViewArguments, experiment: &dyn Experiment) -> View {
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
        experiment.labelled_subject(),
    )))
}

/// Clears the progress line before the summary is printed.
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
            let power = power_sentence(&plan, ASSUMED_CV);
            let text = match plan.search {
                true => format!("{power}; seed {}", plan.seed),
                false => format!(
                    "{} runs in {} blocks, seed {}; {power}",
                    plan.runs().len(),
                    plan.blocks,
                    plan.seed
                ),
            };
            let runner = Runner::create(setup, plan, start.experiment.as_ref()).map_err(about)?;
            let mut view = view.borrow_mut();
            view.note(&text);
            view.note(&format!(
                "journal, results and report: {}",
                out_dir.display()
            ));
            Ok(runner)
        }
        None => {
            let runner = Runner::resume(setup, start.experiment.as_mut()).map_err(about)?;
            let history = runner.log().history();
            let settled = history.runs.values().filter(|run| run.is_settled()).count();
            let text = format!(
                "going on: {settled} of {} runs of the plan {} done",
                history.plan.likely_runs().len(),
                if settled == 1 { "is" } else { "are" }
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
    let forecast = |run: &PlannedRun| start.experiment.as_ref().forecast(&run.cell);
    let mut text = explain(plan, TimeModel::Assumed, ASSUMED_CV, forecast);
    match check_plan(volume, plan, start.experiment.as_ref()) {
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
        RunnerError::Statement { .. } => Failure::new(
            FAILED,
            format!("{error}; {}", begin_new("settings and scripts")),
        ),
        // A wrong result is not mended by another attempt.
        RunnerError::Journal(_) | RunnerError::Violation(_) => {
            Failure::new(FAILED, error.to_string())
        }
        _ => Failure::new(
            FAILED,
            format!("{error}; when it is mended, go on with: {again}"),
        ),
    }
}

/// What to do where a text of the user's own is wrong.
fn begin_new(fixed: &str) -> String {
    format!(
        "{fixed} are part of the plan: to change them, begin a new experiment, with another --out"
    )
}

/// How to go on with an experiment that is not finished.
fn go_on(options: &RunArguments, out_dir: &Path) -> String {
    let condition = options.fail_if().map_or_else(String::new, |condition| {
        format!(" --fail-if {}", shell_word(&condition.to_string()))
    });
    format!(
        "go on with: furrow lab run --resume {}{condition}",
        out_dir.display()
    )
}

/// The exit code. `go_on` follows a text where a resume would run anything.
fn ended(stop: Stop, results: &Results, go_on: &str) -> Result<u8, Failure> {
    let failed = results.runs.iter().rev().find(|run| !run.status.is_good());
    let failed = failed.map(|run| {
        let reason = run.status.reason().unwrap_or("unknown");
        format!("run {} failed: {reason}", run.id)
    });
    let is_failed = |run: &furrow_lab::results::Run| {
        matches!(run.status, furrow_lab::results::RunStatus::Failed(_))
    };
    let mut found = results.deviations.iter();
    let is_wrong = |deviation: &&Deviation| deviation.kind == "violation";
    if let (Stop::Finished | Stop::Deadline, Some(wrong)) = (stop, found.find(is_wrong)) {
        let text = format!("a wrong result was found: {}{go_on}", wrong.text);
        return Err(Failure::new(FAILED, text));
    }
    match stop {
        Stop::Finished => match failed {
            None => Ok(0),
            Some(why) => {
                let text = format!("not every run has figures: {why}{go_on}");
                Err(Failure::new(FAILED, text))
            }
        },
        // Other than a run that was not begun, one that failed has nothing to do with the time.
        Stop::Deadline if results.runs.iter().any(is_failed) => Err(Failure::new(
            FAILED,
            format!("{}; {}{go_on}", stop.words(), failed.unwrap_or_default()),
        )),
        Stop::Deadline => {
            print(&format!("{}{go_on}\n", stop.words()))?;
            Ok(0)
        }
        Stop::Cancelled => Err(Failure::new(INTERRUPTED, format!("interrupted{go_on}"))),
        Stop::Failures => Err(Failure::new(
            FAILED,
            format!("{}: {}{go_on}", stop.words(), failed.unwrap_or_default()),
        )),
        Stop::Space | Stop::Volume => {
            Err(Failure::new(REFUSED, format!("{}{go_on}", stop.words())))
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_program_of_a_journal_is_a_build_and_not_a_version() {
        let program = program();
        for part in [
            env!("CARGO_PKG_VERSION"),
            env!("FURROW_COMMIT"),
            env!("FURROW_COMPILER"),
        ] {
            assert!(program.contains(part), "{program}: {part}");
        }
    }

    #[test]
    fn a_wrong_result_that_was_found_before_a_resume_still_fails_the_experiment() {
        let mut results = Results::default();
        assert_eq!(ended(Stop::Finished, &results, "").ok(), Some(0));
        results.deviations.push(Deviation {
            kind: "violation".to_owned(),
            run: None,
            text: "condition 3".to_owned(),
        });
        for stop in [Stop::Finished, Stop::Deadline] {
            let failure = ended(stop, &results, "").unwrap_err();
            assert_eq!(failure.code, FAILED, "{stop:?}");
        }
    }
}
