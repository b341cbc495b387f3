//! docs/claims.md: the figures that others publish, and whether they hold.
//!
//! Guarantees: the table of the page is what the summaries in `results/` say; with TARE_WRITE_CLAIMS set the page is written, and
//! without it compared. A claim is taken from the folder that measured most of its meanings, and folders that measured as many agree.
//! Leaves to others: figures, rules and verdicts (`loadgen report`).

use std::path::{Path, PathBuf};

use serde_json::Value;

use crate::tree;

const PAGE: &str = "docs/claims.md";
const BEGIN: &str = "<!-- claims: begin -->\n";
const END: &str = "<!-- claims: end -->";

/// A claim as the summary of a folder has it.
struct Judged {
    claim: Value,
    folder: PathBuf,
}

#[test]
fn every_published_claim_has_its_verdict_in_the_documents() {
    let page = tree::text(Path::new(PAGE));
    let (head, rest) = page.split_once(BEGIN).expect("the mark of the begin");
    let (shown, tail) = rest.split_once(END).expect("the mark of the end");
    let made = table(&claims());
    if std::env::var_os("TARE_WRITE_CLAIMS").is_some() {
        let text = format!("{head}{BEGIN}{made}{END}{tail}");
        std::fs::write(tree::root().join(PAGE), text).expect("the page can be written");
    } else {
        assert_eq!(
            shown, made,
            "{PAGE} is not what results/ says: TARE_WRITE_CLAIMS=1 cargo test -p tare --test house claims"
        );
    }
}

/// In the order of the first folder that lists them.
fn claims() -> Vec<Judged> {
    let mut claims: Vec<Judged> = Vec::new();
    let mut summaries = tree::files("results", "json");
    summaries.retain(|path| path.ends_with("summary.json"));
    for path in summaries {
        let summary: Value = serde_json::from_str(&tree::text(&path)).expect("a summary is JSON");
        let folder = path.parent().expect("a folder of results");
        for claim in summary["claims"].as_array().expect("its claims") {
            let found = Judged {
                claim: claim.clone(),
                folder: folder.to_owned(),
            };
            let same = |known: &&mut Judged| known.claim["claim"] == claim["claim"];
            match claims.iter_mut().find(same) {
                Some(known) => known.or(found),
                None => claims.push(found),
            }
        }
    }
    claims
}

impl Judged {
    /// Keeps the one that measured more meanings.
    fn or(&mut self, other: Self) {
        let (known, new) = (self.measured(), other.measured());
        if new > known {
            *self = other;
        } else if new == known {
            let (ours, theirs) = (&self.folder, &other.folder);
            assert_eq!(
                self.claim, other.claim,
                "two folders have two figures: {ours:?} and {theirs:?}"
            );
        }
    }

    fn measured(&self) -> usize {
        let meanings = self.claim["meanings"].as_array().expect("its meanings");
        meanings.iter().filter(|m| !m["from"].is_null()).count()
    }

    fn word(&self, field: &str) -> &str {
        self.claim[field].as_str().expect("a text")
    }

    /// A link from the page.
    fn data(&self) -> String {
        let folder = self.folder.display();
        let name = self.folder.strip_prefix("results").expect("below results");
        format!("[{}](../{folder}/report.md)", name.display())
    }
}

fn table(claims: &[Judged]) -> String {
    let mut sources: Vec<&str> = Vec::new();
    let mut text = "| claim | published | measured | result | data | source |\n".to_owned();
    text += "| --- | ---: | --- | --- | --- | ---: |\n";
    for judged in claims {
        let source = judged.word("source");
        if !sources.contains(&source) {
            sources.push(source);
        }
        text += &format!(
            "| {} | {} {} | {} | {} | {} | {} |\n",
            judged.word("claim"),
            judged.claim["claimed"].as_f64().expect("a figure"),
            judged.word("unit"),
            judged.word("because"),
            judged.word("result").replace('-', " "),
            judged.data(),
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
    text
}
