//! What was measured of starts, as tables and lines.
//!
//! Guarantees: pure; medians with the least and the most beside them; a failed start is named with its
//! reason, one that wrote something too. Leaves to others: the figures.

use crate::analyse::statistics::median;
use crate::report::Table;
use crate::report::table::{figure, grouped};
use crate::run::restarts::start::Start;
use crate::run::restarts::world::Filled;
use crate::run::restarts::{Converged, Record};

const MB: f64 = 1e6;

/// Heading, and the figure of one start, or of the burst that made the objects.
type Column<T> = (&'static str, fn(&T) -> Option<f64>);

const CONVERGED: [Column<Filled>; 5] = [
    ("RSS settled, MB", |f| {
        Some(f.memory?.memory.rss_bytes as f64 / MB)
    }),
    ("anonymous settled, MB", |f| {
        Some(f.memory?.memory.anon_bytes as f64 / MB)
    }),
    ("RSS peak, MB", |f| Some(f.memory?.peak_bytes? as f64 / MB)),
    ("time to drain, s", |f| Some(f.drain_s)),
    ("CPU, s", |f| f.cpu_s),
];

const SUBJECT: [Column<Start>; 5] = [
    ("RSS, MB", |s| Some(s.memory?.memory.rss_bytes as f64 / MB)),
    ("anonymous, MB", |s| {
        Some(s.memory?.memory.anon_bytes as f64 / MB)
    }),
    ("peak, MB", |s| Some(s.memory?.peak_bytes? as f64 / MB)),
    ("ready after, s", |s| s.ready_s),
    ("CPU, s", |s| s.cpu_s),
];

const SERVER: [Column<Start>; 7] = [
    ("CPU, s", |s| s.server.as_ref()?.cpu_s),
    ("RSS above before, MB", |s| {
        let server = s.server.as_ref()?;
        let above = server.rss_peak_bytes? as f64 - server.rss_before_bytes? as f64;
        Some(above / MB)
    }),
    ("reads", |s| Some(s.server.as_ref()?.reads? as f64)),
    ("writes", |s| Some(s.server.as_ref()?.writes? as f64)),
    ("answers, MB", |s| {
        Some(s.server.as_ref()?.response_bytes? as f64 / MB)
    }),
    ("datastore reads", |s| {
        Some(s.server.as_ref()?.datastore_reads? as f64)
    }),
    ("objects fetched", |s| {
        Some(s.server.as_ref()?.datastore_objects? as f64)
    }),
];

/// How the objects came to be, and two tables for each size: the subject's own figures, and the API
/// server's.
pub fn tables(record: &Record) -> Vec<Table> {
    std::iter::once(converged(record))
        .chain(starts(record))
        .collect()
}

/// One row for each size.
fn converged(record: &Record) -> Table {
    let row = |converged: &Converged| {
        let cells = CONVERGED.iter();
        let cells = cells.map(|(_, of)| figure(of(&converged.filled)));
        let name = format!("{} under {}", grouped(converged.objects), converged.subject);
        std::iter::once(name).chain(cells).collect()
    };
    Table {
        title: "Objects that were offered at once, and whoever looked after them".into(),
        header: header(&CONVERGED),
        rows: record.converged.iter().map(row).collect(),
    }
}

fn starts(record: &Record) -> Vec<Table> {
    let of_size = |converged: &Converged| {
        let objects = grouped(converged.objects);
        [
            ("what a start weighs and takes", &SUBJECT[..]),
            ("what a start costs the API server", &SERVER[..]),
        ]
        .map(|(what, columns)| Table {
            title: format!("{objects} objects: {what}"),
            header: header(columns),
            rows: record
                .origin
                .subjects
                .iter()
                .map(|subject| row(record, converged.objects, &subject.subject.id(), columns))
                .collect(),
        })
    };
    record.converged.iter().flat_map(of_size).collect()
}

fn header<T>(columns: &[Column<T>]) -> Vec<String> {
    let names = columns.iter().map(|(name, _)| (*name).to_owned());
    std::iter::once(String::new()).chain(names).collect()
}

fn row(record: &Record, objects: usize, subject: &str, columns: &[Column<Start>]) -> Vec<String> {
    let starts = || {
        let own = record.starts.iter();
        own.filter(|s| s.objects == objects && s.subject == subject && s.failure.is_none())
    };
    let cells = columns.iter().map(|(_, of)| {
        let values: Vec<f64> = starts().filter_map(of).collect();
        spread(&values)
    });
    std::iter::once(subject.to_owned()).chain(cells).collect()
}

/// The median; with the range where it shows.
fn spread(values: &[f64]) -> String {
    let typical = figure(median(values));
    let least = values.iter().copied().reduce(f64::min);
    let most = values.iter().copied().reduce(f64::max);
    let (least, most) = (figure(least), figure(most));
    if least == most {
        typical
    } else {
        format!("{typical} ({least} to {most})")
    }
}

/// One line for each start that failed, was still at work or changed something.
pub fn failures(record: &Record) -> Vec<String> {
    let lines = record.starts.iter().flat_map(|start| {
        let name = start.name();
        let failed = start.failure.as_ref().map(|failure| {
            let words = failure.last_log_lines.iter().map(|line| format!("\n    | {line}"));
            format!("FAILED {name}: {}{}", failure.reason, words.collect::<String>())
        });
        let restless = (start.failure.is_none() && !start.was_quiet)
            .then(|| format!("NOT VALID {name}: still at work, weighed as it was"));
        let writes = start.server.as_ref().and_then(|server| server.writes);
        let wrote = writes.filter(|writes| *writes > 0).map(|writes| {
            format!("NOT VALID {name}: it wrote {writes} times, so these were not its objects as it wants them")
        });
        [failed, restless, wrote].into_iter().flatten()
    });
    lines.collect()
}

/// One start in one line.
pub fn sentence(start: &Start) -> String {
    let name = start.name();
    match (&start.failure, start.memory) {
        (Some(failure), _) => format!("{name}: FAILED: {}", failure.reason),
        (None, memory) => {
            let rss = figure(memory.map(|m| m.memory.rss_bytes as f64 / MB));
            let ready = figure(start.ready_s);
            format!("{name}: {rss} MB RSS, ready after {ready} s")
        }
    }
}

/// How often each was started, in words.
fn times(record: &Record, objects: usize) -> String {
    let starts = |id: &str| {
        let own = record.starts.iter();
        own.filter(|s| s.objects == objects && s.subject == id)
            .count()
    };
    let subjects = record.origin.subjects.iter();
    let counts = subjects.map(|subject| starts(&subject.subject.id()));
    let (least, most) = counts.fold((usize::MAX, 0), |(least, most), n| {
        (least.min(n), most.max(n))
    });
    match (least, most) {
        (1, 1) => "once".into(),
        (least, most) if least < most => format!("{least} to {most} times"),
        (_, most) => format!("{most} times"),
    }
}

/// Whether the server fetched objects for whatever reason.
fn fetched(start: &Start) -> bool {
    let objects = start
        .server
        .as_ref()
        .and_then(|server| server.datastore_objects);
    objects.is_some_and(|objects| objects > 0)
}

/// The objects of one size in one line.
pub fn came_to_be(converged: &Converged) -> String {
    let filled = &converged.filled;
    let rss = figure(filled.memory.map(|m| m.memory.rss_bytes as f64 / MB));
    format!(
        "{} objects converged under {} in {:.0} s, which then held {rss} MB RSS",
        grouped(converged.objects),
        converged.subject,
        filled.drain_s,
    )
}

/// The page for a repository.
pub fn markdown(record: &Record) -> String {
    let origin = &record.origin;
    let environment = &origin.environment;
    let machine = &environment.machine;
    let known = |text: &Option<String>| text.clone().unwrap_or_else(|| "unknown".into());
    let mut text = format!(
        "# Starts on objects that are there already, {}, {}\n\n",
        environment.host_label, environment.started_at
    );
    for table in tables(record) {
        text.push_str(&table.markdown());
        text.push('\n');
    }
    let failures = failures(record);
    if !failures.is_empty() {
        text.push_str(&format!("```\n{}\n```\n\n", failures.join("\n")));
    }
    text.push_str("### Notes\n\n- Medians of ");
    text.push_str(&format!(
        "the starts, with the least and the most; weighed after {} s of quiet.\n",
        record.quiet_s
    ));
    text.push_str(
        "- Answers and reads are those of `get` and `list`, from the server's own metrics; watches are not among \
         them. Datastore reads and fetched objects are those for EdgeApps, Deployments and Services.\n",
    );
    if record.starts.iter().any(fetched) {
        text.push_str(
            "- Where objects were fetched, they came from the datastore: as pages that the watch cache did not \
             answer (then there are about as many datastore reads as reads), or for kube-apiserver's own comparison \
             of its cache with the datastore, every 5 to 7.5 minutes for each kind (`ConsistencyCheckPeriod`, \
             apiserver v0.36.4). Such starts cost it more CPU and memory than others.\n",
        );
    }
    text.push_str(&format!(
        "- Objects of {} bytes; a peak is that of a whole life, its start included.\n",
        origin.scenario.object_bytes
    ));
    for one in &record.converged {
        let data = one.datastore_size_bytes.map_or(String::new(), |bytes| {
            format!("the datastore held {:.0} MB, and ", bytes as f64 / MB)
        });
        let (objects, times) = (grouped(one.objects), times(record, one.objects));
        text.push_str(&format!(
            "- With {objects} objects {data}each subject was started {times}.\n"
        ));
    }
    text.push_str(&format!(
        "\n### Where this comes from\n\n- command: `{}`\n- revision: {}\n- control plane: {}, {}, {}\n- kernel: {}\n\
         - CPU: {}, {} cores\n- MB are 1,000,000 bytes\n",
        environment.command_line,
        environment.tare_revision,
        environment.control_plane,
        known(&record.kubernetes_version),
        environment.control_plane_flags,
        known(&machine.kernel),
        known(&machine.cpu_model),
        machine.cores.map_or("?".into(), |cores| cores.to_string()),
    ));
    text
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_range_is_shown_where_there_is_one() {
        assert_eq!(spread(&[]), "–");
        assert_eq!(spread(&[4.0, 4.001]), "4.00");
        assert_eq!(spread(&[4.2, 4.0, 4.1]), "4.10 (4.00 to 4.20)");
    }
}
