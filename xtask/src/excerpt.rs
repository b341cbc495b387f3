//! A table of chosen figures for a document: `<!-- loadgen figures: begin FOLDER objects=5000 rows=… subjects=… -->`.
//!
//! Guarantees: pure; every figure is one of the tables of the report, with its label and its unit, and with the lowest
//! and the highest of its runs; a name that is not one is an error that names it. Below the table stands what it was
//! measured on, how many runs are behind it, and after which delay a Deployment was ready; a line whose runs are
//! more or fewer than the others' says how many. `begin FOLDER,FOLDER lines=subjects …` has the subjects of several folders, each
//! with its number of objects. Leaves to others: the marks (`marks`), what a figure is (`rows`).

use std::collections::BTreeSet;
use std::path::{Path, PathBuf};

use thiserror::Error;

use crate::marks::Marks;
use loadgen::plan::cell::Kind;
use loadgen::record::summary::{Subject, Summary};
use loadgen::report::rows::{Row, largest_of, sizes};
use loadgen::report::table::{Table, grouped};
use loadgen::report::title;

pub const FIGURES: Marks = Marks("figures");

#[derive(Debug, Error, PartialEq, Eq)]
pub enum Error {
    #[error(
        "{0:?} is no option of figures; there are objects=N,M, rows=NAME,NAME, subjects=A,B and lines=subjects"
    )]
    Option(String),
    #[error("rows= is missing: name figures of the report, such as rows=memory.settled.rss_bytes")]
    NoRows,
    #[error("rows={0}: no figure; `loadgen metrics` lists all")]
    Row(String),
    #[error("subjects={0}: not in the folder; there are {1}")]
    Subject(String, String),
    #[error("objects={0}: not a number of objects of the folder; there are {1}")]
    Size(String, String),
    #[error("several folders have a line for each subject: write lines=subjects")]
    NotTurned,
}

/// What a block shows.
pub struct Excerpt<'a> {
    rows: Vec<Row>,
    sizes: Vec<usize>,
    subjects: Vec<&'a Subject>,
    /// A line for each subject and a column for each figure, in place of the other way round.
    is_turned: bool,
}

impl<'a> Excerpt<'a> {
    /// From the options of a mark. Without `subjects` all of the folder, without `objects` its largest size.
    pub fn of(summary: &'a Summary, options: &[&str]) -> Result<Excerpt<'a>, Error> {
        let mut rows = Vec::new();
        let measured = sizes(summary);
        let mut chosen = measured.last().copied().into_iter().collect::<Vec<usize>>();
        let mut subjects: Vec<&Subject> = summary.subjects.iter().collect();
        let mut is_turned = false;
        for option in options {
            let unknown = || Error::Option((*option).to_owned());
            let (name, value) = option.split_once('=').ok_or_else(unknown)?;
            let values = value.split(',');
            match name {
                "rows" => {
                    let row = |name: &str| Row::named(name).ok_or(Error::Row(name.to_owned()));
                    rows = values.map(row).collect::<Result<_, _>>()?;
                }
                "objects" => {
                    let size = |value: &str| size(value, &measured);
                    chosen = values.map(size).collect::<Result<_, _>>()?;
                }
                "lines" if value == "subjects" => is_turned = true,
                "subjects" => {
                    let subject = |id: &str| subject(summary, id);
                    subjects = values.map(subject).collect::<Result<_, _>>()?;
                }
                _ => return Err(unknown()),
            }
        }
        match rows.is_empty() {
            true => Err(Error::NoRows),
            false => Ok(Excerpt {
                rows,
                sizes: chosen,
                subjects,
                is_turned,
            }),
        }
    }

    /// The header, and the lines below it.
    pub fn table(&self, summary: &Summary) -> (Vec<String>, Vec<Vec<String>>) {
        let header = self.subjects.iter().map(|subject| subject.id());
        let header: Vec<String> = std::iter::once(String::new()).chain(header).collect();
        let counts = self.all_counts();
        let figures = self.rows.iter();
        let lines = figures.flat_map(|row| self.lines(summary, *row, &counts));
        let rows: Vec<Vec<String>> = lines.collect();
        match self.is_turned {
            true => turned(header, rows),
            false => (header, rows),
        }
    }

    /// One line for each size, or one where the figure has none; `counts` are the runs behind all figures.
    fn lines(&self, summary: &Summary, row: Row, counts: &BTreeSet<usize>) -> Vec<Vec<String>> {
        let line = |mut label: String, row: Row, objects: usize| {
            let own = self.counts(row, &[objects]);
            if !own.is_empty() && own != *counts {
                label.push_str(&format!(", {}", times(&own)));
            }
            let cells = self
                .subjects
                .iter()
                .map(|subject| row.cell_with_spread(subject, objects));
            std::iter::once(label).chain(cells).collect()
        };
        if row.kind.is_none() {
            return vec![line(row.label().to_owned(), row, 0)];
        }
        let of_size = self.sizes.iter().map(|objects| {
            let (row, objects) = self.counted(summary, row, *objects);
            let label = match (self.sizes.len(), row.kind) {
                (1, Some(Kind::RequestCount)) | (2.., _) => {
                    format!("{}, {} objects", row.label(), grouped(objects))
                }
                _ => row.label().to_owned(),
            };
            line(label, row, objects)
        });
        of_size.collect()
    }

    /// On a real server requests are counted in runs of their own, which may have another size.
    fn counted(&self, summary: &Summary, row: Row, objects: usize) -> (Row, usize) {
        let measured = |row: &Row| {
            self.subjects
                .iter()
                .any(|s| row.value(s, objects).is_some())
        };
        match largest_of(summary, Kind::RequestCount) {
            Some(size) if row.name().starts_with("requests.") && !measured(&row) => {
                (row.from(Kind::RequestCount), size)
            }
            _ => (row, objects),
        }
    }

    /// Runs, server, day, machine and commit.
    fn setting(&self, summary: &Summary) -> String {
        let environment = &summary.environment;
        let version = environment.kubernetes_version.as_deref();
        let cores = environment.machine.cores;
        format!(
            "{}{}; {}{}, {}, {}{}, commit {}",
            runs(&self.all_counts()),
            match summary.scenario.ready_delay_ms {
                0 => String::new(),
                ms => format!("; a Deployment is ready {ms} ms after it was created"),
            },
            version.map_or(String::new(), |version| format!(
                "Kubernetes {} on ",
                version.trim_start_matches('v')
            )),
            title::control_plane(&environment.control_plane),
            environment.started_at.get(..10).unwrap_or_default(),
            environment.host_label,
            cores.map_or(String::new(), |cores| format!(" with {cores} cores")),
            title::short(&environment.loadgen_commit),
        )
    }

    /// How many runs are behind the figures of a row, each number once.
    fn counts(&self, row: Row, sizes: &[usize]) -> BTreeSet<usize> {
        let of = |subject: &Subject| {
            let sizes = sizes.iter().map(|size| row.values(subject, *size).len());
            sizes.collect::<Vec<usize>>()
        };
        let counts = self.subjects.iter().flat_map(|subject| of(subject));
        counts.filter(|count| *count > 0).collect()
    }

    fn all_counts(&self) -> BTreeSet<usize> {
        let rows = self.rows.iter();
        rows.flat_map(|row| self.counts(*row, &self.sizes))
            .collect()
    }
}

/// The table and the line below it. Each summary comes with the link from the document to its folder.
pub fn page(folders: &[(&Summary, PathBuf)], options: &[&str]) -> Result<String, Error> {
    let are_several = folders.len() > 1;
    let mut table = Table {
        title: String::new(),
        header: Vec::new(),
        rows: Vec::new(),
    };
    let (mut settings, mut links) = (Vec::new(), Vec::new());
    for (summary, link) in folders {
        let excerpt = Excerpt::of(summary, options)?;
        if are_several && !excerpt.is_turned {
            return Err(Error::NotTurned);
        }
        let (mut header, mut rows) = excerpt.table(summary);
        if are_several {
            let sizes: Vec<String> = excerpt.sizes.iter().copied().map(grouped).collect();
            header.insert(1, "objects".to_owned());
            rows.iter_mut()
                .for_each(|row| row.insert(1, sizes.join(" / ")));
        }
        table.header = header;
        table.rows.extend(rows);
        let setting = excerpt.setting(summary);
        if !settings.contains(&setting) {
            settings.push(setting);
        }
        links.push(data(link));
    }
    Ok(format!(
        "{}\n{}. MB are 1,000,000 bytes. Data: {}.\n",
        table.markdown_rows(),
        settings.join(". "),
        links.join(", ")
    ))
}

/// A link to the report of a folder.
fn data(link: &Path) -> String {
    let name = link.file_name().unwrap_or_default().to_string_lossy();
    format!("[{name}]({})", link.join("report.md").display())
}

fn runs(counts: &BTreeSet<usize>) -> String {
    match counts.last() {
        Some(1) => "One run each".to_owned(),
        Some(_) => format!(
            "Medians of {}, with the lowest and the highest",
            times(counts)
        ),
        None => "No valid runs".to_owned(),
    }
}

/// Lines as columns, and columns as lines.
fn turned(header: Vec<String>, rows: Vec<Vec<String>>) -> (Vec<String>, Vec<Vec<String>>) {
    let lines: Vec<Vec<String>> = std::iter::once(header).chain(rows).collect();
    let columns = lines.first().map_or(0, Vec::len);
    let mut turned = (0..columns).map(|column| {
        let cells = lines.iter().filter_map(|line| line.get(column).cloned());
        cells.collect::<Vec<String>>()
    });
    (turned.next().unwrap_or_default(), turned.collect())
}

/// How many runs: 3 runs, 2 to 4 runs.
fn times(counts: &BTreeSet<usize>) -> String {
    match (counts.first(), counts.last()) {
        (Some(1), Some(1)) => "1 run".to_owned(),
        (Some(least), Some(most)) if least != most => format!("{least} to {most} runs"),
        (_, most) => format!("{} runs", most.unwrap_or(&0)),
    }
}

fn size(value: &str, measured: &[usize]) -> Result<usize, Error> {
    let known = |size: &usize| measured.contains(size);
    let size = value.parse().ok().filter(known);
    size.ok_or_else(|| {
        let sizes: Vec<String> = measured.iter().map(usize::to_string).collect();
        Error::Size(value.to_owned(), sizes.join(", "))
    })
}

fn subject<'a>(summary: &'a Summary, id: &str) -> Result<&'a Subject, Error> {
    let found = summary.subjects.iter().find(|subject| subject.id() == id);
    found.ok_or_else(|| {
        let ids: Vec<String> = summary.subjects.iter().map(Subject::id).collect();
        Error::Subject(id.to_owned(), ids.join(", "))
    })
}

#[cfg(test)]
mod tests {
    use loadgen::record::summary::{Run, sample};

    use super::*;

    fn summary() -> Summary {
        let run = Run::without_figures(Kind::Memory, 20, 1, vec![]);
        let mut summary = sample(vec![run.with("memory.settled.rss_bytes", 3e6)]);
        summary.subjects[0].binary_bytes = Some(2_500_000);
        summary
    }

    fn of_mine(summary: &Summary, options: &[&str]) -> String {
        page(&[(summary, PathBuf::from("results/mine"))], options).expect("known")
    }

    #[test]
    fn each_figure_has_a_line_and_the_machine_stands_below() {
        let summary = summary();
        let options = [
            "rows=memory.settled.rss_bytes,binary_bytes",
            "subjects=tare/none",
        ];
        let text = of_mine(&summary, &options);
        for want in [
            "| RSS settled, MB | 3.00 |",
            "| binary, MB | 2.50 |",
            "One run each; kube-apiserver with etcd, 2026-11-21",
            "(results/mine/report.md)",
        ] {
            assert!(text.contains(want), "{want} not in {text}");
        }
    }

    #[test]
    fn the_spread_stands_in_the_cell_and_the_number_of_runs_where_it_differs() {
        let run = |n, mb: f64| {
            let run = Run::without_figures(Kind::Memory, 20, n, vec![]);
            run.with("memory.settled.rss_bytes", mb * 1e6)
        };
        let last = run(3, 3.5).with("memory.settled.peak_bytes", 5e6);
        let mut summary = sample(vec![run(1, 3.0), run(2, 3.25), last]);
        summary.scenario.ready_delay_ms = 2_000;
        let options = ["rows=memory.settled.rss_bytes,memory.settled.peak_bytes"];
        let text = of_mine(&summary, &options);
        for want in [
            "| RSS settled, MB, 3 runs | 3.25 (3.00 to 3.50) |",
            "| RSS peak until settled, MB, 1 run | 5.00 |",
            "Medians of 1 to 3 runs, with the lowest and the highest; a Deployment is ready 2000 ms after it was created;",
        ] {
            assert!(text.contains(want), "{want} not in {text}");
        }
    }

    #[test]
    fn subjects_may_be_lines_and_figures_columns() {
        let summary = summary();
        let options = [
            "rows=memory.settled.rss_bytes,binary_bytes",
            "lines=subjects",
        ];
        let text = of_mine(&summary, &options);
        let want = "|  | RSS settled, MB | binary, MB |\n| --- | ---: | ---: |\n| tare/none | 3.00 | 2.50 |\n";
        assert!(text.starts_with(want), "{text}");
    }

    #[test]
    fn subjects_of_several_folders_have_lines_of_one_table() {
        let (first, mut second) = (summary(), summary());
        second.subjects[0].name = "other".to_owned();
        let folders = [("a", &first), ("b", &second)];
        let folders = folders.map(|(name, summary)| (summary, Path::new("results").join(name)));
        let options = ["rows=memory.settled.rss_bytes", "lines=subjects"];
        let text = page(&folders, &options).expect("known");
        for want in [
            "|  | objects | RSS settled, MB |\n| --- | ---: | ---: |\n| tare/none | 20 | 3.00 |\n| other/none | 20 | 3.00 |\n",
            "\nOne run each; kube-apiserver with etcd, 2026-11-21",
            "Data: [a](results/a/report.md), [b](results/b/report.md).\n",
        ] {
            assert!(text.contains(want), "{want} not in {text}");
        }
        assert_eq!(text.matches("One run each").count(), 1, "{text}");
        assert_eq!(page(&folders, &options[..1]), Err(Error::NotTurned));
    }

    #[test]
    fn what_is_no_figure_size_or_subject_is_named() {
        let summary = summary();
        for (options, want) in [
            (
                "rows=memory.settled.megabytes",
                "rows=memory.settled.megabytes: no figure; `loadgen metrics` lists all",
            ),
            (
                "rows=binary_bytes subjects=nobody/x",
                "subjects=nobody/x: not in the folder; there are tare/none",
            ),
            (
                "rows=binary_bytes objects=21",
                "objects=21: not a number of objects of the folder; there are 20",
            ),
            ("objects=20", "rows= is missing"),
            ("columns=a", "\"columns=a\" is no option of figures"),
        ] {
            let options: Vec<&str> = options.split(' ').collect();
            let refused = Excerpt::of(&summary, &options).err().expect("refused");
            assert!(refused.to_string().contains(want), "{refused}");
        }
    }

    #[test]
    fn a_size_that_was_not_measured_lists_those_that_were() {
        assert_eq!(size("500", &[0, 500]), Ok(500));
        let said = size("5k", &[0, 500]).expect_err("no size").to_string();
        assert_eq!(
            said,
            "objects=5k: not a number of objects of the folder; there are 0, 500"
        );
    }
}
