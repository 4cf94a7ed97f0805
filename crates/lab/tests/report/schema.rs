//! `results.json` stays readable: by us, by last year's program's files, and never silently wrong.

use crate::samples;
use crate::validate::offences;
use furrow_lab::results::{Results, ResultsError, SCHEMA_VERSION, json_schema};
use serde_json::Value;

/// A file of version 1 as it was first written. It never changes; a new version gets a file of its own.
const VERSION_1: &str = include_str!("results-v1.json");

/// Every path of `old` that `new` hasn't got, or has with another value.
fn lost(old: &Value, new: &Value, path: &str, out: &mut Vec<String>) {
    match (old, new) {
        (Value::Object(old), Value::Object(new)) => {
            for (key, value) in old {
                let path = format!("{path}.{key}");
                match new.get(key) {
                    None => out.push(path),
                    Some(other) => lost(value, other, &path, out),
                }
            }
        }
        (Value::Array(old), Value::Array(new)) if old.len() == new.len() => {
            for (at, (old, new)) in old.iter().zip(new).enumerate() {
                lost(old, new, &format!("{path}[{at}]"), out);
            }
        }
        _ if old == new => {}
        _ => out.push(path.to_owned()),
    }
}

#[test]
fn a_file_of_version_1_is_read_without_loss() {
    let results = Results::from_json(VERSION_1).unwrap();
    assert_eq!(
        results.level("4").unwrap().verdict.unwrap().word(),
        "better"
    );
    let old: Value = serde_json::from_str(VERSION_1).unwrap();
    let new: Value = serde_json::from_str(&results.to_json().unwrap()).unwrap();
    let mut list = Vec::new();
    lost(&old, &new, "", &mut list);
    assert!(list.is_empty(), "lost or changed: {list:#?}");
    assert!(results.problems().is_empty(), "{:?}", results.problems());
}

#[test]
fn the_sample_of_version_1_covers_the_schema() {
    // What today's writer makes of a full result must be in the stored file too: an optional field that was
    // added since is fine in a list of its own here, one that was renamed is not.
    let added_since = [
        ".sections",
        ".environment.memory_free_bytes",
        ".environment.compiler",
        ".environment.volumes[0].write_cache",
        ".environment.volumes[1].write_cache",
        ".environment.volumes[0].alignment",
        ".environment.volumes[1].alignment",
        ".environment.volumes[0].alignment_warnings",
        ".environment.volumes[1].alignment_warnings",
        ".noise.mde_before.effect_down",
        ".noise.mde_after.effect_down",
        ".levels[0].cost[0].averaging",
        ".levels[1].cost[0].averaging",
    ];
    let old: Value = serde_json::from_str(VERSION_1).unwrap();
    let new = serde_json::to_value(samples::two_runs()).unwrap();
    let mut list = Vec::new();
    lost(&new, &old, "", &mut list);
    list.retain(|path| !added_since.contains(&path.as_str()));
    assert!(list.is_empty(), "not in the stored file: {list:#?}");
}

#[test]
fn what_is_written_is_read_back_to_the_bit() {
    for (name, results) in crate::every() {
        let text = results.to_json().unwrap();
        assert!(text.ends_with("}\n"));
        assert_eq!(Results::from_json(&text).unwrap(), results, "{name}");
    }
}

#[test]
fn unknown_fields_are_passed_over_and_a_later_version_is_refused() {
    let mut value: Value = serde_json::from_str(VERSION_1).unwrap();
    value["something_new"] = 1.into();
    value["runs"][0]["something_new"] = "x".into();
    assert!(Results::from_json(&value.to_string()).is_ok());
    value["schema_version"] = (SCHEMA_VERSION + 1).into();
    // Even if nothing else of it can be read, the error names the version.
    value["runs"] = "another shape".into();
    match Results::from_json(&value.to_string()) {
        Err(ResultsError::Version { found }) => assert_eq!(found, SCHEMA_VERSION + 1),
        other => panic!("{other:?}"),
    }
    assert!(matches!(
        Results::from_json("{"),
        Err(ResultsError::Shape(_))
    ));
}

#[test]
fn offences_against_the_invariants_are_named() {
    let reported = |change: &dyn Fn(&mut Results)| {
        let mut results = samples::two_runs();
        change(&mut results);
        results.problems().join("; ")
    };
    assert_eq!(reported(&|_| {}), "");
    assert!(reported(&|r| r.runs[1].id = r.runs[0].id).contains("occurs twice"));
    assert!(reported(&|r| r.runs[0].level = "5".into()).contains("unknown level '5'"));
    assert!(reported(&|r| r.runs[0].response = None).contains("no response"));
    assert!(reported(&|r| r.runs[0].response = Some(f64::NAN)).contains("no response"));
    assert!(reported(&|r| r.runs[0].started_s = f64::INFINITY).contains("not finite"));
    assert!(reported(&|r| r.levels[0].is_baseline = false).contains("0 levels are the baseline"));
    assert!(reported(&|r| r.levels[1].is_baseline = true).contains("2 levels are the baseline"));
}

#[test]
fn what_is_written_fits_the_published_schema() {
    let schema: Value = serde_json::from_str(&json_schema()).unwrap();
    for (name, results) in crate::every() {
        let value = serde_json::to_value(&results).unwrap();
        let found = offences(&schema, &value);
        assert!(found.is_empty(), "{name}: {found:#?}");
    }
}

#[test]
fn what_does_not_fit_the_schema_is_found() {
    let schema: Value = serde_json::from_str(&json_schema()).unwrap();
    let reported = |change: &dyn Fn(&mut Value)| {
        let mut value = serde_json::to_value(samples::two_runs()).unwrap();
        change(&mut value);
        offences(&schema, &value).join("; ")
    };
    assert_eq!(reported(&|_| {}), "");
    assert!(reported(&|v| v["runs"][0]["id"] = "one".into()).contains("$.runs[0].id"));
    assert!(reported(&|v| v["runs"][0]["id"] = (-1).into()).contains("below"));
    assert!(reported(&|v| v["answer"]["badge"] = "splendid".into()).contains("$.answer.badge"));
    assert!(reported(&|v| v["extra"] = 1.into()).contains("extra is not in the schema"));
    let gone = reported(&|v| {
        v["noise"].as_object_mut().unwrap().remove("outliers");
    });
    assert!(gone.contains("\"outliers\" is missing"), "{gone}");
}
