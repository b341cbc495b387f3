//! `cargo xtask tables`: the tables that stand in documents, made again from the folders that their marks name.
//!
//! Guarantees: only what stands between marks changes; `--check` writes nothing and ends with exit code 1 where a table
//! is not what its folder gives. A table of a folder with another schema stays as it was published, and is named. Leaves to others: the tables
//! (`blocks`, `excerpt`, `foreign`).

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};
use std::process::ExitCode;

use anyhow::Context;
use clap::Args;

use crate::blocks::{BLOCKS, block_of, write};
use crate::excerpt;
use crate::excerpt::FIGURES;
use crate::foreign;
use crate::foreign::FOREIGN;
use crate::marks::{Block, blocks};
use loadgen::error::Usage;
use loadgen::metric::foreign_cost::FOREIGN_COST;
use loadgen::record::evidence::Evidence;
use loadgen::record::summary::Summary;
use loadgen::report;
use loadgen::report::summary;
use loadgen::report::validate::Error;

#[derive(Args, Clone, Debug)]
pub struct TablesArgs {
    /// Markdown files with marks that name folders
    #[arg(required = true, value_name = "FILE")]
    files: Vec<PathBuf>,
    /// Write nothing; fail where a table is not what its folder gives
    #[arg(long)]
    check: bool,
}

/// What became of one table.
enum Outcome {
    Current,
    /// With what should stand between the marks.
    Stale(String),
    OtherSchema(String),
}

pub fn run(args: TablesArgs) -> anyhow::Result<ExitCode> {
    // `left` are those that are not what their folder gives when this ends.
    let (mut tables, mut left) = (0, 0);
    let mut folders = Folders::default();
    for file in &args.files {
        let shown = file.display();
        let text =
            std::fs::read_to_string(file).map_err(|error| Usage(format!("{shown}: {error}")))?;
        let mut updated = text.clone();
        // From the last on: what is before a table stays where it is.
        for block in blocks(&text).iter().rev() {
            tables += 1;
            let name = block.name;
            let folder = block.words.first().ok_or_else(|| {
                Usage(format!(
                    "{shown}: the marks of its {name} table name no folder; write one behind `begin`"
                ))
            })?;
            let outcome = outcome(&mut folders, block, folder, file, &text)
                .with_context(|| format!("{shown}: {name} of {folder}"))?;
            match outcome {
                Outcome::Current => println!("{shown}: {name} of {folder}: current"),
                Outcome::OtherSchema(why) => {
                    println!("{shown}: {name} of {folder}: as published: {why}");
                }
                Outcome::Stale(_) if args.check => {
                    left += 1;
                    println!(
                        "{shown}: {name} of {folder}: not current; run cargo xtask tables {shown}"
                    );
                }
                Outcome::Stale(content) => {
                    println!("{shown}: {name} of {folder}: written");
                    updated.replace_range(block.content.clone(), &content);
                }
            }
        }
        if updated != text {
            write(file, &updated)?;
        }
    }
    if tables == 0 {
        return Err(Usage(
            "no table in these files: none has a line such as <!-- loadgen sizing: begin DIR -->"
                .to_owned(),
        )
        .into());
    }
    Ok(match left {
        0 => ExitCode::SUCCESS,
        _ => ExitCode::FAILURE,
    })
}

/// The figures of a bench from its raw data, or that another version reads them.
///
/// # Errors
/// The folder cannot be read.
pub fn summary_of(folder: &Path) -> anyhow::Result<Result<Summary, String>> {
    match report::read(&Evidence::open(folder)) {
        Ok(record) => Ok(Ok(summary::summarise(&record))),
        Err(error @ Error::OtherSchema { .. }) => Ok(Err(error.to_string())),
        Err(error) => Err(error.into()),
    }
}

/// Folders that were read, for further tables: the summary, or why there is none.
#[derive(Default)]
struct Folders(BTreeMap<String, Result<Summary, String>>);

impl Folders {
    fn summary(&mut self, folder: &str) -> anyhow::Result<&Result<Summary, String>> {
        if !self.0.contains_key(folder) {
            self.0
                .insert(folder.to_owned(), summary_of(Path::new(folder))?);
        }
        Ok(&self.0[folder])
    }
}

/// `names`: of a folder, or of several with `,` between them.
fn outcome(
    folders: &mut Folders,
    block: &Block<'_>,
    names: &str,
    file: &Path,
    text: &str,
) -> anyhow::Result<Outcome> {
    if block.name == FOREIGN.0 {
        let read = names.split(',').map(|name| {
            let cost = Evidence::open(Path::new(name)).read_json(FOREIGN_COST)?;
            anyhow::Ok((cost, link(file, name)))
        });
        let content = foreign::block(&read.collect::<anyhow::Result<Vec<_>>>()?);
        return Ok(compared(content, block, text));
    }
    for name in names.split(',') {
        if let Err(why) = folders.summary(name)? {
            return Ok(Outcome::OtherSchema(why.clone()));
        }
    }
    let read = names.split(',').filter_map(|name| {
        let summary = folders.0.get(name)?.as_ref().ok()?;
        Some((summary, link(file, name)))
    });
    let read: Vec<_> = read.collect();
    let marks = BLOCKS.into_iter().find(|marks| marks.0 == block.name);
    let content = match (marks, &read[..]) {
        (Some(marks), [(summary, _)]) => block_of(marks, summary, Path::new(names)),
        (Some(marks), _) => return Err(Usage(format!("{} is of one folder", marks.0)).into()),
        (None, _) if block.name == FIGURES.0 => {
            excerpt::page(&read, &block.words[1..]).map_err(|error| Usage(error.to_string()))?
        }
        (None, _) => {
            let known = BLOCKS
                .iter()
                .chain([&FIGURES, &FOREIGN])
                .map(|marks| marks.0);
            let known: Vec<&str> = known.collect();
            return Err(Usage(format!("there are {}", known.join(", "))).into());
        }
    };
    Ok(compared(content, block, text))
}

fn compared(content: String, block: &Block<'_>, text: &str) -> Outcome {
    match content == text[block.content.clone()] {
        true => Outcome::Current,
        false => Outcome::Stale(content),
    }
}

/// From the folder of a document to one that its marks name, which is relative to where this runs.
fn link(file: &Path, folder: &str) -> PathBuf {
    let depth = file
        .parent()
        .map_or(0, |parent| parent.components().count());
    let mut link: PathBuf = (0..depth).map(|_| "..").collect();
    link.push(folder);
    link
}

#[cfg(test)]
mod tests {
    use loadgen::plan::cell::Kind;
    use loadgen::record::summary::{Run, sample};

    use super::*;

    /// What became of the only block of a text.
    fn of(folders: &mut Folders, text: &str) -> Outcome {
        let all = blocks(text);
        let outcome = outcome(folders, &all[0], "mine", Path::new("README.md"), text);
        outcome.expect("a known block")
    }

    #[test]
    fn a_table_is_current_until_somebody_edits_it() {
        let run = Run::without_figures(Kind::Memory, 500, 1, vec![]);
        let run = run.with("memory.settled.rss_bytes", 3e6);
        let summary = sample(vec![run.with("memory.settled.peak_bytes", 4e6)]);
        let mut folders = Folders(BTreeMap::from([("mine".to_owned(), Ok(summary))]));
        for name in ["report", "sizing", "figures"] {
            let options = match name {
                "figures" => " rows=memory.settled.rss_bytes",
                _ => "",
            };
            let page = |content: &str| {
                format!(
                    "# Mine\n<!-- loadgen {name}: begin mine{options} -->\n{content}<!-- loadgen {name}: end -->\n"
                )
            };
            let Outcome::Stale(content) = of(&mut folders, &page("")) else {
                panic!("{name}: nothing stood there");
            };
            assert!(content.contains("3.00"), "{content}");
            assert!(
                matches!(of(&mut folders, &page(&content)), Outcome::Current),
                "{name}"
            );
            let edited = page(&content.replace("3.00", "2.00"));
            assert!(matches!(of(&mut folders, &edited), Outcome::Stale(made) if made == content));
        }
    }

    #[test]
    fn a_block_that_is_none_is_named() {
        let mut folders = Folders(BTreeMap::from([("mine".to_owned(), Ok(sample(vec![])))]));
        let text = "<!-- loadgen picture: begin mine -->\n<!-- loadgen picture: end -->\n";
        let refused = outcome(
            &mut folders,
            &blocks(text)[0],
            "mine",
            Path::new("x.md"),
            text,
        );
        let refused = refused.err().expect("refused").to_string();
        assert_eq!(refused, "there are report, sizing, figures, bystanders");
    }

    #[test]
    fn a_link_leads_from_the_document_to_the_folder() {
        for (file, want) in [
            ("README.md", "results/kube"),
            ("docs/design-notes/writes.md", "../../results/kube"),
        ] {
            assert_eq!(
                link(Path::new(file), "results/kube"),
                Path::new(want),
                "{file}"
            );
        }
    }
}
