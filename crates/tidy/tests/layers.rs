//! Import circles inside of crates: what may import each other is listed here, and the lists may only shrink.
//!
//! # Terms
//! A node is a source file; tests are left out. An edge leads from a file to the file that *defines* a name
//! that its code uses. A name is followed through `pub use`, so that a facade, which only passes names on, is
//! in no circle. Method calls are no edges: an `impl` may lie above the file of its type.
//!
//! # Rules
//! 1. The modules of a folder, files and folders alike, import each other in no circle ([`FOLDERS`]).
//! 2. Files import each other in few circles ([`FILES`]): a folder's `mod.rs` and its children count here.

#![expect(clippy::unwrap_used, reason = "tests fail by panicking")]

use std::collections::{BTreeMap, BTreeSet};
use std::fs;
use std::path::{Path, PathBuf};

/// Folders with modules that import each other in circles: crate, folder below `src`, modules in circles. A
/// number may only fall: a change that breaks a circle lowers it. A folder that is not listed has none.
const FOLDERS: &[(&str, &str, usize)] = &[
    // A statement runs statements, a batch runs blocks: one recursion over the syntax tree.
    ("sql", "interp", 6),
    // Expressions have subqueries, conditions have expressions: one recursion over the syntax tree.
    ("bind", "", 20),
    // Plans have expressions, expressions have plans: one recursive type. A parallel plan has a plan, and
    // visits it.
    ("exec", "", 20),
    // The syntax tree itself: a query has expressions, an expression has queries.
    ("tsql", "ast", 4),
    // A `sql_variant` holds a value, typed XML holds values.
    ("types", "", 3),
    ("types", "xml", 2),
    // A system view is a function on `Context`, and `Context` refers to all system views.
    ("context", "", 2),
    // A task has the instruments of its instance, and the instruments list the tasks.
    ("observe", "", 5),
    ("observe", "counters", 3),
    // To be broken up.
    ("backup", "run", 2),
    ("furrow", "cli", 2),
    ("furrow", "cli/sql", 3),
    ("io", "schedule", 2),
    ("lab", "results", 4),
    ("scalar", "ops", 6),
    ("soak", "engine", 2),
    ("sql", "dml", 5),
    ("tables", "catalog", 5),
    ("tables", "rows", 3),
    ("tsql", "parse", 2),
];

/// Circles between the files of a crate. A number may only fall; a crate that is not listed has none.
const FILES: &[(&str, usize)] = &[
    ("backup", 1),
    ("bind", 1),
    ("context", 1),
    ("disks", 4),
    ("engine", 1),
    ("exec", 1),
    ("experiments", 3),
    ("furrow", 3),
    ("io", 2),
    ("lab", 5),
    ("observe", 1),
    ("scalar", 5),
    ("soak", 6),
    ("sql", 4),
    ("sysviews", 5),
    ("tables", 4),
    ("tsql", 3),
    ("types", 1),
];

/// A module's place below `src`; empty for `lib.rs` and `main.rs`.
type Module = Vec<String>;
type Graph = BTreeMap<Module, BTreeSet<Module>>;

/// An import of one name.
#[derive(Debug, PartialEq)]
struct Use {
    is_public: bool,
    path: Vec<String>,
    /// The name that the file gives it.
    name: String,
}

/// The parts of a source file that the test needs.
#[derive(Debug, Default)]
struct Source {
    uses: Vec<Use>,
    defined: BTreeSet<String>,
    /// Paths in the code, imports left out.
    paths: Vec<Vec<String>>,
    words: BTreeSet<String>,
}

type Sources = BTreeMap<Module, Source>;

fn crates() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("..")
}

fn walk(dir: &Path, found: &mut Vec<PathBuf>) {
    for entry in fs::read_dir(dir).unwrap() {
        let path = entry.unwrap().path();
        if path.is_dir() {
            walk(&path, found);
        } else if path.extension().is_some_and(|e| e == "rs") {
            found.push(path);
        }
    }
}

/// Code without comments and without the tests at its end.
fn code(text: &str) -> String {
    let end = text.find("#[cfg(test)]\nmod tests {");
    let lines = text[..end.unwrap_or(text.len())].lines();
    let code = lines.map(|line| line.split("//").next().unwrap_or(""));
    inline_modules(&code.collect::<Vec<_>>().join("\n"))
}

/// `super` of a module inside of the file is the file.
fn inline_modules(code: &str) -> String {
    let mut out = String::new();
    let mut rest = code;
    while let Some(at) = rest.find("mod ").filter(|_| rest.contains("{")) {
        let end = rest[at..]
            .find(['{', ';'])
            .map_or(rest.len(), |end| at + end);
        let starts = rest[..at].ends_with(['\n', ' ', ')']) || at == 0;
        if !starts || !rest[end..].starts_with('{') {
            out.push_str(&rest[..end]);
            rest = &rest[end..];
            continue;
        }
        let mut depth = 0;
        let close = rest[end..].char_indices().find(|&(_, c)| {
            depth += i32::from(c == '{') - i32::from(c == '}');
            depth == 0
        });
        let close = close.map_or(rest.len(), |(close, _)| end + close);
        let inner = rest[end..close].replace("super::super::", "\u{1}");
        out.push_str(&rest[..end]);
        out.push_str(
            &inner
                .replace("super::", "self::")
                .replace('\u{1}', "super::"),
        );
        rest = &rest[close..];
    }
    out + rest
}

fn is_word(c: char) -> bool {
    c.is_alphanumeric() || c == '_'
}

fn segments(path: &str) -> Vec<String> {
    path.split("::")
        .map(|part| part.trim().to_owned())
        .collect()
}

/// The items of a use tree: `a::{b, c::d}` is `a::b` and `a::c::d`.
fn flatten(tree: &str, before: &str, into: &mut Vec<String>) {
    let (mut depth, mut start) = (0, 0);
    let mut parts = Vec::new();
    for (at, c) in tree.char_indices() {
        match c {
            '{' => depth += 1,
            '}' => depth -= 1,
            ',' if depth == 0 => {
                parts.push(&tree[start..at]);
                start = at + 1;
            }
            _ => {}
        }
    }
    parts.push(&tree[start..]);
    for part in parts.iter().map(|p| p.trim()).filter(|p| !p.is_empty()) {
        match part.split_once('{') {
            Some((head, rest)) => {
                let inner = rest.rsplit_once('}').map_or(rest, |(inner, _)| inner);
                flatten(inner, &format!("{before}{head}"), into);
            }
            None => into.push(format!("{before}{part}")),
        }
    }
}

/// The imports of a file, and its code without them.
fn uses(code: &str) -> (Vec<Use>, String) {
    let (mut found, mut rest) = (Vec::new(), String::new());
    let mut lines = code.lines();
    while let Some(line) = lines.next() {
        let words = line.trim_start();
        let tree = words.split_once("use ").filter(|(before, _)| {
            before.is_empty() || before.starts_with("pub") && before.ends_with(' ')
        });
        let Some((before, tree)) = tree else {
            rest.push_str(line);
            rest.push('\n');
            continue;
        };
        let mut tree = tree.to_owned();
        while !tree.contains(';') {
            let Some(next) = lines.next() else { break };
            tree.push_str(next);
        }
        let mut paths = Vec::new();
        flatten(tree.split(';').next().unwrap_or(""), "", &mut paths);
        for path in paths {
            let (path, alias) = match path.split_once(" as ") {
                Some((path, alias)) => (path.to_owned(), Some(alias.trim().to_owned())),
                None => (path, None),
            };
            let mut path = segments(&path);
            if path.len() > 1 && path.last().is_some_and(|last| last == "self") {
                path.pop();
            }
            let name = alias.unwrap_or_else(|| path.last().cloned().unwrap_or_default());
            found.push(Use {
                is_public: !before.is_empty(),
                path,
                name,
            });
        }
    }
    (found, rest)
}

/// All paths of two segments and more in a text.
fn paths(code: &str) -> Vec<Vec<String>> {
    let is_path = |c: char| is_word(c) || c == ':';
    let mut found = BTreeSet::new();
    let mut at = 0;
    while let Some(start) = code[at..].find(is_word).map(|start| at + start) {
        let end = code[start..]
            .find(|c| !is_path(c))
            .map_or(code.len(), |end| start + end);
        let path = code[start..end].trim_end_matches(':');
        let before = &code[..start];
        let foreign = before.ends_with(['$', ':']) || before.ends_with("pub(in ");
        if path.contains("::") && !foreign {
            found.insert(segments(path));
        }
        at = end.max(start + 1);
    }
    found.into_iter().collect()
}

fn defined(code: &str) -> BTreeSet<String> {
    const KINDS: [&str; 10] = [
        "fn",
        "struct",
        "enum",
        "trait",
        "type",
        "const",
        "static",
        "union",
        "mod",
        "macro_rules",
    ];
    let words: Vec<&str> = code
        .split(|c| !is_word(c))
        .filter(|word| !word.is_empty())
        .collect();
    let names = words.windows(2).filter(|pair| KINDS.contains(&pair[0]));
    names.map(|pair| pair[1].to_owned()).collect()
}

fn read(text: &str) -> Source {
    let (uses, rest) = uses(&code(text));
    Source {
        uses,
        defined: defined(&rest),
        words: rest.split(|c| !is_word(c)).map(str::to_owned).collect(),
        paths: paths(&rest),
    }
}

/// The module of a file; `None` for tests.
fn module_of(src: &Path, path: &Path) -> Option<Module> {
    let short = path.strip_prefix(src).unwrap().with_extension("");
    let parts = short
        .components()
        .map(|part| part.as_os_str().to_string_lossy().into_owned());
    let mut parts: Module = parts.collect();
    let is_root = parts.len() == 1 && ["lib", "main"].contains(&parts[0].as_str());
    if is_root || parts.last().is_some_and(|last| last == "mod") {
        parts.pop();
    }
    (!parts.iter().any(|part| part.contains("tests"))).then_some(parts)
}

/// A path from the crate's root; `None` for what another crate has, or the language.
fn from_root(sources: &Sources, module: &Module, path: &[String]) -> Option<Vec<String>> {
    let mut base = module.clone();
    let rest = match path.first()?.as_str() {
        "crate" => {
            base.clear();
            &path[1..]
        }
        "self" => &path[1..],
        "super" => {
            let up = path.iter().take_while(|part| *part == "super").count();
            base.truncate(module.len().checked_sub(up)?);
            &path[up..]
        }
        child => {
            let mut inner = module.clone();
            inner.push(child.to_owned());
            sources.get(&inner)?;
            path
        }
    };
    base.extend(rest.iter().cloned());
    Some(base)
}

/// What a path names.
#[derive(Debug, PartialEq)]
enum Named {
    /// A file as a whole.
    Module,
    /// An item that this file defines.
    Item(Module),
}

fn resolve(sources: &Sources, path: &[String], depth: u8) -> Option<Named> {
    let mut module = Module::new();
    let mut rest = path;
    while let Some((first, others)) = rest.split_first() {
        module.push(first.clone());
        if !sources.contains_key(&module) {
            module.pop();
            break;
        }
        rest = others;
    }
    let Some((name, inner)) = rest.split_first() else {
        return Some(Named::Module);
    };
    let source = sources.get(&module)?;
    if name == "*" || depth == 0 {
        return Some(Named::Item(module));
    }
    let onward = |target: &[String]| {
        let mut target = from_root(sources, &module, target)?;
        target.extend(inner.iter().cloned());
        (target != path).then(|| resolve(sources, &target, depth - 1))?
    };
    if let Some(import) = source.uses.iter().find(|import| import.name == *name) {
        return onward(&import.path);
    }
    if !source.defined.contains(name) {
        for import in source.uses.iter().filter(|import| import.name == "*") {
            let mut target = import.path.clone();
            target.pop();
            target.push(name.clone());
            let target = from_root(sources, &module, &target);
            let found = target.filter(|target| target != path);
            let found = found.and_then(|target| resolve(sources, &target, depth - 1));
            if let Some(Named::Item(file)) = found
                && sources
                    .get(&file)
                    .is_some_and(|source| source.defined.contains(name))
            {
                return Some(Named::Item(file));
            }
        }
    }
    Some(Named::Item(module))
}

fn graph(sources: &Sources) -> Graph {
    let mut graph = Graph::new();
    for (module, source) in sources {
        let mut targets = Vec::new();
        let mut modules: BTreeMap<&str, Vec<String>> = BTreeMap::new();
        for import in &source.uses {
            let Some(path) = from_root(sources, module, &import.path) else {
                continue;
            };
            // A facade re-exports a name; it uses the name if its code contains the name.
            if import.is_public && !source.words.contains(&import.name) {
                continue;
            }
            if resolve(sources, &path, 12) == Some(Named::Module) {
                modules.insert(&import.name, path.clone());
            }
            targets.push(path);
        }
        for path in &source.paths {
            let imported = path.first().and_then(|first| modules.get(first.as_str()));
            targets.extend(match imported {
                Some(base) => Some([base, &path[1..]].concat()),
                None => from_root(sources, module, path),
            });
        }
        let edges = graph.entry(module.clone()).or_default();
        let files = targets
            .iter()
            .filter_map(|path| match resolve(sources, path, 12)? {
                Named::Item(file) => Some(file),
                Named::Module => None,
            });
        edges.extend(files.filter(|file| file != module));
    }
    graph
}

fn reach(graph: &Graph, from: &Module) -> BTreeSet<Module> {
    let mut seen = BTreeSet::new();
    let mut open: Vec<Module> = graph[from].iter().cloned().collect();
    while let Some(next) = open.pop() {
        if seen.insert(next.clone()) {
            open.extend(graph.get(&next).into_iter().flatten().cloned());
        }
    }
    seen
}

/// The circles of a graph: sets of nodes that all reach each other.
fn circles(graph: &Graph) -> BTreeSet<BTreeSet<Module>> {
    let reached: BTreeMap<&Module, BTreeSet<Module>> = graph
        .keys()
        .map(|node| (node, reach(graph, node)))
        .collect();
    let circle = |node: &Module| {
        let there = &reached[node];
        let both = |other: &&Module| reached.get(other).is_some_and(|back| back.contains(node));
        there
            .iter()
            .filter(both)
            .cloned()
            .collect::<BTreeSet<Module>>()
    };
    let in_one = graph.keys().filter(|node| reached[*node].contains(*node));
    in_one.map(circle).collect()
}

/// The graph between the modules of one folder.
fn siblings(graph: &Graph, folder: &Module) -> Graph {
    let child = |module: &Module| {
        let is_inside = module.len() > folder.len() && module.starts_with(folder);
        is_inside.then(|| module[..=folder.len()].to_vec())
    };
    let mut between = Graph::new();
    for (from, targets) in graph {
        let Some(from) = child(from) else { continue };
        let edges = between.entry(from.clone()).or_default();
        edges.extend(targets.iter().filter_map(child).filter(|to| *to != from));
    }
    between
}

fn sources(src: &Path) -> Sources {
    let mut files = Vec::new();
    walk(src, &mut files);
    let of = |path: &PathBuf| {
        let is_second_root = path.ends_with("src/main.rs") && src.join("lib.rs").is_file();
        let module = module_of(src, path).filter(|_| !is_second_root)?;
        Some((module, read(&fs::read_to_string(path).unwrap())))
    };
    files.iter().filter_map(of).collect()
}

fn shown(circle: &BTreeSet<Module>) -> String {
    let names: Vec<String> = circle.iter().map(|module| module.join("/")).collect();
    names.join(", ")
}

/// Each crate with its graph of files.
fn all_graphs() -> Vec<(String, Graph)> {
    let paths = fs::read_dir(crates())
        .unwrap()
        .map(|entry| entry.unwrap().path());
    let paths = paths.filter(|path| path.join("src").is_dir());
    let name = |path: &Path| path.file_name().unwrap().to_string_lossy().into_owned();
    paths
        .map(|path| (name(&path), graph(&sources(&path.join("src")))))
        .collect()
}

#[test]
fn the_modules_of_a_folder_import_each_other_in_no_circle_that_is_not_listed() {
    let mut faults = Vec::new();
    for (name, graph) in all_graphs() {
        let folders: BTreeSet<Module> = graph
            .keys()
            .filter(|m| !m.is_empty())
            .map(|m| m[..m.len() - 1].to_vec())
            .collect();
        for folder in folders {
            let circles = circles(&siblings(&graph, &folder));
            let count: usize = circles.iter().map(BTreeSet::len).sum();
            let place = folder.join("/");
            let listed = FOLDERS
                .iter()
                .find(|row| (row.0, row.1) == (name.as_str(), place.as_str()));
            let most = listed.map_or(0, |row| row.2);
            if count > most {
                let circles: Vec<String> = circles.iter().map(shown).collect();
                faults.push(format!(
                    "(\"{name}\", \"{place}\", {count}), {most} at most: {circles:?}"
                ));
            }
        }
    }
    assert!(faults.is_empty(), "{}", faults.join("\n"));
}

#[test]
fn files_import_each_other_in_fewer_circles_than_before() {
    let allowed: BTreeMap<&str, usize> = FILES.iter().copied().collect();
    let mut faults = Vec::new();
    for (name, graph) in all_graphs() {
        let circles = circles(&graph);
        let most = allowed.get(name.as_str()).copied().unwrap_or(0);
        if circles.len() > most {
            let count = circles.len();
            let circles: Vec<String> = circles.iter().map(shown).collect();
            faults.push(format!(
                "(\"{name}\", {count}), {most} at most: {circles:?}"
            ));
        }
    }
    assert!(faults.is_empty(), "{}", faults.join("\n"));
}

/// Sources of a crate from texts: module path and text.
fn made(texts: &[(&str, &str)]) -> Sources {
    let module = |path: &str| {
        path.split('/')
            .filter(|p| !p.is_empty())
            .map(str::to_owned)
            .collect()
    };
    texts
        .iter()
        .map(|(path, text)| (module(path), read(text)))
        .collect()
}

fn circles_of(texts: &[(&str, &str)]) -> Vec<String> {
    circles(&graph(&made(texts))).iter().map(shown).collect()
}

#[test]
fn a_facade_that_passes_names_on_is_in_no_circle() {
    let root = ("", "mod a;\nmod b;\npub use a::One;\npub use b::Two;\n");
    let a = ("a", "use crate::Two;\npub struct One(Two);\n");
    let b = ("b", "pub struct Two;\n");
    assert_eq!(circles_of(&[root, a, b]), [""; 0]);
    // The same names, and `b` needs what `a` defines: by way of the facade, but a circle.
    let b = ("b", "use super::One;\npub struct Two(Box<One>);\n");
    assert_eq!(circles_of(&[root, a, b]), ["a, b"]);
}

#[test]
fn a_parent_that_defines_what_its_child_imports_is_in_a_circle_with_it() {
    let parent = (
        "f",
        "mod child;\nuse child::Part;\npub struct Whole(Part);\n",
    );
    let child = (
        "f/child",
        "use super::Whole;\npub struct Part;\nimpl Whole {}\n",
    );
    assert_eq!(circles_of(&[("", "mod f;"), parent, child]), ["f, f/child"]);
    // The same with paths in the code instead of imports.
    let parent = ("f", "mod child;\npub struct Whole(child::Part);\n");
    let child = ("f/child", "pub struct Part;\nimpl super::Whole {}\n");
    assert_eq!(circles_of(&[("", "mod f;"), parent, child]), ["f, f/child"]);
}

#[test]
fn a_module_inside_of_a_file_is_the_file() {
    let parent = (
        "f",
        "mod child;\nuse child::Part;\nstatic LIMIT: Part = Part;\n",
    );
    let child = (
        "f/child",
        "static LIMIT: u8 = 1;\nmod inner {\n    use super::LIMIT;\n}\npub struct Part;\n",
    );
    assert_eq!(circles_of(&[("", "mod f;"), parent, child]), [""; 0]);
}

#[test]
fn folders_are_in_a_circle_when_their_files_are_not() {
    let texts = [
        ("", "mod a;\nmod b;\n"),
        ("a/x", "use crate::b::y::Y;\n"),
        ("a/z", "pub struct Z;\n"),
        ("b/y", "use crate::a::z::Z;\npub struct Y(Z);\n"),
        ("a", "mod x;\npub mod z;\n"),
        ("b", "pub mod y;\n"),
    ];
    let graph = graph(&made(&texts));
    assert_eq!(circles(&graph).len(), 0);
    let between: Vec<String> = circles(&siblings(&graph, &Module::new()))
        .iter()
        .map(shown)
        .collect();
    assert_eq!(between, ["a, b"]);
}

#[test]
fn paths_are_read_from_use_trees_and_from_code() {
    let (found, rest) =
        uses("use crate::a::{b, c::{D, e as f}};\nfn g() -> crate::h::I { $crate::j() }\n");
    let shown: Vec<String> = found.iter().map(|import| import.path.join("::")).collect();
    assert_eq!(shown, ["crate::a::b", "crate::a::c::D", "crate::a::c::e"]);
    assert_eq!(found[2].name, "f");
    assert_eq!(paths(&rest), [["crate", "h", "I"]]);
}
