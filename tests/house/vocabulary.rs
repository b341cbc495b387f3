//! One word for each thing: words that have a standard name in the field are not used.
//!
//! Guarantees: names that are declared in Rust, modules, metrics, options, keys of log lines, generated
//! help and documents are checked; a name is split at `_` and at capitals; a failure says what to use
//! instead. The standard library's `join` is exempt, because nothing here declares it. Reports of
//! committed runs and the changelog's tables of renames are exempt. Leaves to others: comments.

use std::path::{Path, PathBuf};

use crate::markdown::Document;
use crate::programs;
use crate::rust_source::{declared, tokens};
use crate::tree;

/// Not part of any name, and not in a text.
const WORDS: &[(&str, &str)] = &[
    ("owed owes owe", "a relist is requested"),
    ("sight sights", "ChildSnapshot"),
    ("watchman", "settle detector"),
    ("weigh weighs weighed weighing", "measure, sample"),
    ("fought fight fights fighting", "field conflict"),
    ("mend mends mended mending slip slips", "correction"),
    ("lane lanes", "overlap"),
    ("patience", "timeout"),
    ("twin twins", "A/A"),
    ("doubts", "invalid because"),
    ("remarks", "warnings"),
    ("telltale", "scrape"),
    ("tidy tidying tidies", "trim"),
    ("unready", "never ready"),
    ("strike strikes struck", "teardown"),
    (
        "lend lends lent borrow borrows borrowed borrowing",
        "existing cluster",
    ),
];

/// Not a phrase of a text, nor, with `_` for the space, part of a name.
const PHRASES: &[(&str, &str)] = &[
    ("full join", "relist"),
    ("first join", "initial list"),
    ("periodic join", "relist"),
    ("the join", "the relist"),
    ("a join", "a relist"),
    ("joins", "relists"),
    ("at rest", "idle"),
    ("left alone", "idle, not touched"),
    ("tell tale", "scrape"),
    ("tell-tale", "scrape"),
    ("last words", "log tail"),
    ("again and again", "repeated"),
    ("weighed as it was", "did not settle; sampled anyway"),
    ("whoever", "the operator that"),
    ("without a question", "assume yes"),
    ("is called none", "not significant"),
    ("--settle", "--profile"),
    ("--storm", "--update-storm"),
];

/// Not the name of a type or a variant.
const TYPES: &[(&str, &str)] = &[
    ("Join Joining", "Relist"),
    ("What Seen", "WatchEvent"),
    ("Work", "OwnerState"),
    ("Slot", "ChildRecord"),
    ("Proof", "LastApplied"),
    ("Sight Shown", "ChildSnapshot"),
    ("ChildNews News", "ChildEvent"),
    ("Reasons", "Triggers"),
    ("Verdict", "Outcome"),
    ("Offer", "Admission"),
    ("Stop", "Interrupt"),
    ("Room Width", "Admission, Concurrency"),
    ("Right Rights Denied", "Permission"),
    ("Ask", "Request"),
    ("Lean", "PartialObject"),
    ("Keeps", "Retention"),
    ("Age Trouble", "Soak, Fault"),
    ("Refused Unready", "Rejected, NeverReady"),
    ("Stage", "Session"),
    ("Book", "Record"),
    ("Chance", "Rng"),
];

/// Not the name of a module.
const MODULES: &[(&str, &str)] = &[
    ("join joining", "relist"),
    ("source", "watch"),
    ("scope", "paths"),
    ("room width tidying", "admission, concurrency, trim"),
    ("right rights denied", "permission"),
    (
        "thin examine batch",
        "strip_managed_fields, compare, by_label",
    ),
    ("shown verdict", "child_snapshot, outcome"),
    ("look", "poll"),
    ("age trouble refused", "soak, fault, reject"),
    ("stage sweep", "session, cleanup"),
    (
        "book apart private chance",
        "record, section, temp_dir, rng",
    ),
];

/// Not the name of a function.
const FUNCTIONS: &[(&str, &str)] = &[
    ("hear", "on_event"),
    ("see", "one verb for what it does"),
    ("look", "poll"),
    ("sweep", "clean_up"),
];

/// File, name, and why it stays.
const EXCEPTIONS: &[(&str, &str, &str)] = &[
    (
        "runtime/src/model/key.rs",
        "borrow",
        "the standard library's trait Borrow",
    ),
    ("examples/pods/main.rs", "age", "the column AGE of kubectl"),
    ("examples/pods/age.rs", "age", "the column AGE of kubectl"),
    ("tests/pods/main.rs", "age", "the column AGE of kubectl"),
    ("tests/pods/age.rs", "age", "the column AGE of kubectl"),
];

#[test]
fn declared_names_are_the_fields_own() {
    let mut wrong = Vec::new();
    for file in sources() {
        let text = tree::text(&file);
        for name in declared(&tokens(&text)) {
            if let Some(instead) = name_problem(name.what, &name.name)
                && !excepted(&file, &name.name)
            {
                wrong.push(format!(
                    "{}:{}: {} {}: use {instead}",
                    file.display(),
                    name.line,
                    name.what,
                    name.name
                ));
            }
        }
        let module = file
            .file_stem()
            .unwrap_or_default()
            .to_string_lossy()
            .into_owned();
        if let Some(instead) = name_problem("mod", &module)
            && !excepted(&file, &module)
        {
            wrong.push(format!(
                "{}: module {module}: use {instead}",
                file.display()
            ));
        }
        wrong.extend(strings(&file, &text));
    }
    assert!(wrong.is_empty(), "\n{}", wrong.join("\n"));
}

#[test]
fn documents_use_the_fields_words() {
    let mut wrong = Vec::new();
    for path in documents() {
        let text = tree::text(&path);
        let renames = path == Path::new("CHANGELOG.md");
        let document = Document::parse(&text);
        let fenced = document.fences.iter().flat_map(|fence| &fence.lines);
        for line in document.prose.iter().chain(fenced) {
            if renames && line.text.starts_with('|') {
                continue;
            }
            // A folder of results and a step of the campaign.
            let text = line.text.replace("weigh-in", "");
            for problem in text_problems(&text) {
                wrong.push(format!("{}:{}: {problem}", path.display(), line.number));
            }
        }
    }
    assert!(wrong.is_empty(), "\n{}", wrong.join("\n"));
}

#[test]
fn help_uses_the_fields_words() {
    let mut wrong = Vec::new();
    let texts = programs::help_texts();
    assert!(texts.len() > 10, "every command has a help");
    for (command, text) in texts {
        for line in text.lines() {
            for problem in text_problems(line) {
                wrong.push(format!("{command}: {problem}: {}", line.trim()));
            }
        }
    }
    assert!(wrong.is_empty(), "\n{}", wrong.join("\n"));
}

fn sources() -> Vec<PathBuf> {
    let folders = [
        "src",
        "runtime",
        "kubesim",
        "controlplane",
        "procstat",
        "loadgen",
        "tests",
        "benches",
        "examples",
        "baselines/kube-rs",
        "baselines/tare-controller",
    ];
    folders
        .iter()
        .flat_map(|folder| tree::files(folder, "rs"))
        .collect()
}

/// Written by hand: reports of committed runs keep the words of their day.
fn documents() -> Vec<PathBuf> {
    let all = tree::documents().into_iter();
    all.filter(|path| !path.starts_with("results") || path == Path::new("results/README.md"))
        .collect()
}

/// Metrics, and keys of log lines.
fn strings(file: &Path, text: &str) -> Vec<String> {
    let mut wrong = Vec::new();
    for (index, line) in text.lines().enumerate() {
        let words = line.split(|c: char| !c.is_ascii_alphanumeric() && c != '_');
        for word in words.filter(|word| word.starts_with("tare_")) {
            let named = word_problem(word).or_else(|| word.contains("_join").then_some("relist"));
            wrong.extend(named.map(|instead| {
                format!(
                    "{}:{}: metric {word}: use {instead}",
                    file.display(),
                    index + 1
                )
            }));
        }
    }
    wrong.retain(|line| !line.contains("tests/house/"));
    let levels = ["trace", "debug", "info", "warn", "error"];
    let code = tokens(text);
    for (at, token) in code.iter().enumerate() {
        let opens = |n: usize, mark| code.get(at + n).is_some_and(|t| t.text == mark);
        if !levels.contains(&token.text.as_str()) || !opens(1, "!") || !opens(2, "(") {
            continue;
        }
        for pair in code[at + 3..]
            .windows(2)
            .take_while(|pair| pair[0].text != ";")
        {
            if pair[1].text == "="
                && let Some(instead) = word_problem(&pair[0].text)
            {
                let (place, key) = (file.display(), &pair[0].text);
                wrong.push(format!(
                    "{place}:{}: log key {key}: use {instead}",
                    token.line
                ));
            }
        }
    }
    wrong
}

/// Whether the name stands in [`EXCEPTIONS`].
fn excepted(file: &Path, name: &str) -> bool {
    EXCEPTIONS
        .iter()
        .any(|(place, n, _)| file == Path::new(place) && *n == name)
}

/// What to use in place of a declared name.
fn name_problem(what: &str, name: &str) -> Option<&'static str> {
    let exact = match what {
        "struct" | "enum" | "union" | "trait" | "type" | "variant" => listed(TYPES, name),
        "mod" => listed(MODULES, name),
        "fn" => listed(FUNCTIONS, name),
        _ => None,
    };
    exact.or_else(|| word_problem(name)).or_else(|| {
        let spaced = split(name).join(" ");
        PHRASES
            .iter()
            .find(|(phrase, _)| contains(&spaced, phrase))
            .map(|(_, instead)| *instead)
    })
}

fn listed(table: &[(&'static str, &'static str)], name: &str) -> Option<&'static str> {
    let row = table
        .iter()
        .find(|(names, _)| names.split(' ').any(|n| n == name));
    row.map(|(_, instead)| *instead)
}

/// What to use in place of one of the words in a name.
fn word_problem(name: &str) -> Option<&'static str> {
    split(name).iter().find_map(|word| listed(WORDS, word))
}

fn text_problems(line: &str) -> Vec<String> {
    // Go's own command.
    let lower = line.to_lowercase().replace("go mod tidy", "");
    let words = lower.split(|c: char| !c.is_alphanumeric());
    let words = words.filter_map(|word| Some((word.to_owned(), listed(WORDS, word)?)));
    let phrases = PHRASES
        .iter()
        .filter(|(phrase, _)| contains(&lower, phrase));
    let phrases = phrases.map(|(phrase, instead)| ((*phrase).to_owned(), *instead));
    let found = words.chain(phrases);
    found
        .map(|(word, instead)| format!("{word:?}: use {instead}"))
        .collect()
}

/// Whether the phrase stands in the text, not within longer words.
fn contains(text: &str, phrase: &str) -> bool {
    let option = phrase.starts_with("--");
    let free = |c: Option<char>| c.is_none_or(|c| !(c.is_alphanumeric() || option && c == '-'));
    text.match_indices(phrase).any(|(start, _)| {
        free(text[..start].chars().last()) && free(text[start + phrase.len()..].chars().next())
    })
}

/// `fullJoin_owed` as `full`, `join`, `owed`.
fn split(name: &str) -> Vec<String> {
    let mut words = vec![String::new()];
    for c in name.chars() {
        let starts = c == '_' || c.is_uppercase();
        if starts && words.last().is_some_and(|word| !word.is_empty()) {
            words.push(String::new());
        }
        if c != '_'
            && let Some(word) = words.last_mut()
        {
            word.extend(c.to_lowercase());
        }
    }
    words
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_and_texts_are_judged() {
        assert_eq!(split("fullJoin_owed"), ["full", "join", "owed"]);
        assert_eq!(
            name_problem("fn", "relists_owed"),
            Some("a relist is requested")
        );
        assert_eq!(name_problem("fn", "at_rest"), Some("idle"));
        assert_eq!(name_problem("struct", "Slot"), Some("ChildRecord"));
        assert_eq!(name_problem("struct", "Slots"), None);
        assert_eq!(name_problem("fn", "source"), None);
        assert_eq!(text_problems("It was Weighed.").len(), 1);
        assert!(text_problems("--settle-x settles, flight, fetters").is_empty());
    }
}
