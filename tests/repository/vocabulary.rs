//! One word for each thing: some words that have a standard name in the field are not used.
//!
//! Guarantees: names that are declared in Rust, generated help and documents are searched; a failure names file and line, and what
//! to use instead. Reports of committed runs and the changelog's tables of renames are exempt. Leaves to others: comments.

use std::path::Path;

use regex::Regex;

use crate::programs;
use crate::tree;

/// What is not said, as regular expressions of whole words, and what is said instead.
const WORDS: &[(&str, &str)] = &[
    ("owed?|owes", "a relist is requested"),
    ("sights?", "what was seen"),
    ("watchman", "settle detector"),
    ("fought|fights?|fighting", "field conflict"),
    ("lanes?", "overlap"),
    ("twins?", "A/A"),
    ("telltale|tell[ -]tale", "scrape"),
    ("tidy|tidies|tidying", "trim"),
    ("unready", "never ready"),
    ("(?:full|first|periodic|the|a) join|joins", "relist"),
    ("at rest|left alone", "idle"),
    ("last words", "log tail"),
    ("again and again", "repeated"),
];

fn words() -> Vec<(Regex, &'static str)> {
    let word = |(word, instead): &(&str, &'static str)| {
        let whole = Regex::new(&format!(r"(?i)(?:\b|_)(?:{word})(?:\b|_)"));
        (whole.expect("a regular expression"), *instead)
    };
    WORDS.iter().map(word).collect()
}

/// What is wrong with a line.
fn problems(line: &str, words: &[(Regex, &'static str)]) -> Vec<String> {
    // Go's own command.
    let line = line.replace("go mod tidy", "");
    let found = words.iter().filter_map(|(word, instead)| {
        let found = word.find(&line)?;
        Some(format!("{:?}: use {instead}", found.as_str()))
    });
    found.collect()
}

#[test]
fn names_help_and_documents_use_the_fields_words() {
    let words = words();
    let mut wrong = Vec::new();
    let mut look = |place: &str, lines: &mut dyn Iterator<Item = (usize, &str)>| {
        for (index, line) in lines {
            let all = problems(line, &words);
            wrong.extend(all.iter().map(|it| format!("{place}:{}: {it}", index + 1)));
        }
    };
    let declares = Regex::new(
        r"^\s*(?:pub(?:\(\w+\))? )?(?:async )?(?:fn|struct|enum|trait|mod|const|static|type) ",
    )
    .expect("a regular expression");
    for file in tree::files("", "rs") {
        let text = tree::text(&file);
        let lines = text.lines().enumerate();
        let mut declared = lines.filter(|(_, line)| declares.is_match(line));
        look(&file.display().to_string(), &mut declared);
    }
    for path in tree::documents() {
        // Reports of committed runs keep the words of their day.
        if path.starts_with("results") && path != Path::new("results/README.md") {
            continue;
        }
        let renames = path == Path::new("CHANGELOG.md");
        let text = tree::text(&path);
        let lines = text.lines().enumerate();
        let mut lines = lines.filter(|(_, line)| !(renames && line.starts_with('|')));
        look(&path.display().to_string(), &mut lines);
    }
    let texts = programs::help_texts();
    assert!(texts.len() > 10, "every command has a help");
    for (command, text) in &texts {
        look(command, &mut text.lines().enumerate());
    }
    assert!(wrong.is_empty(), "\n{}", wrong.join("\n"));
}

#[test]
fn whole_words_are_found() {
    let found = |line: &str| problems(line, &words()).len();
    assert_eq!(found("fn relists_owed() {"), 1);
    assert_eq!(found("It is Unready, and at rest."), 2);
    assert_eq!(found("flight, fetters, twine and joined"), 0);
}
