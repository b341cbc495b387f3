//! No two rooms of a member depend on each other in a circle.
//!
//! A room is a module that the root of a member declares. Guarantees: `use` lines and paths that start
//! with `crate` or `super` count; test code does not. A name that the root exports counts as its home.
//! Leaves to others: what a member may depend on (`Cargo.toml`, and the test below).

use std::collections::{BTreeMap, BTreeSet};
use std::path::{Path, PathBuf};
use std::sync::LazyLock;

use regex::Regex;

use crate::tree;

/// The folder of each member's sources.
const MEMBERS: [&str; 7] = [
    "src",
    "runtime/src",
    "kubesim/src",
    "controlplane/src",
    "procstat/src",
    "loadgen/src",
    "xtask/src",
];

/// What stands in the root itself: a module of no name.
const ROOT: &str = "(root)";

/// From one room to another, with a place for each.
type Edges = BTreeMap<String, BTreeMap<String, String>>;

#[test]
fn no_two_rooms_depend_on_each_other_in_a_circle() {
    let mut circles = Vec::new();
    for member in MEMBERS {
        let edges = edges(member);
        if let Some(circle) = circle(&edges) {
            circles.push(format!("{member}: {}", describe(&edges, &circle)));
        }
    }
    assert!(circles.is_empty(), "\n{}", circles.join("\n"));
}

#[test]
fn the_libraries_depend_on_no_other_member() {
    let ours = [
        "tare",
        "tare-runtime",
        "kubesim",
        "controlplane",
        "tare-procstat",
        "loadgen",
        "xtask",
    ];
    for member in ["runtime", "kubesim", "procstat"] {
        let manifest = tree::text(&Path::new(member).join("Cargo.toml"));
        let manifest: toml::Table = manifest.parse().expect("a manifest");
        let dependencies = manifest["dependencies"].as_table().expect("a table");
        for name in ours {
            let depends = dependencies.contains_key(name);
            assert!(!depends, "{member}/Cargo.toml: depends on {name}");
        }
    }
}

/// The dependences between the rooms below a folder of sources.
fn edges(member: &str) -> Edges {
    let sources = Sources::read(member);
    let mut edges = Edges::new();
    for (module, file, code) in &sources.files {
        // What the root exports is no dependence of the root.
        let code = match module.is_empty() {
            true => EXPORT.replace_all(code, ""),
            false => code.into(),
        };
        let from = module.first().map_or(ROOT, String::as_str);
        for (ups, name) in references(&code) {
            let to = sources.room(module, ups, &name);
            if to != from {
                let place = format!("{}: {name}", file.display());
                let targets = edges.entry(from.to_owned()).or_default();
                targets.entry(to).or_insert(place);
            }
        }
    }
    edges
}

static EXPORT: LazyLock<Regex> = LazyLock::new(|| {
    Regex::new(r"pub(?:\(\w+\))? use (?:crate::|self::)?(\w+)::([^;]*);")
        .expect("a regular expression")
});
static MODULE: LazyLock<Regex> = LazyLock::new(|| {
    Regex::new(r"(?m)^(?:pub(?:\(\w+\))? )?mod (\w+)").expect("a regular expression")
});
static TEST_MODULE: LazyLock<Regex> = LazyLock::new(|| {
    Regex::new(r"#\[cfg\(test\)\]\s*(?:pub(?:\(\w+\))? )?mod (\w+);").expect("a regular expression")
});
static PATH: LazyLock<Regex> = LazyLock::new(|| {
    Regex::new(r"\b(crate|super)((?:::super)*)::(\{|\w+)").expect("a regular expression")
});
static NAME: LazyLock<Regex> = LazyLock::new(|| Regex::new(r"\w+").expect("a regular expression"));

/// A source without its comments and its tests, which stand at the end.
fn code(text: &str) -> String {
    let lines = text
        .lines()
        .filter(|line| !line.trim_start().starts_with("//"));
    let code = lines.collect::<Vec<_>>().join("\n");
    let end = code.find("#[cfg(test)]\nmod tests {");
    code[..end.unwrap_or(code.len())].to_owned()
}

/// What paths that begin with `crate` or `super` name first: `None` for the root of the crate, else how many modules up.
fn references(code: &str) -> Vec<(Option<usize>, String)> {
    let mut all = Vec::new();
    for found in PATH.captures_iter(code) {
        let ups = (&found[1] == "super").then(|| 1 + found[2].matches("super").count());
        let name = &found[3];
        if name != "{" {
            all.push((ups, name.to_owned()));
            continue;
        }
        // The first name of each part of the group.
        let (mut depth, mut part) = (0, String::new());
        let group = &code[found.get(3).expect("it is there").end()..];
        for c in group.chars() {
            depth += i32::from(c == '{') - i32::from(c == '}');
            if depth < 0 || (depth == 0 && c == ',') {
                all.extend(NAME.find(&part).map(|name| (ups, name.as_str().to_owned())));
                part.clear();
            }
            if depth < 0 {
                break;
            }
            part.push(c);
        }
    }
    all
}

/// The files of one member and what its root makes known.
struct Sources {
    /// Module, file, and what is in it.
    files: Vec<(Vec<String>, PathBuf, String)>,
    rooms: BTreeSet<String>,
    /// Names that the root exports, and the room of each.
    exported: BTreeMap<String, String>,
}

impl Sources {
    fn read(folder: &str) -> Self {
        let (mut files, mut tests) = (Vec::new(), Vec::new());
        for file in tree::files(folder, "rs") {
            let (module, text) = (module_of(&file, folder), tree::text(&file));
            tests.extend(TEST_MODULE.captures_iter(&text).map(|found| {
                let mut path = module.clone();
                path.push(found[1].to_owned());
                path
            }));
            let code = code(&TEST_MODULE.replace_all(&text, ""));
            files.push((module, file, code));
        }
        assert!(!files.is_empty(), "no sources in {folder}");
        let of_test = |module: &Vec<String>| {
            module.last().is_some_and(|last| last == "tests")
                || tests.iter().any(|test| module.starts_with(test))
        };
        files.retain(|(module, _, _)| !of_test(module));
        let (mut rooms, mut exported) = (BTreeSet::new(), BTreeMap::new());
        for (_, _, code) in files.iter().filter(|(module, _, _)| module.is_empty()) {
            rooms.extend(MODULE.captures_iter(code).map(|found| found[1].to_owned()));
            for found in EXPORT.captures_iter(code) {
                let names = NAME.find_iter(found.get(2).expect("it is there").as_str());
                exported.extend(names.map(|name| (name.as_str().to_owned(), found[1].to_owned())));
            }
        }
        Self {
            files,
            rooms,
            exported,
        }
    }

    /// The room of a name, as the module `here` refers to it.
    fn room(&self, here: &[String], ups: Option<usize>, name: &str) -> String {
        let inside = ups.and_then(|ups| here.len().checked_sub(ups)).unwrap_or(0);
        if inside > 0 {
            return here[0].clone();
        }
        let home = match self.rooms.contains(name) {
            true => Some(name),
            false => self.exported.get(name).map(String::as_str),
        };
        let home = home.filter(|home| self.rooms.contains(*home));
        home.unwrap_or(ROOT).to_owned()
    }
}

/// The module of a file: its path below the folder, without `mod`, `lib` and `main`.
fn module_of(file: &Path, folder: &str) -> Vec<String> {
    let inside = file.strip_prefix(folder).unwrap_or(file).with_extension("");
    let mut parts: Vec<String> = inside
        .iter()
        .map(|part| part.to_string_lossy().into_owned())
        .collect();
    let top = parts.len() == 1;
    if parts
        .last()
        .is_some_and(|last| last == "mod" || top && (last == "lib" || last == "main"))
    {
        parts.pop();
    }
    parts
}

/// One circle, if there is any.
fn circle(edges: &Edges) -> Option<Vec<String>> {
    let mut done = BTreeSet::new();
    for start in edges.keys() {
        if let Some(circle) = search(edges, start, &mut vec![], &mut done) {
            return Some(circle);
        }
    }
    None
}

fn search(
    edges: &Edges,
    room: &str,
    way: &mut Vec<String>,
    done: &mut BTreeSet<String>,
) -> Option<Vec<String>> {
    if let Some(start) = way.iter().position(|seen| seen == room) {
        let mut circle = way[start..].to_vec();
        circle.push(room.to_owned());
        return Some(circle);
    }
    if !done.insert(room.to_owned()) {
        return None;
    }
    way.push(room.to_owned());
    for next in edges.get(room).into_iter().flat_map(BTreeMap::keys) {
        if let Some(circle) = search(edges, next, way, done) {
            return Some(circle);
        }
    }
    way.pop();
    None
}

fn describe(edges: &Edges, circle: &[String]) -> String {
    let mut text = format!("circle {}", circle.join(" -> "));
    for pair in circle.windows(2) {
        text += &format!(
            "\n    {} -> {}: {}",
            pair[0], pair[1], edges[&pair[0]][&pair[1]]
        );
    }
    text
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_a_source_refers_to_is_found() {
        let text = "//! crate::comment\nuse crate::{a::{x, y}, b};\nuse super::super::c;\nfn f() { crate::d::g() }\n\
            #[cfg(test)]\nmod tests {\n use crate::e;\n}\n";
        let found = references(&code(text));
        let want = [(None, "a"), (None, "b"), (Some(2), "c"), (None, "d")];
        assert_eq!(found, want.map(|(ups, name)| (ups, name.to_owned())));
    }

    #[test]
    fn a_circle_is_found_and_named() {
        let edge = |to: &str| BTreeMap::from([(to.to_owned(), format!("x.rs:1: crate::{to}"))]);
        let mut edges = Edges::from([("a".into(), edge("b")), ("b".into(), edge("c"))]);
        assert_eq!(circle(&edges), None);
        edges.insert("c".into(), edge("b"));
        let found = circle(&edges).expect("b and c");
        assert_eq!(found, ["b", "c", "b"]);
        assert!(describe(&edges, &found).contains("c -> b: x.rs:1: crate::b"));
    }
}
