//! Golden scripts: each batch's tree, its text, or its errors, as committed.

mod support;

use furrow_tsql::{Options, parse, print};
use support::GOLDENS;
use support::compact::{batches, outcome};

#[test]
fn every_script_gives_what_was_committed() {
    let mut faults = Vec::new();
    for (name, script, committed) in GOLDENS {
        let got = outcome(script);
        let pairs = got.lines().zip(committed.lines());
        let differs = pairs.enumerate().find(|(_, (now, then))| now != then);
        if let Some((n, (now, then))) = differs {
            faults.push(format!("{name}.out:{}\n now:  {now}\n then: {then}", n + 1));
        } else if got.lines().count() != committed.lines().count() {
            faults.push(format!("{name}.out: not as long as committed"));
        }
    }
    let faults = faults.join("\n");
    assert!(
        faults.is_empty(),
        "{faults}\nif this is meant: tests/golden/update.sh"
    );
}

#[test]
fn printing_gives_the_same_tree_again() {
    let mut count = 0;
    for (name, script, _) in GOLDENS {
        for batch in batches(script) {
            let Ok(tree) = parse(batch, Options::default()) else {
                continue;
            };
            let text = print(&tree);
            match parse(&text, Options::default()) {
                Ok(again) => assert_eq!(again, tree, "{name}: {batch}\n{text}"),
                Err(errors) => panic!("{name}: {batch}\n{text}\n{errors:?}"),
            }
            count += tree.statements.len();
        }
    }
    assert!(count > 400, "only {count} statements in the golden scripts");
}

#[test]
fn options_of_a_cursor_keep_their_order_when_they_are_printed() {
    for options in [
        "SCROLL INSENSITIVE CURSOR",
        "INSENSITIVE SCROLL CURSOR",
        "SCROLL CURSOR",
    ] {
        let text = format!("DECLARE c {options} FOR SELECT 1");
        let tree = parse(&text, Options::default()).unwrap();
        assert_eq!(
            parse(&print(&tree), Options::default()).unwrap(),
            tree,
            "{text}"
        );
    }
}

#[test]
fn an_argument_named_like_a_hint_stays_an_argument_when_it_is_printed() {
    let tree = parse(
        "SELECT * FROM f((NOLOCK)) AS x, t(NOLOCK)",
        Options::default(),
    )
    .unwrap();
    let text = print(&tree);
    assert!(text.contains("f((NOLOCK))"), "{text}");
    assert_eq!(parse(&text, Options::default()).unwrap(), tree, "{text}");
}
