//! The report on all records: what was run, with which faults, and which known bugs were found.
//!
//! Guarantees: every figure is of a record, and no seed counts twice. Leaves to others: the records (`records`).

use std::fmt::Write;
use std::path::Path;

use crate::records::{Bug, Counts, Lives, Seeds, add, read};
use crate::seeds::TWICE;

/// The report on the records in a folder, as Markdown.
///
/// # Errors
/// A record that cannot be read, or seeds that are in two records.
pub fn of(folder: &Path) -> Result<String, String> {
    let mut seeds: Vec<Seeds> = read(folder, "seeds-")?;
    seeds.sort_by_key(|one| one.from);
    if let Some(two) = seeds.windows(2).find(|two| two[1].from < end(&two[0])) {
        return Err(format!("seed {} is in two records", two[1].from));
    }
    let lives: Vec<Lives> = read(folder, "lives-")?;
    let bugs: Vec<Bug> = read(folder, "bug-")?;
    let mut commits: Vec<&str> = Vec::new();
    commits.extend(seeds.iter().map(|one| &*one.commit));
    commits.extend(lives.iter().map(|one| &*one.commit));
    commits.extend(bugs.iter().map(|one| &*one.commit));
    commits.sort_unstable();
    commits.dedup();
    let mut text = String::from(
        "# Simulation\n\n\
         Schedules of faults on paused time, and what must hold after them:\n\
         [correctness](../../docs/design-notes/correctness.md#simulation). `just simulation-report` writes this\n\
         page from the records in `simulation/`, which `just simulate 100000 results/reliability/simulation` writes.\n\
         Minutes and seconds are of a machine that also does other work.\n\n",
    );
    let mut line = |of: std::fmt::Arguments<'_>| {
        // Writing to a String does not fail.
        let _ = writeln!(text, "{of}");
    };
    let commits: Vec<String> = commits.iter().map(|one| format!("`{one}`")).collect();
    line(format_args!("Commit: {}.\n", commits.join(", ")));
    of_seeds(&seeds, &mut line);
    of_lives(&lives, &mut line);
    of_bugs(&bugs, &mut line);
    Ok(text)
}

type Line<'a> = dyn FnMut(std::fmt::Arguments<'_>) + 'a;

fn of_seeds(seeds: &[Seeds], line: &mut Line<'_>) {
    if seeds.is_empty() {
        return;
    }
    line(format_args!("## Seeds\n"));
    let twice: u64 = seeds.iter().map(run_twice).sum();
    line(format_args!(
        "A seed gives a schedule: an operator, a cache mode, steps and faults. {twice} schedules ran twice; a trace that \
         differs counts as failed.\n"
    ));
    line(format_args!(
        "| seeds | schedules | failed | minutes | threads | profile | command |"
    ));
    line(format_args!("|---|---:|---:|---:|---:|---|---|"));
    let (mut count, mut failed, mut minutes) = (0, 0, 0.0);
    let (mut steps, mut faults) = (Counts::new(), Counts::new());
    for one in seeds {
        let release = match &*one.profile {
            "release" => " --release",
            _ => "",
        };
        line(format_args!(
            "| {} to {} | {} | {} | {:.1} | {} | {} | `FROM={} SEEDS={} cargo test{release} -p tare --test simulation -- seeds` |",
            one.from,
            end(one) - 1,
            one.count,
            one.failed.len(),
            one.seconds / 60.0,
            one.threads,
            one.profile,
            one.from,
            one.count,
        ));
        count += one.count;
        failed += one.failed.len();
        minutes += one.seconds / 60.0;
        add(&mut steps, &one.steps);
        add(&mut faults, &one.faults);
    }
    line(format_args!(
        "| all | {count} | {failed} | {minutes:.1} | | | |\n"
    ));
    let all: Vec<String> = seeds
        .iter()
        .flat_map(|one| &one.failed)
        .map(u64::to_string)
        .collect();
    if !all.is_empty() {
        line(format_args!("Seeds that fail: {}.\n", all.join(", ")));
    }
    counts("Steps", "step", &steps, line);
    counts("Faults that met something", "fault", &faults, line);
}

/// The first seed after those of a record.
fn end(seeds: &Seeds) -> u64 {
    seeds.from + seeds.count
}

/// Schedules that ran twice.
fn run_twice(seeds: &Seeds) -> u64 {
    end(seeds).div_ceil(TWICE) - seeds.from.div_ceil(TWICE)
}

fn counts(title: &str, what: &str, all: &Counts, line: &mut Line<'_>) {
    line(format_args!("### {title}\n"));
    line(format_args!("| {what} | count |\n|---|---:|"));
    for (kind, count) in all {
        line(format_args!("| {kind} | {count} |"));
    }
    let sum: u64 = all.values().sum();
    line(format_args!("| all | {sum} |\n"));
}

fn of_lives(lives: &[Lives], line: &mut Line<'_>) {
    if lives.is_empty() {
        return;
    }
    line(format_args!("## Every write of a life\n"));
    line(format_args!(
        "The operator is killed at each write, or at each pair of writes: before it, after it was executed, after it was\n\
         answered.\n"
    ));
    line(format_args!(
        "| operator | cache mode | killed | lives | failed | seconds | profile |"
    ));
    line(format_args!("|---|---|---|---:|---:|---:|---|"));
    for one in lives {
        let killed = if one.in_pairs { "twice" } else { "once" };
        line(format_args!(
            "| {} | {} | {killed} | {} | {} | {:.1} | {} |",
            one.subject, one.mode, one.count, one.failed, one.seconds, one.profile
        ));
    }
    line(format_args!(
        "\n`cargo test --release -p tare --test simulation -- exhaustive --include-ignored`\n"
    ));
}

fn of_bugs(bugs: &[Bug], line: &mut Line<'_>) {
    if bugs.is_empty() {
        return;
    }
    let found = bugs.iter().filter(|one| one.seeds.is_some()).count();
    line(format_args!("## Known bugs\n"));
    line(format_args!(
        "{found} of {} are found. *seeds*: how many were tried until one failed. *steps*: how many of its steps are \
         enough. *repeat*: put `cargo test -p tare --features mutants --test simulation` behind it.\n",
        bugs.len()
    ));
    line(format_args!(
        "| bug | seeds | steps | what fails | repeat |"
    ));
    line(format_args!("|---|---:|---:|---|---|"));
    let mut bugs: Vec<&Bug> = bugs.iter().collect();
    bugs.sort_by_key(|one| one.seeds.unwrap_or(u64::MAX));
    for one in bugs {
        let seeds = match one.seeds {
            Some(seeds) => seeds.to_string(),
            None => format!("not within {}", one.most),
        };
        let repeat = one
            .line
            .split(" cargo ")
            .next()
            .filter(|line| !line.is_empty());
        let repeat = repeat.map_or_else(String::new, |line| format!("`{line}`"));
        let violation = one.violation.replace('|', "\\|");
        let violation: String = violation.chars().take(120).collect();
        line(format_args!(
            "| {} | {seeds} | {} | `{}` | {repeat} |",
            one.name,
            one.steps,
            violation.replace('`', "'")
        ));
    }
    line(format_args!(
        "\n`cargo test --release -p tare --features mutants --test simulation -- mutants:: --include-ignored`"
    ));
}
