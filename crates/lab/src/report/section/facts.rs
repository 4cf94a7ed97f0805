//! Environment, limits of the answer, and the way back to the raw figures.

use super::fact_list;
use super::plan::settings;
use crate::environment::VolumeFacts;
use crate::report::words::{bytes, percent};
use crate::results::Results;
use maud::{Markup, html};

fn known(value: Option<&String>) -> String {
    value.cloned().unwrap_or_default()
}

/// The machine, its volumes and the build.
pub(in crate::report) fn environment(results: &Results) -> Markup {
    let found = &results.environment;
    html! {
        p { (super::answer::machine(results)) }
        @if let Some(host) = &found.host { p { "Host " (host) } }
        (fact_list(&[
            ("Processor", known(found.cpu_model.as_ref())),
            ("Processors", found.cpu_count.map(|count| count.to_string()).unwrap_or_default()),
            ("Memory", found.memory_bytes.map(bytes).unwrap_or_default()),
            ("Free at the start", found.memory_free_bytes.map(bytes).unwrap_or_default()),
            ("System", known(found.os.as_ref())),
            ("Hypervisor", known(found.hypervisor.as_ref())),
            ("Frequency governor", known(found.governor.as_ref())),
            ("Stolen by the hypervisor", found.steal_percent.map(|p| percent(p / 100.0)).unwrap_or_default()),
            ("I/O", known(found.io_engine.as_ref())),
            ("Engine", known(found.engine_version.as_ref())),
            ("Commit", known(found.engine_commit.as_ref())),
            ("Compiler", known(found.compiler.as_ref())),
            ("Build profile", known(found.build_profile.as_ref())),
        ]))
        @for volume in &found.volumes { (volume_facts(volume)) }
        @if !found.settings.is_empty() {
            h3 { "Settings that differ from the defaults" }
            (settings(&found.settings))
        }
    }
}

fn volume_facts(volume: &VolumeFacts) -> Markup {
    let turns = volume
        .rotational
        .map(|yes| if yes { "yes" } else { "no" }.to_owned());
    html! {
        h3 { "Volume " code { (volume.path) } }
        (fact_list(&[
            ("File system", known(volume.file_system.as_ref())),
            ("Mount options", known(volume.mount_options.as_ref())),
            ("Device", known(volume.device.as_ref())),
            ("Says it turns", turns.unwrap_or_default()),
            ("I/O scheduler", known(volume.scheduler.as_ref())),
            ("Write cache", known(volume.write_cache.as_ref())),
            ("Size", volume.total_bytes.map(bytes).unwrap_or_default()),
            ("Free at the start", volume.free_bytes.map(bytes).unwrap_or_default()),
        ]))
        @if let Some(mode) = &volume.io_mode { p { "I/O mode: " (mode) } }
        @if let Some(alignment) = &volume.alignment { p { "Alignment: " (alignment) } }
        @for warning in &volume.alignment_warnings { p class="label" { "Warning: " (warning) } }
    }
}

/// What the experiment leaves open.
pub(in crate::report) fn limits(results: &Results) -> Markup {
    html! {
        @if results.limits.is_empty() { p { "Nothing was noted." } } @else {
            ul { @for limit in &results.limits { li { (limit) } } }
        }
    }
}

/// Raw figures and the command that makes them again.
pub(in crate::report) fn raw(
    results: &Results,
    csv: Option<&str>,
    left_out: Option<&str>,
) -> Markup {
    html! {
        p class="label" { "Run it again" }
        pre class="copy" { code { (results.reproduce) } }
        p {
            @if let Some(csv) = csv {
                a href=(csv) download={ (results.experiment.name) "-runs.csv" } { "runs.csv" }
                ": one line a run. "
            } @else {
                "runs.csv, one line a run, is too large for this page; it lies beside it. "
            }
            span id="json-link" {
                "The whole result as JSON (schema version " (results.schema_version)
                ") stands in this page's source, in the element with the id "
                code { "results" } "."
            }
        }
        @if let Some(what) = left_out {
            p class="small" {
                "Left out of the page to keep it small: " (what) ". results.json beside it has them."
            }
        }
        p class="small" {
            "MB are 1,048,576 bytes. Furrow is not affiliated with Microsoft; SQL Server is its trademark."
        }
    }
}
