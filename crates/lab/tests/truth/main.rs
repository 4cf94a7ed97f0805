//! Compares the verdicts with experiments whose truth is known, with fixed seeds.
//!
//! Each test counts how often the analysis is right and fails where chance does not explain what lies beyond
//! the limit. `cargo run --release -p furrow-lab --example truth` counts thousands.

mod questions;
mod trial;

use questions::Share;

fn assert_all_hold(shares: &[Share]) {
    for share in shares {
        println!("{share}");
    }
    let failed: Vec<String> = shares
        .iter()
        .filter(|share| !share.holds())
        .map(ToString::to_string)
        .collect();
    assert!(failed.is_empty(), "{}", failed.join("\n"));
}

#[test]
fn experiments_without_an_effect_name_one_at_most_one_time_in_twenty() {
    assert_all_hold(&questions::false_alarms(30));
}

#[test]
fn intervals_hold_together_also_where_the_spread_grows_with_the_level() {
    assert_all_hold(&questions::growing_spread(150));
}

#[test]
fn a_planted_effect_is_found_by_nine_in_ten_of_those_that_promised_to_see_it() {
    assert_all_hold(&questions::planted(60));
}

#[test]
fn the_knee_that_is_named_is_the_right_one_nine_times_in_ten() {
    assert_all_hold(&questions::knees(30));
}

#[test]
fn a_search_finds_one_of_the_best_in_a_third_of_the_runs() {
    assert_all_hold(&questions::searches(30));
}

#[test]
fn no_more_than_is_needed_is_recommended_with_any_noise() {
    assert_all_hold(&questions::needless(30));
}
