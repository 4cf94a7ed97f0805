//! The table of ordered faults in docs/testing.md is the one in the code. `FURROW_BLESS=1` rewrites it.

use furrow_io::mutation::Mutation;
use furrow_io::{SystemVolume, Volume, write_file};
use furrow_soak::mutations::{NOTICED_BY, noticed_by, table};
use furrow_soak::share::PARTS;
use std::path::Path;

const DOCUMENT: &str = concat!(env!("CARGO_MANIFEST_DIR"), "/../../docs/testing.md");
const TEXT: &str = include_str!("../../../docs/testing.md");
const BEGIN: &str = "<!-- faults -->\n";
const END: &str = "<!-- end of faults -->\n";

#[test]
fn every_fault_stands_in_the_document_with_the_part_that_notices_it() {
    let (before, rest) = TEXT.split_once(BEGIN).unwrap();
    let (written, after) = rest.split_once(END).unwrap();
    if std::env::var_os("FURROW_BLESS").is_some() {
        let volume = SystemVolume::new();
        let text = [before, BEGIN, &table(), END, after].concat();
        volume.remove(Path::new(DOCUMENT)).unwrap();
        write_file(&volume, Path::new(DOCUMENT), text.as_bytes()).unwrap();
        return;
    }
    assert_eq!(written, table(), "FURROW_BLESS=1 rewrites it");
}

#[test]
fn every_fault_is_noticed_by_a_part_of_the_share() {
    assert_eq!(NOTICED_BY.len(), Mutation::ALL.len());
    for mutation in Mutation::ALL {
        let part = noticed_by(*mutation);
        assert!(
            part.is_some_and(|name| PARTS.iter().any(|part| part.0 == name)),
            "{}: {part:?}",
            mutation.name()
        );
    }
}
