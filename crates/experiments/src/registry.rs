//! Every experiment there is: one line each.

use crate::plugin::Entry;
use crate::{
    ab, arrays, backup, check, datafiles, disk, proportional_fill, restore, scan, tempdb, users,
};

/// The experiments, in the order in which they are listed.
pub static REGISTRY: &[Entry] = &[
    Entry::of::<datafiles::DataFiles>(),
    Entry::of::<ab::Ab>(),
    Entry::of::<proportional_fill::ProportionalFill>(),
    Entry::of::<scan::Scan>(),
    Entry::of::<disk::Disk>(),
    Entry::of::<arrays::Arrays>(),
    Entry::of::<backup::Backup>(),
    Entry::of::<restore::Restore>(),
    Entry::of::<check::Check>(),
    Entry::of::<users::Users>(),
    Entry::of::<tempdb::Tempdb>(),
];

/// The experiment of this name.
pub fn entry(name: &str) -> Option<&'static Entry> {
    REGISTRY.iter().find(|entry| entry.name == name)
}

#[cfg(test)]
mod tests {
    use super::*;
    use clap::Command;

    #[test]
    fn every_name_is_there_once_and_every_grammar_holds_together() {
        for (n, entry) in REGISTRY.iter().enumerate() {
            assert!(REGISTRY[..n].iter().all(|other| other.name != entry.name));
            assert!(entry.question.contains('?'), "{}", entry.question);
            (entry.options)(Command::new(entry.name)).debug_assert();
        }
        assert!(entry("no such experiment").is_none());
    }

    #[test]
    fn options_are_recorded_as_typed_and_give_the_same_experiment_again() {
        let typed = "--files 1,4 --total 64MB --volume /tmp --connections 3";
        let start = Start::new("/out".into(), "/here".into(), true);
        let entry = entry("datafiles").unwrap();
        let words: Vec<String> = typed.split(' ').map(str::to_owned).collect();
        let (experiment, recorded) = entry.make(&words, &start).unwrap();
        assert_eq!(recorded, [&["--quick".to_owned()], &words[..]].concat());
        let plan = experiment.plan(7);
        let mut plan = furrow_lab::plan::Plan {
            arguments: recorded,
            directory: "/here".into(),
            ..plan
        };
        let again = entry.of_plan(&plan, "/out".into()).unwrap();
        assert_eq!(again.settings(), plan.settings);
        plan.settings.insert("total".into(), "1GB".into());
        let refused = entry.of_plan(&plan, "/out".into()).err().unwrap();
        assert!(refused.to_string().contains("another plan"), "{refused}");
        plan.version = 1;
        let refused = entry.of_plan(&plan, "/out".into()).err().unwrap();
        assert!(refused.to_string().contains("earlier version"), "{refused}");
    }

    #[test]
    fn an_experiment_that_has_begun_goes_on_where_a_new_one_would_be_refused() {
        let words: Vec<String> = ["--users", "1,50", "--pace", "spec", "--seconds", "60"]
            .map(str::to_owned)
            .to_vec();
        let entry = entry("users").unwrap();
        let mut start = Start::new("/out".into(), "/here".into(), false);
        assert!(entry.make(&words, &start).is_err());
        start.is_resumed = true;
        let (experiment, recorded) = entry.make(&words, &start).unwrap();
        let plan = furrow_lab::plan::Plan {
            arguments: recorded,
            directory: "/here".into(),
            ..experiment.plan(7)
        };
        assert!(entry.of_plan(&plan, "/out".into()).is_ok());
    }

    use crate::plugin::Start;
}
