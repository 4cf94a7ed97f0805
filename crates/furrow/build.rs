//! Records the source commit and the compiler version in the program, for its reports.
//!
//! A build without git, or from an archive, still succeeds: the commit is then unknown, unless the packager
//! gives it by `FURROW_COMMIT`.

use std::hash::{DefaultHasher, Hash, Hasher};
use std::path::Path;
use std::process::Command;

fn main() {
    println!("cargo::rerun-if-env-changed=FURROW_COMMIT");
    let commit = std::env::var("FURROW_COMMIT").ok().or_else(commit);
    println!(
        "cargo::rustc-env=FURROW_COMMIT={}",
        commit.unwrap_or_default()
    );
    let rustc = std::env::var("RUSTC").unwrap_or_else(|_| "rustc".to_string());
    let compiler = output(Command::new(rustc).arg("--version"));
    println!(
        "cargo::rustc-env=FURROW_COMPILER={}",
        compiler.unwrap_or_default()
    );
}

/// The commit of the working tree. Where a tracked source differs, `-dirty` is behind it and a digest of the
/// differences, so that two such builds have different names.
fn commit() -> Option<String> {
    let root = Path::new(env!("CARGO_MANIFEST_DIR")).join("../..");
    let git = |words: &[&str]| output(Command::new("git").current_dir(&root).args(words));
    // A directory that was unpacked into another repository must not get that repository's commit.
    let top = git(&["rev-parse", "--show-toplevel"])?;
    if Path::new(&top).canonicalize().ok() != root.canonicalize().ok() {
        return None;
    }
    // A commit changes the branch's reference, a checkout changes HEAD, and an edited source makes the tree
    // differ from both.
    let branch = git(&["symbolic-ref", "-q", "HEAD"]);
    for name in ["HEAD"].into_iter().chain(branch.as_deref()) {
        watch(&git(&["rev-parse", "--git-path", name]).map(|path| root.join(path))?);
    }
    for part in root.join("crates").read_dir().ok()?.flatten() {
        watch(&part.path().join("src"));
    }
    watch(&root.join("Cargo.lock"));
    watch(Path::new("build.rs"));
    let hash = git(&["rev-parse", "--short=12", "HEAD"])?;
    let changed = git(&["status", "--porcelain", "--untracked-files=no"]);
    Some(match changed {
        Some(files) if !files.is_empty() => {
            format!("{hash}-dirty-{:08x}", differences(&root) >> 32)
        }
        _ => hash,
    })
}

/// A digest of what the program is built from and the commit has not: changes of tracked files, and new
/// files.
fn differences(root: &Path) -> u64 {
    let git = |words: &[&str]| {
        let done = Command::new("git").current_dir(root).args(words).output();
        done.map(|done| done.stdout).unwrap_or_default()
    };
    let mut digest = DefaultHasher::new();
    let built_from = ["--", "crates", "Cargo.toml", "Cargo.lock"];
    git(&[&["diff", "--binary", "HEAD"], &built_from[..]].concat()).hash(&mut digest);
    let new = git(&["ls-files", "--others", "--exclude-standard", "--", "crates"]);
    for name in String::from_utf8_lossy(&new).lines() {
        (name, git(&["hash-object", "--", name])).hash(&mut digest);
    }
    digest.finish()
}

/// Runs this script again when the path changes.
fn watch(path: &Path) {
    if path.exists() {
        println!("cargo::rerun-if-changed={}", path.display());
    }
}

/// The first line that a program prints; `None` if the program is missing or fails.
fn output(command: &mut Command) -> Option<String> {
    let done = command.output().ok().filter(|done| done.status.success())?;
    let text = String::from_utf8(done.stdout).ok()?;
    Some(text.lines().next().unwrap_or_default().trim().to_string())
}
