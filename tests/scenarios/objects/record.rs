//! What was tested, as lines of JSON and as a page.
//!
//! Guarantees: with `OBJECTS_RECORDS=FILE` each test appends a line, also when it fails, and the page `FILE.md` is made of
//! the last line of each. Nothing is written without it.

use std::collections::BTreeMap;
use std::fs::OpenOptions;
use std::io::Write;
use std::path::PathBuf;
use std::time::Instant;

use libtest_mimic::{Failed, Trial};
use serde::{Deserialize, Serialize};

const HEAD: &str = "\
# Generated objects

Objects and edits that are generated from schemas, tests of `tests/scenarios/objects`:
[what they check](../../docs/design-notes/correctness.md#objects-nobody-thought-of). Of `kube` the same operations are done on
kube-apiserver and on the simulated server, with the same answers and the same objects at the end. Seconds are of a machine that
also does other work: tests run beside each other. Made by `just objects-report`, which also writes the lines that this page is made
of, `objects.jsonl`.

";

/// What a test has done.
#[derive(Debug, Default, Serialize, Deserialize)]
pub struct Counts {
    /// Requests of users that the server answered, or bad objects that it refused.
    pub operations: usize,
    /// Generated sequences; 0 for bad objects.
    pub cases: u64,
    /// Answers other than 200.
    pub refused: usize,
}

#[derive(Serialize, Deserialize)]
struct Record {
    test: String,
    /// Version and commit of what ran.
    commit: String,
    seed: u64,
    #[serde(flatten)]
    counts: Counts,
    seconds: f64,
    failed: Option<String>,
}

/// A test whose counts are kept, under its name without `objects::`.
pub fn trial(
    name: String,
    seed: u64,
    test: impl FnOnce() -> Result<Counts, Failed> + Send + 'static,
) -> Trial {
    Trial::test(format!("objects::{name}"), move || {
        let began = Instant::now();
        let ended = test();
        let failed = ended.as_ref().err();
        let failed = failed.map(|failed| failed.message().unwrap_or("it failed").to_owned());
        let record = Record {
            test: name,
            commit: env!("TARE_VERSION").to_owned(),
            seed,
            counts: ended.unwrap_or_default(),
            seconds: began.elapsed().as_secs_f64(),
            failed,
        };
        keep(&record)?;
        record.failed.map_or(Ok(()), |failed| Err(failed.into()))
    })
}

fn file() -> Option<PathBuf> {
    std::env::var_os("OBJECTS_RECORDS").map(PathBuf::from)
}

fn keep(record: &Record) -> Result<(), Failed> {
    let Some(path) = file() else {
        return Ok(());
    };
    let line = serde_json::to_string(record)? + "\n";
    let file = OpenOptions::new().create(true).append(true).open(path);
    // One write appends the whole line, also beside other tests.
    Ok(file?.write_all(line.as_bytes())?)
}

/// Writes the page on what was kept.
///
/// # Errors
/// A line that cannot be read, or a page that cannot be written.
pub fn write_page() -> Result<(), Failed> {
    let Some(lines) = file().filter(|lines| lines.exists()) else {
        return Ok(());
    };
    let text = std::fs::read_to_string(&lines)?;
    let mut records = BTreeMap::new();
    for line in text.lines() {
        let record: Record = serde_json::from_str(line)?;
        records.insert(record.test.clone(), record);
    }
    Ok(std::fs::write(lines.with_extension("md"), page(&records))?)
}

fn page(records: &BTreeMap<String, Record>) -> String {
    let mut commits: Vec<&str> = records.values().map(|one| &*one.commit).collect();
    commits.sort_unstable();
    commits.dedup();
    let mut sums = BTreeMap::new();
    let mut table = "| test | seed | operations | of them refused | cases | seconds | result |\n\
                     |---|--:|--:|--:|--:|--:|---|\n"
        .to_owned();
    for one in records.values() {
        let Counts {
            operations,
            cases,
            refused,
        } = one.counts;
        let first = one.failed.as_ref().and_then(|failed| failed.lines().next());
        let result = first.map_or("passed".to_owned(), |first| {
            format!("**failed**: {}", first.replace('|', "\\|"))
        });
        table += &format!(
            "| {} | {} | {operations} | {refused} | {cases} | {:.1} | {result} |\n",
            one.test, one.seed, one.seconds
        );
        *sums.entry(group(&one.test)).or_insert(0) += operations;
    }
    let sums: Vec<String> = sums
        .iter()
        .map(|(group, sum)| format!("| {group} | {sum} |\n"))
        .collect();
    format!(
        "{HEAD}Commit: {}.\n\n| all of | operations |\n|---|--:|\n{}\n{table}",
        commits.join(", "),
        sums.concat()
    )
}

/// The tests whose operations are added up.
fn group(test: &str) -> &'static str {
    match (test.starts_with("kube"), test.contains("bad_objects")) {
        (false, false) => "simulated",
        (true, false) => "kube",
        (false, true) => "simulated::bad_objects",
        (true, true) => "kube::bad_objects",
    }
}
