//! The index of a folder of results: a line for each folder in it, and a page for people.
//!
//! Guarantees: every folder has a line, in the order of their names. A folder that holds folders of benches, and no bench
//! itself, has a line for each of them instead. What a folder does not say is a dash. The same folders give the same
//! text. Nothing is written. One digest stands for all that was measured; written down elsewhere, it shows a later change of any
//! folder.
//! Leaves to others: where the text goes (`command`), what `verify` looks at.

pub mod command;
mod facts;
mod page;

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};

use anyhow::Context;
use toml::Spanned;

use crate::index::facts::{Facts, HAVE_RUNS};
use crate::index::page::Entry;
use loadgen::error::Usage;
use loadgen::record::evidence::sums::{SUMS, sha256, sha256_of};
use loadgen::record::evidence::{EXPERIMENT, Evidence};
use loadgen::report::verify;

/// One line for each folder that does not say itself which question it answers.
const QUESTIONS: &str = "questions.toml";
const UNKNOWN: &str = "–";
/// Pages that a reader is sent to, the best first.
const PAGES: [&str; 3] = ["report.md", "restarts.md", "README.md"];

/// The index of a folder of results, as its two documents.
#[derive(Debug)]
pub struct Index {
    /// The table, as Markdown.
    pub markdown: String,
    /// Below the table: a digest over the hashes of all folders; empty where there are none.
    pub digest: String,
    /// The page for people.
    pub html: String,
}

/// Reads every folder, once.
///
/// # Errors
/// `Usage` where `questions.toml` names a folder that is not there; a folder cannot be read.
pub fn of(results: &Path) -> anyhow::Result<Index> {
    let names = folders(results)?;
    let questions = questions(results, &names)?;
    let header = [
        "folder",
        "question",
        "commit",
        "date",
        "machine",
        "runs",
        "invalid",
        "`loadgen verify`",
    ];
    let mut markdown = line(&header.map(str::to_owned));
    markdown.push_str("|---|---|---|---|---|---:|---:|---|\n");
    let mut entries = Vec::new();
    for name in names {
        let folder = results.join(&name);
        let facts = Facts::read(&folder)?;
        let question = questions.get(&name);
        let question = question.map(|question| question.get_ref().clone());
        let question = question.or_else(|| facts.question());
        let page = main_page(&folder);
        let said = word_of_verify(&folder, &facts)?;
        markdown.push_str(&line(&row(
            &name,
            &facts,
            question.as_ref(),
            page.as_ref(),
            said,
        )));
        let setting = [facts.commit(), facts.date(), facts.machine()];
        entries.push(Entry {
            question: question.unwrap_or_else(|| name.clone()),
            setting: setting.into_iter().flatten().collect::<Vec<_>>().join(", "),
            page,
            name,
        });
    }
    // As in the file of questions; a folder that is not there comes last.
    let place = |entry: &Entry| {
        let question = questions.get(&entry.name);
        question.map_or(usize::MAX, |question| question.span().start)
    };
    entries.sort_by_key(place);
    let html = page::page(results, &entries)?;
    let digest = digest(results)?;
    Ok(Index {
        markdown,
        digest,
        html,
    })
}

/// What `find . -name SHA256SUMS | LC_ALL=C sort | xargs sha256sum | sha256sum` prints in the folder.
fn digest(results: &Path) -> anyhow::Result<String> {
    let mut lines = Vec::new();
    let mut folders = vec![".".to_owned()];
    while let Some(folder) = folders.pop() {
        let within = below(&results.join(&folder))?;
        folders.extend(within.iter().map(|inner| format!("{folder}/{inner}")));
        let name = format!("{folder}/{SUMS}");
        let sums = results.join(&name);
        if sums.is_file() {
            let hash = sha256(&sums).with_context(|| format!("cannot read {}", sums.display()))?;
            lines.push((name, hash));
        }
    }
    lines.sort();
    let lines = lines.iter().map(|(name, hash)| format!("{hash}  {name}\n"));
    let text: String = lines.collect();
    Ok(match text.is_empty() {
        true => String::new(),
        false => format!(
            "\nAll of it has one digest, `{}`: what `find . -name SHA256SUMS | LC_ALL=C sort | xargs sha256sum | sha256sum` prints in \
             this folder.\n",
            sha256_of(text.as_bytes())
        ),
    })
}

fn line(cells: &[String]) -> String {
    let cells = cells.iter().map(|cell| cell.replace('|', "\\|"));
    format!("| {} |\n", cells.collect::<Vec<_>>().join(" | "))
}

/// Names of the folders, with `/` between two levels.
fn folders(results: &Path) -> anyhow::Result<Vec<String>> {
    let mut names = Vec::new();
    for name in below(results)? {
        let folder = results.join(&name);
        let mut inner = below(&folder)?;
        inner.retain(|inner| {
            let mut files = HAVE_RUNS.iter();
            files.any(|file| folder.join(inner).join(file).is_file())
        });
        match folder.join(EXPERIMENT).is_file() || inner.is_empty() {
            true => names.push(name),
            false => names.extend(inner.iter().map(|inner| format!("{name}/{inner}"))),
        }
    }
    Ok(names)
}

fn below(folder: &Path) -> anyhow::Result<Vec<String>> {
    let what = || format!("cannot read {}", folder.display());
    let mut names = Vec::new();
    for entry in std::fs::read_dir(folder).with_context(what)? {
        let entry = entry.with_context(what)?;
        let name = entry.file_name().to_string_lossy().into_owned();
        if entry.path().is_dir() && !name.starts_with('.') {
            names.push(name);
        }
    }
    names.sort();
    Ok(names)
}

/// By folder, each with its place in the file.
fn questions(
    results: &Path,
    names: &[String],
) -> anyhow::Result<BTreeMap<String, Spanned<String>>> {
    let path = results.join(QUESTIONS);
    if !path.is_file() {
        return Ok(BTreeMap::new());
    }
    let shown = path.display();
    let text = std::fs::read_to_string(&path).with_context(|| format!("cannot read {shown}"))?;
    let questions: BTreeMap<String, Spanned<String>> =
        toml::from_str(&text).map_err(|error| Usage(format!("{shown}: {}", error.message())))?;
    let unknown = questions.keys().find(|name| !names.contains(name));
    match unknown.cloned() {
        None => Ok(questions),
        Some(name) => {
            let results = results.display();
            Err(Usage(format!(
                "{shown}: there is no folder {results}/{name}; remove its line"
            ))
            .into())
        }
    }
}

fn row(
    name: &str,
    facts: &Facts,
    question: Option<&String>,
    page: Option<&String>,
    word_of_verify: Option<String>,
) -> [String; 8] {
    let link = match page {
        Some(page) => format!("[{name}]({name}/{page})"),
        None => name.to_owned(),
    };
    let known = |text: Option<String>| text.unwrap_or_else(|| UNKNOWN.to_owned());
    let count = |count: Option<usize>| known(count.map(|count| count.to_string()));
    [
        link,
        known(question.cloned()),
        known(facts.commit()),
        known(facts.date()),
        known(facts.machine()),
        count(facts.runs.map(|runs| runs.all)),
        count(facts.runs.map(|runs| runs.invalid)),
        known(word_of_verify),
    ]
}

/// The page of a folder, or the first of its Markdown files.
fn main_page(folder: &Path) -> Option<String> {
    if let Some(page) = PAGES.iter().find(|page| folder.join(page).is_file()) {
        return Some((*page).to_owned());
    }
    let entries = std::fs::read_dir(folder).ok()?.flatten();
    let paths = entries.map(|entry| entry.path());
    let pages = paths.filter(|path| path.extension().is_some_and(|end| end == "md"));
    let first: PathBuf = pages.min()?;
    Some(first.file_name()?.to_string_lossy().into_owned())
}

/// What `loadgen verify` says of runs or a command; nothing of any other folder.
fn word_of_verify(folder: &Path, facts: &Facts) -> anyhow::Result<Option<String>> {
    let evidence = Evidence::open(folder);
    if facts.runs.is_none() && !verify::is_of_a_command(&evidence) {
        return Ok(None);
    }
    let found =
        verify::verify(&evidence).with_context(|| format!("cannot verify {}", folder.display()))?;
    Ok(Some(match &found.problems[..] {
        [] if let Some(other) = &found.other_schema => {
            format!("{} files by hash; {other}", found.hashed)
        }
        [] if found.origin.is_some() => format!("verified: {} files by hash", found.hashed),
        [] => "verified".to_owned(),
        [only] => only.to_string(),
        [first, others @ ..] => format!("{first} (and {} more)", others.len()),
    }))
}

#[cfg(test)]
mod tests;
