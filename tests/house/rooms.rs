//! No two rooms of a member depend on each other in a circle.
//!
//! A room is a module that the root of a member declares. Guarantees: `use` lines and paths that start
//! with `crate` or `super` count; test code does not. A name that the root exports counts as its home.
//! Leaves to others: what a member may depend on (`Cargo.toml`, and the test below).

use std::collections::{BTreeMap, BTreeSet};
use std::path::{Path, PathBuf};

use crate::rust_source::{modules, paths, tokens, without_tests};
use crate::tree;

/// The folder of each member's sources.
const MEMBERS: [&str; 6] = [
    "src",
    "runtime/src",
    "kubesim/src",
    "controlplane/src",
    "procstat/src",
    "loadgen/src",
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
    for (module, file) in &sources.files {
        let tokens = without_tests(&tokens(&tree::text(file))).0;
        for path in paths(&tokens) {
            if module.is_empty() && path.exported {
                continue;
            }
            let mut here = module.clone();
            here.extend(path.inside.iter().cloned());
            let Some(to) = sources.room(&here, &path.segments) else {
                continue;
            };
            let from = here.first().map_or(ROOT, String::as_str);
            if to != from {
                let place = format!(
                    "{}:{}: {}",
                    file.display(),
                    path.line,
                    path.segments.join("::")
                );
                let targets = edges.entry(from.to_owned()).or_default();
                targets.entry(to).or_insert(place);
            }
        }
    }
    edges
}

/// The files of one member and what its root makes known.
struct Sources {
    files: Vec<(Vec<String>, PathBuf)>,
    rooms: BTreeSet<String>,
    /// Names that the root exports, and the room of each.
    exported: BTreeMap<String, String>,
}

impl Sources {
    fn read(folder: &str) -> Self {
        let all = tree::files(folder, "rs");
        assert!(!all.is_empty(), "no sources in {folder}");
        let mut files: Vec<(Vec<String>, PathBuf)> = Vec::new();
        let mut tests = Vec::new();
        for file in all {
            let module = module_of(&file, folder);
            let removed = without_tests(&tokens(&tree::text(&file))).1;
            tests.extend(removed.into_iter().map(|name| {
                let mut path = module.clone();
                path.push(name);
                path
            }));
            files.push((module, file));
        }
        files.retain(|(module, _)| !tests.iter().any(|test| module.starts_with(test)));
        let mut sources = Sources {
            files,
            rooms: BTreeSet::new(),
            exported: BTreeMap::new(),
        };
        sources.read_roots();
        sources
    }

    fn read_roots(&mut self) {
        for (_, file) in self.files.iter().filter(|(module, _)| module.is_empty()) {
            let tokens = without_tests(&tokens(&tree::text(file))).0;
            self.rooms.extend(modules(&tokens));
            for path in paths(&tokens) {
                let segments = path.segments.iter().map(String::as_str);
                let mut segments = segments.skip_while(|s| matches!(*s, "crate" | "self"));
                if let (Some(room), Some(name)) = (segments.next(), path.segments.last()) {
                    self.exported.insert(name.clone(), room.to_owned());
                }
            }
        }
    }

    /// The room to which a path leads that stands in the module `here`; `None` for other crates.
    fn room(&self, here: &[String], path: &[String]) -> Option<String> {
        let mut module = here.to_vec();
        let mut rest = path;
        match path.first()?.as_str() {
            "crate" => {
                module.clear();
                rest = &path[1..];
            }
            "self" => rest = &path[1..],
            "super" => {
                while rest.first().is_some_and(|s| s == "super") {
                    module.pop();
                    rest = &rest[1..];
                }
            }
            // `use` of a module beside or below: its room is ours, or it is another crate's.
            first if module.is_empty() && self.rooms.contains(first) => {}
            _ => return None,
        }
        if let Some(room) = module.first() {
            return Some(room.clone());
        }
        let name = rest.first()?;
        if self.rooms.contains(name) {
            return Some(name.clone());
        }
        let home = self
            .exported
            .get(name)
            .filter(|home| self.rooms.contains(*home));
        Some(home.cloned().unwrap_or_else(|| ROOT.to_owned()))
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
