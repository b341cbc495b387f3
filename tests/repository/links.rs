//! Every relative link and every anchor of every Markdown document resolves.

use std::path::{Component, Path, PathBuf};

use crate::markdown::Document;
use crate::tree;

#[test]
fn every_relative_link_resolves() {
    let mut broken = Vec::new();
    let documents = tree::documents();
    assert!(documents.len() > 10, "documents are found");
    for path in &documents {
        let text = tree::text(path);
        for link in Document::parse(&text).links() {
            if let Some(why) = problem(path, link.target) {
                broken.push(format!("{}:{}: {why}", path.display(), link.line));
            }
        }
    }
    assert!(broken.is_empty(), "\n{}", broken.join("\n"));
}

/// `scripts/release.sh` ships it without the documents beside it.
#[test]
fn the_page_that_is_shipped_links_to_itself_only() {
    let path = Path::new("deploy/README.md");
    let text = tree::text(path);
    for link in Document::parse(&text).links() {
        let itself = link.target.starts_with('#') || link.target.contains("://");
        assert!(itself, "deploy/README.md:{}: {}", link.line, link.target);
    }
}

fn problem(document: &Path, target: &str) -> Option<String> {
    if target.contains("://") || target.starts_with("mailto:") {
        return None;
    }
    let (file, anchor) = target.split_once('#').unwrap_or((target, ""));
    let path = match file {
        "" => document.to_owned(),
        file => normal(&document.parent().unwrap_or(Path::new("")).join(file))?,
    };
    let absolute = tree::root().join(&path);
    if !absolute.exists() {
        return Some(format!("{target}: there is no {}", path.display()));
    }
    if anchor.is_empty() || path.extension().is_none_or(|e| e != "md") {
        return None;
    }
    let text = tree::text(&path);
    let anchors = Document::parse(&text).anchors();
    let found = anchors.iter().any(|known| known == anchor);
    (!found).then(|| format!("{target}: no heading of {} is #{anchor}", path.display()))
}

/// Without `.` and `..`; `None` outside the checkout.
fn normal(path: &Path) -> Option<PathBuf> {
    let mut normal = PathBuf::new();
    for part in path.components() {
        match part {
            Component::ParentDir if !normal.pop() => return None,
            Component::Normal(part) => normal.push(part),
            _ => {}
        }
    }
    Some(normal)
}
