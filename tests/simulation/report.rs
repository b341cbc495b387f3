//! The report on all records: what was run, with which faults, and which known bugs were found.
//!
//! Guarantees: every figure is of a record. Leaves to others: the records (`records`).

use std::fmt::Write;
use std::path::Path;

use crate::records::{Bug, Counts, Lives, Seeds, add, read};

/// The report on the records in a folder, as Markdown.
///
/// # Errors
/// A record that cannot be read, or records of different commits.
pub fn of(folder: &Path) -> Result<String, String> {
    let seeds: Vec<Seeds> = read(folder, "seeds-")?;
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
         page from the records in `simulation/`, which `just simulate 100000 results/reliability/simulation` writes.\n\n",
    );
    let mut line = |of: std::fmt::Arguments<'_>| {
        // Writing to a String does not fail.
        let _ = writeln!(text, "{of}");
    };
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
    line(format_args!(
        "| seeds | schedules | failed | minutes | threads | profile | command |"
    ));
    line(format_args!("|---|---:|---:|---:|---:|---|---|"));
    let (mut count, mut failed, mut minutes) = (0, 0, 0.0);
    let (mut steps, mut faults) = (Counts::new(), Counts::new());
    let mut seeds: Vec<&Seeds> = seeds.iter().collect();
    seeds.sort_by_key(|one| one.from);
    for one in seeds {
        let release = match &*one.profile {
            "release" => " --release",
            _ => "",
        };
        line(format_args!(
            "| {} to {} | {} | {} | {:.1} | {} | {} | `FROM={} SEEDS={} cargo test{release} -p tare --test simulation -- seeds` |",
            one.from,
            one.from + one.count - 1,
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
    counts("Steps", "step", &steps, line);
    counts("Faults that met something", "fault", &faults, line);
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
         enough.\n",
        bugs.len()
    ));
    line(format_args!("| bug | seeds | steps | what fails |"));
    line(format_args!("|---|---:|---:|---|"));
    let mut bugs: Vec<&Bug> = bugs.iter().collect();
    bugs.sort_by_key(|one| one.seeds.unwrap_or(u64::MAX));
    for one in bugs {
        let seeds = match one.seeds {
            Some(seeds) => seeds.to_string(),
            None => format!("not within {}", one.most),
        };
        let violation = one.violation.replace('|', "\\|");
        let violation: String = violation.chars().take(120).collect();
        line(format_args!(
            "| {} | {seeds} | {} | `{}` |",
            one.name,
            one.steps,
            violation.replace('`', "'")
        ));
    }
    line(format_args!(
        "\n`cargo test --release -p tare --features mutants --test simulation -- mutants:: --include-ignored`"
    ));
}
