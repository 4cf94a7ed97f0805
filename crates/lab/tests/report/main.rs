//! Pages and texts of invented experiments, and what must hold for each of them.

#![expect(clippy::unwrap_used, reason = "a helper of tests fails by panicking")]

mod fit;
mod html;
mod parts;
mod samples;
mod schema;
mod text;
mod validate;

#[path = "../synthetic/mod.rs"]
#[expect(dead_code, reason = "the runner's tests use the rest")]
mod synthetic;

use furrow_lab::results::Results;

/// Every sample by name.
fn every() -> Vec<(&'static str, Results)> {
    vec![
        ("conclusive", samples::conclusive()),
        ("noisy", samples::noisy()),
        ("failed", samples::one_level_failed()),
        ("uneven", samples::sixteen_uneven_files()),
        ("hostile", samples::hostile()),
        ("empty", Results::default()),
        ("analysed", analysed(0.006, 6)),
        ("analysed-noisy", analysed(0.08, 3)),
    ]
}

/// What the runner and its statistics make of a modelled machine.
fn analysed(cv: f64, blocks: u32) -> Results {
    let mut experiment = synthetic::Synthetic::published(cv, 7);
    let mut plan = experiment.plan();
    plan.blocks = blocks;
    synthetic::run_all(&mut experiment, plan).unwrap().1
}

/// Prints one page, to be looked at in a browser:
/// `FURROW_SAMPLE=noisy cargo test -p furrow-lab --test report -- --ignored --nocapture print_page`.
#[test]
#[ignore = "prints a page for the eye"]
fn print_page() {
    let wanted = std::env::var("FURROW_SAMPLE").unwrap_or_else(|_| "conclusive".to_owned());
    for (name, results) in every().into_iter().filter(|(name, _)| *name == wanted) {
        println!("<!-- {name} -->\n{}", furrow_lab::report::render(&results));
    }
}

/// Prints the sample that a schema's stored file is written from, once for each schema version.
#[test]
#[ignore = "prints a file for the tests of a new schema version"]
fn print_two_runs() {
    println!("{}", samples::two_runs().to_json().unwrap());
}
