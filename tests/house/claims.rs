//! docs/claims.md: the figures that others publish, and whether they hold.
//!
//! Guarantees: the table of the page is what the summaries in `results/` say; with TARE_WRITE_CLAIMS set the page is written, and
//! without it compared. Figures of one meaning from two folders must be the same. Leaves to others: the rules and the judgement of
//! one folder (`loadgen report`).

use std::path::{Path, PathBuf};

use serde_json::Value;

use crate::tree;

const PAGE: &str = "docs/claims.md";
const BEGIN: &str = "<!-- claims: begin -->\n";
const END: &str = "<!-- claims: end -->";

/// A claim as every folder judges it that was measured on a real control plane.
struct Claim {
    says: String,
    source: String,
    claimed: f64,
    unit: String,
    meanings: Vec<Meaning>,
}

/// One meaning that the source leaves open.
struct Meaning {
    says: String,
    result: String,
    /// The bounds of the figure and the folders that have it.
    measured: Option<(f64, f64, Vec<PathBuf>)>,
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

#[test]
fn meanings_that_differ_leave_a_claim_undecidable() {
    for (results, want) in [
        (&["holds", "holds"][..], "holds"),
        (&["does-not-hold"], "does not hold"),
        (&["holds", "does-not-hold"], "undecidable"),
        (&["holds", "not-measured", "does-not-hold"], "undecidable"),
        (&["not-measured", "undecidable"], "undecidable"),
        (&["does-not-hold", "not-measured"], "not measured"),
        (&[], "not measured"),
    ] {
        assert_eq!(verdict(results), want, "{results:?}");
    }
}

/// In the order of the first folder that has them.
fn claims() -> Vec<Claim> {
    let mut claims: Vec<Claim> = Vec::new();
    let summaries = tree::files("results", "json");
    for path in summaries
        .iter()
        .filter(|path| path.ends_with("summary.json"))
    {
        let summary: Value = serde_json::from_str(&tree::text(path)).expect("a summary is JSON");
        let folder = path.parent().expect("a folder of results").to_owned();
        for judged in summary["claims"].as_array().into_iter().flatten() {
            let says = word(&judged["claim"]);
            let known = claims.iter().position(|claim| claim.says == says);
            let at = known.unwrap_or_else(|| {
                claims.push(Claim::unmeasured(judged));
                claims.len() - 1
            });
            claims[at].take(judged, &folder);
        }
    }
    claims
}

impl Claim {
    fn unmeasured(judged: &Value) -> Self {
        let meanings = judged["meanings"].as_array().expect("its meanings");
        let meaning = |meaning: &Value| Meaning {
            says: word(&meaning["says"]),
            result: "not-measured".to_owned(),
            measured: None,
        };
        Self {
            says: word(&judged["claim"]),
            source: word(&judged["source"]),
            claimed: judged["claimed"].as_f64().expect("a figure"),
            unit: word(&judged["unit"]),
            meanings: meanings.iter().map(meaning).collect(),
        }
    }

    /// What one folder says of it.
    fn take(&mut self, judged: &Value, folder: &Path) {
        let found = judged["meanings"].as_array().expect("its meanings");
        assert_eq!(found.len(), self.meanings.len(), "{}", self.says);
        for (meaning, found) in self.meanings.iter_mut().zip(found) {
            let Some(from) = found["from"].as_f64() else {
                continue;
            };
            let to = found["to"].as_f64().unwrap_or(f64::INFINITY);
            match &mut meaning.measured {
                Some((known_from, known_to, folders)) => {
                    assert_eq!(
                        (*known_from, *known_to),
                        (from, to),
                        "{}, {}: two folders have two figures: {folders:?} and {}",
                        self.says,
                        meaning.says,
                        folder.display()
                    );
                    folders.push(folder.to_owned());
                }
                none => {
                    *none = Some((from, to, vec![folder.to_owned()]));
                    meaning.result = word(&found["result"]);
                }
            }
        }
    }
}

/// By the rule of docs/methodology.md, Published claims.
fn verdict(results: &[&str]) -> &'static str {
    let has = |result| results.contains(&result);
    match (has("holds"), has("does-not-hold")) {
        (true, true) => "undecidable",
        _ if has("undecidable") => "undecidable",
        _ if has("not-measured") => "not measured",
        (true, false) => "holds",
        (false, true) => "does not hold",
        (false, false) => "not measured",
    }
}

fn table(claims: &[Claim]) -> String {
    let mut sources: Vec<&str> = Vec::new();
    let mut text = "| claim | published | measured | result | data | source |\n".to_owned();
    text += "| --- | ---: | --- | --- | --- | ---: |\n";
    for claim in claims {
        let source = sources.iter().position(|known| *known == claim.source);
        let source = source.unwrap_or_else(|| {
            sources.push(&claim.source);
            sources.len() - 1
        });
        let results: Vec<&str> = claim.meanings.iter().map(|m| m.result.as_str()).collect();
        text += &format!(
            "| {} | {} {} | {} | {} | {} | {} |\n",
            claim.says,
            figure(claim.claimed),
            claim.unit,
            claim
                .meanings
                .iter()
                .map(|m| m.words(&claim.unit))
                .collect::<Vec<_>>()
                .join("; "),
            verdict(&results),
            data(claim),
            source + 1,
        );
    }
    text += "\nSources:\n\n";
    for (number, source) in sources.iter().enumerate() {
        text += &format!(
            "{}. {}\n",
            number + 1,
            source
                .replace("https://", "<https://")
                .replacen("/ (", "/> (", 1)
        );
    }
    text
}

impl Meaning {
    fn words(&self, unit: &str) -> String {
        let Some((from, to, _)) = &self.measured else {
            return format!("{}: not measured", self.says);
        };
        let result = verdict(&[&self.result]);
        match from == to {
            true => format!("{}: {} {unit}, {result}", self.says, figure(*from)),
            false => format!(
                "{}: {} to {} {unit}, {result}",
                self.says,
                figure(*from),
                figure(*to)
            ),
        }
    }
}

/// The first folder of each meaning, as links from the page.
fn data(claim: &Claim) -> String {
    let measured = claim.meanings.iter().filter_map(|m| m.measured.as_ref());
    let mut folders: Vec<&PathBuf> = measured
        .filter_map(|(_, _, folders)| folders.first())
        .collect();
    folders.dedup();
    let link = |folder: &&PathBuf| {
        let name = folder.strip_prefix("results").unwrap_or(folder).display();
        format!("[{name}](../{}/report.md)", folder.display())
    };
    match folders.is_empty() {
        true => "–".to_owned(),
        false => folders.iter().map(link).collect::<Vec<_>>().join(", "),
    }
}

/// Three digits, as in the reports.
fn figure(value: f64) -> String {
    match value.abs() {
        0.0 => "0".to_owned(),
        v if v >= 99.95 => format!("{value:.0}"),
        v if v >= 9.995 => format!("{value:.1}"),
        _ => format!("{value:.2}"),
    }
}

fn word(value: &Value) -> String {
    value.as_str().expect("a text").to_owned()
}
