//! One bench from its first figure to its page in the results.
//!
//! Guarantees: a figure is printed and written only if criterion has estimated it in this very run;
//! beside it stands what is known of Go, or that nothing is. What cannot be measured is named with
//! the reason.
//! Leaves to others: measuring.
//!
//! With `TARE_CRITERION_RESULTS=FOLDER` it also writes `FOLDER/<bench>.md` and copies criterion's plots
//! there (`just bench-all`).

use std::fmt::Write as _;
use std::path::{Path, PathBuf};
use std::process::ExitCode;
use std::time::{Duration, SystemTime};

use anyhow::Context;
use criterion::measurement::Measurement;
use criterion::{BenchmarkGroup, Criterion, PlottingBackend, SamplingMode};
use serde::Deserialize;
use tare_procstat::checkout;

use super::figure::Unit;
use super::published::{Counterpart, Published};

/// The folder that `just bench-all` has refreshed.
const RESULTS: &str = "TARE_CRITERION_RESULTS";

/// One bench.
pub struct Run {
    /// What follows `cargo bench --bench`.
    name: &'static str,
    about: String,
    /// Criterion's folder.
    home: PathBuf,
    began: SystemTime,
    published: Published,
    rows: Vec<Row>,
    beside: Vec<String>,
    missing: Vec<String>,
    groups: Vec<String>,
}

struct Row {
    id: String,
    median: String,
    interval: String,
    change: String,
}

#[derive(Deserialize)]
struct Estimates {
    median: Estimate,
}

#[derive(Deserialize)]
struct Estimate {
    point_estimate: f64,
    confidence_interval: Interval,
}

#[derive(Deserialize)]
struct Interval {
    lower_bound: f64,
    upper_bound: f64,
}

/// Runs a bench's body; what ends it is one line.
pub fn main(
    name: &'static str,
    about: String,
    body: impl FnOnce(&mut Run) -> anyhow::Result<()>,
) -> ExitCode {
    let whole = || {
        let root = Path::new(env!("CARGO_MANIFEST_DIR"));
        let mut run = Run::begin(name, about, home(), &root.join("results"))?;
        body(&mut run)?;
        let results = std::env::var_os(RESULTS);
        results.map_or(Ok(()), |folder| run.publish(&root.join(folder)))
    };
    match whole() {
        Ok(()) => ExitCode::SUCCESS,
        Err(error) => {
            eprintln!("error: {name}: {error:#}");
            ExitCode::FAILURE
        }
    }
}

/// Where criterion keeps its history: `target/criterion`, as it would choose itself.
fn home() -> PathBuf {
    std::env::var_os("CRITERION_HOME").map_or_else(|| target().join("criterion"), PathBuf::from)
}

/// Cargo's target folder.
pub fn target() -> PathBuf {
    Path::new(env!("CARGO_TARGET_TMPDIR")).with_file_name("")
}

impl Run {
    /// A bench whose history is in `home` and whose counterparts are in `results`.
    ///
    /// # Errors
    /// The results cannot be read.
    pub fn begin(
        name: &'static str,
        about: String,
        home: PathBuf,
        results: &Path,
    ) -> anyhow::Result<Self> {
        Ok(Self {
            name,
            about,
            home,
            began: SystemTime::now(),
            published: Published::read(results)?,
            rows: Vec::new(),
            beside: Vec::new(),
            missing: Vec::new(),
            groups: Vec::new(),
        })
    }

    /// Criterion for what `measurement` measures, as the command line has it.
    pub fn criterion<M: Measurement + 'static>(&self, measurement: M) -> Criterion<M> {
        Criterion::default()
            .output_directory(&self.home)
            // The same plots everywhere: gnuplot is on some machines only.
            .plotting_backend(PlottingBackend::Plotters)
            // Percentiles of 10,000 resamples are steady to three digits; 100,000 take ten times as long.
            .nresamples(10_000)
            .with_measurement(measurement)
            .configure_from_args()
    }

    /// A group of counts, each taken for `measure`: they need no warming up, and ten samples show
    /// whether they differ.
    pub fn counts<'a, M: Measurement>(
        &mut self,
        criterion: &'a mut Criterion<M>,
        name: &str,
        measure: Duration,
    ) -> BenchmarkGroup<'a, M> {
        let mut group = self.group(criterion, name, measure);
        group
            .sampling_mode(SamplingMode::Flat)
            .sample_size(10)
            .warm_up_time(Duration::from_nanos(1))
            .noise_threshold(0.001);
        group
    }

    /// A group of times, each taken for `measure`.
    pub fn times<'a, M: Measurement>(
        &mut self,
        criterion: &'a mut Criterion<M>,
        name: &str,
        measure: Duration,
    ) -> BenchmarkGroup<'a, M> {
        let mut group = self.group(criterion, name, measure);
        group
            .sample_size(20)
            .warm_up_time(Duration::from_millis(500));
        group
    }

    /// A group whose plot goes to the page.
    fn group<'a, M: Measurement>(
        &mut self,
        criterion: &'a mut Criterion<M>,
        name: &str,
        measure: Duration,
    ) -> BenchmarkGroup<'a, M> {
        self.groups.push(name.to_owned());
        let mut group = criterion.benchmark_group(name);
        group.measurement_time(measure);
        group
    }

    /// Prints a figure, if this run has estimated it, with what Go needs for the same.
    ///
    /// # Errors
    /// What criterion has written cannot be read.
    pub fn figure(
        &mut self,
        id: &str,
        unit: Unit,
        counterpart: Option<&Counterpart>,
    ) -> anyhow::Result<()> {
        let Some(new) = self.estimates(id, "new")? else {
            return Ok(());
        };
        let change = self.estimates(id, "change")?;
        let interval = &new.median.confidence_interval;
        let row = Row {
            id: id.to_owned(),
            median: unit.show(new.median.point_estimate),
            interval: format!(
                "{} to {}",
                unit.show(interval.lower_bound),
                unit.show(interval.upper_bound)
            ),
            change: change.map_or_else(
                || "first run".to_owned(),
                |change| percent(change.median.point_estimate),
            ),
        };
        println!(
            "{id}: {} (median; {}; {})",
            row.median, row.interval, row.change
        );
        self.rows.push(row);
        let lines = match counterpart {
            Some(counterpart) => self.published.beside(counterpart).to_vec(),
            None => vec!["Go: nothing comparable is measured or claimed".to_owned()],
        };
        for line in lines {
            println!("    {line}");
            if counterpart.is_some() && !self.beside.contains(&line) {
                self.beside.push(line);
            }
        }
        Ok(())
    }

    /// Says that a figure is missing, and what to do about it.
    pub fn not_measured(&mut self, id: &str, why: &str) {
        let line = format!("{id}: not measured: {why}");
        println!("{line}");
        self.missing.push(line);
    }

    /// What criterion has estimated since this run began.
    fn estimates(&self, id: &str, which: &str) -> anyhow::Result<Option<Estimates>> {
        let path = self.home.join(id).join(which).join("estimates.json");
        let modified = std::fs::metadata(&path).and_then(|file| file.modified());
        // File systems keep coarser times than the clock.
        let fresh = modified.is_ok_and(|at| at + Duration::from_millis(20) >= self.began);
        if !fresh {
            return Ok(None);
        }
        let text = std::fs::read_to_string(&path)
            .with_context(|| format!("cannot read {}", path.display()))?;
        let estimates = serde_json::from_str(&text)
            .with_context(|| format!("{} is not what criterion 0.8 writes", path.display()))?;
        Ok(Some(estimates))
    }

    /// Writes the page of this bench, with its plots.
    ///
    /// # Errors
    /// The folder cannot be written.
    pub fn publish(&self, folder: &Path) -> anyhow::Result<()> {
        let written = |path: &Path| format!("cannot write {}", path.display());
        std::fs::create_dir_all(folder).with_context(|| written(folder))?;
        let mut plots = Vec::new();
        for group in &self.groups {
            let report = self.home.join(group).join("report");
            // Criterion draws lines where a group has sizes.
            let drawn = ["lines.svg", "violin.svg"].map(|name| report.join(name));
            let copy = folder.join(format!("{group}.svg"));
            if let Some(plot) = drawn.iter().find(|plot| self.is_fresh(plot)) {
                std::fs::copy(plot, &copy).with_context(|| written(&copy))?;
                plots.push(group.as_str());
            } else if copy.exists() {
                // An earlier run's, and this one has nothing to draw.
                std::fs::remove_file(&copy).with_context(|| written(&copy))?;
            }
        }
        let file = self.name.replace(" --features ", "-") + ".md";
        let page = folder.join(file);
        std::fs::write(&page, self.page(&plots)).with_context(|| written(&page))
    }

    fn is_fresh(&self, path: &Path) -> bool {
        let modified = std::fs::metadata(path).and_then(|file| file.modified());
        modified.is_ok_and(|at| at >= self.began)
    }

    fn page(&self, plots: &[&str]) -> String {
        let mut page = String::new();
        // Writing to a `String` cannot fail.
        let _ = write!(
            page,
            "<!-- @generated by just bench-all -->\n# `cargo bench --bench {}`\n\n{}\n\n{}\n\n",
            self.name,
            self.about,
            circumstances()
        );
        page.push_str("| figure | median | 95 % interval | against the run before |\n| --- | ---: | ---: | ---: |\n");
        for row in &self.rows {
            let _ = writeln!(
                page,
                "| {} | {} | {} | {} |",
                row.id, row.median, row.interval, row.change
            );
        }
        let mut list = |title: &str, lines: &[String]| {
            if !lines.is_empty() {
                let _ = write!(page, "\n{title}\n\n");
                for line in lines {
                    let _ = writeln!(page, "- {line}");
                }
            }
        };
        list("Not measured:", &self.missing);
        list(
            "Beside them, from another server and another kind of run:",
            &self.beside,
        );
        for plot in plots {
            let _ = write!(page, "\n![{plot}, by criterion]({plot}.svg)\n");
        }
        page
    }
}

/// When, where and of what.
fn circumstances() -> String {
    let machine = tare_procstat::machine();
    let told = |value: Option<String>| value.unwrap_or_else(|| "unknown".to_owned());
    // Results are being written.
    let revision = checkout::revision(Path::new(env!("CARGO_MANIFEST_DIR")), Some("results"));
    let today = k8s_openapi::jiff::Timestamp::now().strftime("%F");
    format!(
        "{today}, tare {}, benches of revision {}, {} cores of {}, Linux {}; the server is simulated.",
        // A campaign's programs name the commit that it began with; the benches may be of a later one.
        tare::VERSION,
        told(revision),
        told(machine.cores.map(|cores| cores.to_string())),
        told(machine.cpu_model),
        told(machine.kernel),
    )
}

fn percent(change: f64) -> String {
    let percent = change * 100.0;
    // Less is the spread that `exact` puts in, or noise.
    if percent.abs() < 0.005 {
        "unchanged".to_owned()
    } else {
        format!("{percent:+.2} %")
    }
}
