//! Pages and texts made of made-up experiments, and what must hold for each of them.

mod fit;
mod html;
mod samples;
mod schema;
mod text;

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
    ]
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

/// Prints the sample that a schema's stored file is made of, once for each schema version.
#[test]
#[ignore = "prints a file for the tests of a new schema version"]
fn print_two_runs() {
    println!("{}", samples::two_runs().to_json().unwrap());
}
