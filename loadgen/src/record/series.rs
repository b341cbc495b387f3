//! Memory and CPU of a run over time: one row for each look, as `series/*.tsv.gz` holds them. Each number of a
//! file is the difference to the last known one of its column (the first one to 0), which packs to a third.
//!
//! Guarantees: bounded; a figure that was not known is empty in the file and `None` here, never 0.
//! What is written is read back the same. Leaves to others: taking the samples (`watch::series`).

use std::mem;

/// Rows that are kept at most; then every second one is dropped, and samples are taken half as often.
pub const MOST_ROWS: usize = 20_000;
/// Four samples a second.
pub const EVERY_MS: u64 = 250;

/// The columns, in the order of the file.
const COLUMNS: [&str; 8] = [
    "at_ms",
    "rss_bytes",
    "anon_bytes",
    "cgroup_bytes",
    "cpu_ms",
    "server_cpu_ms",
    "server_rss_bytes",
    "ready",
];
/// Begins the line that says how far apart the samples are.
const EVERY: &str = "# every_ms ";
/// Says that the numbers are differences.
const DIFFERENCES: &str = "# differences to the row before";

/// Samples of one run, in order of time.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Series {
    /// Between two samples.
    pub every_ms: u64,
    pub rows: Vec<SeriesRow>,
}

/// One sample. CPU counts from the start of the process; a restarted subject begins at 0 again.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct SeriesRow {
    /// Since the run began, as in the steps of the record.
    pub at_ms: u64,
    pub rss_bytes: Option<u64>,
    pub anon_bytes: Option<u64>,
    /// The working set of the subject's cgroup.
    pub cgroup_bytes: Option<u64>,
    pub cpu_ms: Option<u64>,
    pub server_cpu_ms: Option<u64>,
    pub server_rss_bytes: Option<u64>,
    /// Objects that were ready.
    pub ready: Option<u64>,
}

/// A file of samples that loadgen did not write.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum Error {
    #[error("line {line}: {what}")]
    Line { line: usize, what: String },
    #[error("there is no line of column names")]
    NoColumns,
}

impl Series {
    /// # Errors
    /// `Line` names the first line that is not as it was written.
    pub fn parse(text: &str) -> Result<Self, Error> {
        let mut lines = (1..).zip(text.lines());
        let mut heading = || lines.next().ok_or(Error::NoColumns);
        let (line, every_ms) = heading()?;
        let number = every_ms.strip_prefix(EVERY).and_then(|it| it.parse().ok());
        let every_ms = number.ok_or_else(|| Error::Line {
            line,
            what: format!("{every_ms:?} is not {EVERY:?} and a number"),
        })?;
        for wanted in [DIFFERENCES, &COLUMNS.join("\t")] {
            let (line, text) = heading()?;
            if text != wanted {
                let what = match wanted {
                    DIFFERENCES => format!("is not {DIFFERENCES:?}"),
                    _ => format!("the columns are not {}", COLUMNS.join(" ")),
                };
                return Err(Error::Line { line, what });
            }
        }
        let mut last = [0; COLUMNS.len()];
        let row = |(line, text)| row(text, &mut last).map_err(|what| Error::Line { line, what });
        let rows = lines.map(row).collect::<Result<_, _>>()?;
        Ok(Self { every_ms, rows })
    }

    pub fn to_tsv(&self) -> String {
        let (every_ms, columns) = (self.every_ms, COLUMNS.join("\t"));
        let mut text = format!("{EVERY}{every_ms}\n{DIFFERENCES}\n{columns}\n");
        let mut last = [0; COLUMNS.len()];
        for row in &self.rows {
            let fields = row.fields().into_iter().zip(&mut last);
            let differences = fields.map(|(field, last)| match field {
                Some(field) => {
                    (i128::from(field) - i128::from(mem::replace(last, field))).to_string()
                }
                None => String::new(),
            });
            text.push_str(&differences.collect::<Vec<_>>().join("\t"));
            text.push('\n');
        }
        text
    }

    /// Adds a row; a full series is thinned out first.
    pub fn push(&mut self, row: SeriesRow) {
        if self.rows.len() >= MOST_ROWS {
            self.every_ms *= 2;
            let mut index = 0_usize;
            self.rows.retain(|_| {
                index += 1;
                index % 2 == 1
            });
        }
        self.rows.push(row);
    }
}

impl SeriesRow {
    /// In the order of the columns.
    fn fields(&self) -> [Option<u64>; COLUMNS.len()] {
        [
            Some(self.at_ms),
            self.rss_bytes,
            self.anon_bytes,
            self.cgroup_bytes,
            self.cpu_ms,
            self.server_cpu_ms,
            self.server_rss_bytes,
            self.ready,
        ]
    }
}

/// A line, whose numbers are added to the last known ones of their columns.
fn row(line: &str, last: &mut [u64; COLUMNS.len()]) -> Result<SeriesRow, String> {
    let texts: Vec<&str> = line.split('\t').collect();
    if texts.len() != COLUMNS.len() {
        return Err(format!("{} fields, not {}", texts.len(), COLUMNS.len()));
    }
    let mut fields = [None; COLUMNS.len()];
    for ((field, text), last) in fields.iter_mut().zip(texts).zip(last) {
        if text.is_empty() {
            continue;
        }
        let difference = text.parse::<i64>();
        let difference = difference.map_err(|_| format!("{text:?} is no number"))?;
        let sum = last.checked_add_signed(difference);
        *last = sum.ok_or_else(|| format!("{text} makes less than 0 of {last}"))?;
        *field = Some(*last);
    }
    let [at, rss, anon, cgroup, cpu, server_cpu, server_rss, ready] = fields;
    Ok(SeriesRow {
        at_ms: at.ok_or("there is no time")?,
        rss_bytes: rss,
        anon_bytes: anon,
        cgroup_bytes: cgroup,
        cpu_ms: cpu,
        server_cpu_ms: server_cpu,
        server_rss_bytes: server_rss,
        ready,
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    fn at(at_ms: u64) -> SeriesRow {
        SeriesRow {
            at_ms,
            rss_bytes: Some(4_096),
            ready: Some(0),
            ..SeriesRow::default()
        }
    }

    #[test]
    fn what_is_written_is_read_back() {
        let series = Series {
            every_ms: 500,
            rows: vec![at(500), SeriesRow::default(), at(250)],
        };
        let text = series.to_tsv();
        assert_eq!(
            text.lines().skip(2).collect::<Vec<_>>(),
            [
                COLUMNS.join("\t").as_str(),
                "500\t4096\t\t\t\t\t\t0",
                "-500\t\t\t\t\t\t\t",
                "250\t0\t\t\t\t\t\t0"
            ],
            "what is not known is empty, and the next difference is to the last known"
        );
        assert_eq!(Series::parse(&text), Ok(series));
    }

    #[test]
    fn a_changed_file_is_no_series() {
        let good = Series {
            every_ms: EVERY_MS,
            rows: vec![at(0), at(250)],
        }
        .to_tsv();
        for (name, text, want) in [
            ("empty", String::new(), "there is no line of column names"),
            (
                "no number",
                good.replace("250\t0", "250\t4k"),
                "line 5: \"4k\" is no number",
            ),
            (
                "a field less",
                good.replace("250\t0\t", "250\t"),
                "line 5: 7 fields, not 8",
            ),
            (
                "less than nothing",
                good.replace("250\t0", "250\t-4097"),
                "line 5: -4097 makes less than 0 of 4096",
            ),
            (
                "no time",
                good.replace("250\t0", "\t0"),
                "line 5: there is no time",
            ),
            (
                "other columns",
                good.replace("anon_bytes", "heap_bytes"),
                "line 3: the columns are not at_ms rss_bytes anon_bytes cgroup_bytes cpu_ms server_cpu_ms server_rss_bytes ready",
            ),
        ] {
            let error = Series::parse(&text).expect_err(name);
            assert_eq!(error.to_string(), want, "{name}");
        }
    }

    #[test]
    fn a_full_series_is_thinned_out() {
        let mut series = Series {
            every_ms: EVERY_MS,
            rows: Vec::new(),
        };
        for index in 0..MOST_ROWS as u64 {
            series.push(at(index * EVERY_MS));
        }
        assert_eq!((series.rows.len(), series.every_ms), (MOST_ROWS, EVERY_MS));
        series.push(at(MOST_ROWS as u64 * EVERY_MS));
        assert_eq!(series.rows.len(), MOST_ROWS / 2 + 1);
        assert_eq!(series.every_ms, 2 * EVERY_MS);
        let evenly = series
            .rows
            .windows(2)
            .all(|w| w[1].at_ms - w[0].at_ms == 2 * EVERY_MS);
        assert!(evenly, "the new row fits in");
    }
}
