//! docs/claims.md: the figures that others publish, and whether they hold.
//!
//! Guarantees: the table of the page is what the folders in `results/` say: a folder of this schema by its raw data, another
//! one by the summary that it was published with. A claim is taken from the folder that measured most of its meanings, and
//! folders that measured as many agree. Leaves to others: figures, rules and verdicts (`claims`).

use std::path::{Path, PathBuf};
use std::process::ExitCode;

use anyhow::{Context, bail};
use clap::Args;
use loadgen::record::evidence::{EXPERIMENT, Evidence};
use loadgen::report;
use loadgen::report::summary::summarise;
use loadgen::report::verify::other_schema::OtherSchema;
use serde_json::Value;

use crate::claims;

const PAGE: &str = "docs/claims.md";
const RESULTS: &str = "results";
const BEGIN: &str = "<!-- claims: begin -->\n";
const END: &str = "<!-- claims: end -->";

#[derive(Args, Clone, Debug)]
pub struct ClaimsArgs {
    /// Write nothing; fail where the page is not as it would be written
    #[arg(long)]
    check: bool,
}

/// A claim as a folder has it.
struct InFolder {
    claim: Value,
    folder: PathBuf,
}

pub fn run(args: ClaimsArgs) -> anyhow::Result<ExitCode> {
    let text = std::fs::read_to_string(PAGE).context(PAGE)?;
    let marks = text.split_once(BEGIN);
    let marks = marks.and_then(|(head, rest)| Some((head, rest.split_once(END)?)));
    let Some((head, (shown, tail))) = marks else {
        bail!("{PAGE}: no lines {BEGIN:?} and {END:?}");
    };
    let made = table(&all()?)?;
    if shown == made {
        println!("{PAGE}: current");
        return Ok(ExitCode::SUCCESS);
    }
    if args.check {
        println!("{PAGE}: not current; run cargo xtask claims");
        return Ok(ExitCode::FAILURE);
    }
    std::fs::write(PAGE, format!("{head}{BEGIN}{made}{END}{tail}")).context(PAGE)?;
    println!("{PAGE}: written");
    Ok(ExitCode::SUCCESS)
}

/// In the order of the first folder that lists them.
fn all() -> anyhow::Result<Vec<InFolder>> {
    let mut claims: Vec<InFolder> = Vec::new();
    for folder in folders(Path::new(RESULTS))? {
        for claim in of_folder(&folder).with_context(|| folder.display().to_string())? {
            let folder = folder.clone();
            let found = InFolder { claim, folder };
            let same = |known: &&mut InFolder| known.claim["claim"] == found.claim["claim"];
            match claims.iter_mut().find(same) {
                Some(known) => known.or(found)?,
                None => claims.push(found),
            }
        }
    }
    // As in the list, whichever folder comes first.
    let listed = claims::listed();
    let place = |found: &InFolder| {
        let mut names = listed.iter().map(|(name, _)| name.as_str());
        names.position(|name| found.claim["claim"] == name)
    };
    claims.sort_by_key(place);
    Ok(claims)
}

/// The folders of benches, in the order of their names.
fn folders(below: &Path) -> anyhow::Result<Vec<PathBuf>> {
    let mut found = Vec::new();
    for entry in std::fs::read_dir(below).with_context(|| below.display().to_string())? {
        let path = entry?.path();
        if path.join(EXPERIMENT).is_file() {
            found.push(path);
        } else if path.is_dir() {
            found.extend(folders(&path)?);
        }
    }
    found.sort();
    Ok(found)
}

fn of_folder(folder: &Path) -> anyhow::Result<Vec<Value>> {
    let evidence = Evidence::open(folder);
    if OtherSchema::of(&evidence).is_some() {
        let mut summary: Value = evidence.read_json(report::SUMMARY)?;
        let published = summary["claims"].take();
        let mut published: Vec<Value> = serde_json::from_value(published)?;
        // Those that have left the list since are judged no more.
        let listed = claims::listed();
        published.retain(|claim| {
            let is_this = |(name, source): &(String, String)| {
                claim["claim"] == name.as_str() && claim["source"] == source.as_str()
            };
            listed.iter().any(is_this)
        });
        return Ok(published);
    }
    let record = report::read(&evidence)?;
    let judged = claims::judged(&summarise(&record), &record);
    let values = judged.iter().map(serde_json::to_value);
    Ok(values.collect::<Result<_, _>>()?)
}

impl InFolder {
    /// Keeps the one that measured more meanings; of equals the one of the folder with more runs.
    fn or(&mut self, other: Self) -> anyhow::Result<()> {
        let (known, new) = (
            (self.measured(), self.runs()?),
            (other.measured(), other.runs()?),
        );
        if new > known {
            *self = other;
        } else if new == known && self.claim != other.claim {
            let (ours, theirs) = (self.folder.display(), other.folder.display());
            bail!(
                "{ours} and {theirs} have two figures of one claim: {}",
                self.claim
            );
        }
        Ok(())
    }

    fn runs(&self) -> anyhow::Result<usize> {
        let runs = Evidence::open(&self.folder).json_files("runs");
        Ok(runs
            .with_context(|| self.folder.display().to_string())?
            .len())
    }

    fn measured(&self) -> usize {
        let meanings = self.claim["meanings"].as_array().into_iter().flatten();
        meanings
            .filter(|meaning| !meaning["from"].is_null())
            .count()
    }

    fn word(&self, field: &str) -> anyhow::Result<&str> {
        let word = self.claim[field].as_str();
        word.with_context(|| format!("no {field} in {}", self.claim))
    }

    /// A link from the page.
    fn data(&self) -> String {
        let name = self.folder.strip_prefix(RESULTS).unwrap_or(&self.folder);
        format!(
            "[{}](../{}/report.md)",
            name.display(),
            self.folder.display()
        )
    }
}

fn table(claims: &[InFolder]) -> anyhow::Result<String> {
    let mut sources: Vec<&str> = Vec::new();
    let mut text = "| claim | published | measured | result | data | source |\n".to_owned();
    text += "| --- | ---: | --- | --- | --- | ---: |\n";
    for claim in claims {
        let source = claim.word("source")?;
        if !sources.contains(&source) {
            sources.push(source);
        }
        text += &format!(
            "| {} | {} {} | {} | {} | {} | {} |\n",
            claim.word("claim")?,
            claim.claim["claimed"].as_f64().context("no figure")?,
            claim.word("unit")?,
            claim.word("because")?,
            claim.word("result")?.replace('-', " "),
            claim.data(),
            sources.iter().take_while(|known| **known != source).count() + 1,
        );
    }
    text += "\nSources:\n\n";
    for (number, source) in sources.iter().enumerate() {
        let link = source.split(' ').next().filter(|word| word.contains("://"));
        let source = match link {
            Some(link) => source.replacen(link, &format!("<{link}>"), 1),
            None => (*source).to_owned(),
        };
        text += &format!("{}. {source}\n", number + 1);
    }
    Ok(text)
}
