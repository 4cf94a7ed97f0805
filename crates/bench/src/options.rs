//! `--name value`, in the form of the peers' harness.

use serde_json::{Map, Value, json};
use std::collections::BTreeMap;
use std::path::PathBuf;

/// The options of a run.
#[derive(Debug)]
pub(crate) struct Options {
    words: BTreeMap<String, String>,
}

const KNOWN: &[&str] = &[
    "secs",
    "threads",
    "batch",
    "keys",
    "payload",
    "mb",
    "ws",
    "reads_per_txn",
    "dir",
    "cold",
    "pool",
    "prefault",
    "par",
    "log",
    "logged",
    "files",
    "keep",
    "warm_ms",
    "waits",
    "engine",
];

impl Options {
    pub(crate) fn parse(words: &[String]) -> Result<Options, String> {
        let mut found = BTreeMap::new();
        let mut words = words.iter().peekable();
        while let Some(word) = words.next() {
            let name = word
                .strip_prefix("--")
                .ok_or_else(|| format!("{word} is no option"))?;
            if !KNOWN.contains(&name) {
                return Err(format!("there is no option --{name}"));
            }
            let value = words.next_if(|next| !next.starts_with("--"));
            found.insert(
                name.to_string(),
                value.cloned().unwrap_or_else(|| "1".to_string()),
            );
        }
        let options = Options { words: found };
        for name in KNOWN
            .iter()
            .filter(|name| !["keys", "dir", "engine"].contains(name))
        {
            options.read(name).transpose()?;
        }
        Ok(options)
    }

    fn read(&self, name: &str) -> Option<Result<u64, String>> {
        let text = self.words.get(name)?.replace('_', "");
        let (digits, factor) = match text.as_bytes().last() {
            Some(b'k') => (&text[..text.len() - 1], 1e3),
            Some(b'm') => (&text[..text.len() - 1], 1e6),
            Some(b'g') => (&text[..text.len() - 1], 1e9),
            _ => (text.as_str(), 1.0),
        };
        let number = digits
            .parse::<f64>()
            .ok()
            .filter(|n| n.is_finite() && *n >= 0.0);
        Some(
            number
                .map(|n| (n * factor) as u64)
                .ok_or_else(|| format!("--{name} {text} is no number")),
        )
    }

    pub(crate) fn number(&self, name: &str, usual: u64) -> u64 {
        self.read(name).and_then(Result::ok).unwrap_or(usual)
    }

    pub(crate) fn is(&self, name: &str, word: &str) -> bool {
        self.words.get(name).is_some_and(|found| found == word)
    }

    pub(crate) fn dir(&self) -> PathBuf {
        self.words
            .get("dir")
            .map_or_else(|| PathBuf::from("/tmp/peers-data/furrow"), PathBuf::from)
    }

    /// The beginning of a result: the workload and its options.
    pub(crate) fn head(&self, workload: &str) -> Map<String, Value> {
        let mut head = Map::new();
        head.insert("w".into(), json!(workload));
        head.insert("engine".into(), json!("furrow"));
        for (name, value) in self.words.iter().filter(|(name, _)| *name != "dir") {
            let value = value
                .parse::<i64>()
                .map_or_else(|_| json!(value), |n| json!(n));
            head.insert(name.clone(), value);
        }
        head
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn parse(line: &str) -> Result<Options, String> {
        let words: Vec<String> = line.split_whitespace().map(str::to_string).collect();
        Options::parse(&words)
    }

    #[test]
    fn options_are_read_as_the_other_harness_reads_them() {
        let options = parse("--secs 4 --ws 1m --keys rand --cold --payload 1_000").unwrap();
        assert_eq!(options.number("secs", 10), 4);
        assert_eq!(options.number("ws", 5), 1_000_000);
        assert_eq!(options.number("cold", 0), 1);
        assert_eq!(options.number("payload", 100), 1000);
        assert_eq!(options.number("threads", 16), 16);
        assert!(options.is("keys", "rand"));
        let head = options.head("w1");
        assert_eq!(
            (&head["w"], &head["engine"], &head["secs"]),
            (&json!("w1"), &json!("furrow"), &json!(4))
        );
        for wrong in ["secs 4", "--sec 4", "--secs four"] {
            assert!(parse(wrong).is_err(), "{wrong}");
        }
    }
}
