//! Progress of a command: bars on a terminal, plain lines otherwise.
//!
//! Guarantees: everything goes to standard error, so that standard output holds the report alone.
//! Leaves to others: the texts.

use std::io::IsTerminal;
use std::sync::Mutex;
use std::time::{Duration, Instant};

use indicatif::{MultiProgress, ProgressBar, ProgressStyle};

/// Where standard error is no terminal, the least time between two lines about one step.
const PLAIN_EVERY: Duration = Duration::from_secs(15);

#[derive(Debug)]
pub struct Progress {
    bars: Option<Bars>,
    last_plain: Mutex<Instant>,
}

#[derive(Debug)]
struct Bars {
    all: MultiProgress,
    runs: ProgressBar,
    step: ProgressBar,
}

impl Default for Progress {
    /// Bars where standard error is a terminal.
    fn default() -> Self {
        Self {
            bars: std::io::stderr().is_terminal().then(Bars::new),
            last_plain: Mutex::new(Instant::now()),
        }
    }
}

impl Progress {
    /// A line that stays.
    pub fn say(&self, line: &str) {
        match &self.bars {
            // A terminal that went away is no reason to end a measurement.
            Some(bars) => drop(bars.all.println(line)),
            None => eprintln!("{line}"),
        }
    }

    /// How many runs there are, and how many are done.
    pub fn runs(&self, done: usize, of: usize) {
        if let Some(bars) = &self.bars {
            bars.runs.set_length(of as u64);
            bars.runs.set_position(done as u64);
        }
    }

    /// What is being done now; on a pipe only now and then.
    pub fn step(&self, what: &str) {
        match &self.bars {
            Some(bars) => {
                bars.step.set_style(spinner());
                bars.step.set_message(what.to_owned());
            }
            None => {
                let mut last = self
                    .last_plain
                    .lock()
                    .unwrap_or_else(std::sync::PoisonError::into_inner);
                if last.elapsed() >= PLAIN_EVERY {
                    *last = Instant::now();
                    eprintln!("  … {what}");
                }
            }
        }
    }

    /// How far a step with a known end is.
    pub fn count(&self, what: &str, done: u64, of: u64) {
        match &self.bars {
            Some(bars) => {
                bars.step.set_style(bar());
                bars.step.set_length(of);
                bars.step.set_position(done);
                bars.step.set_message(what.to_owned());
            }
            None => self.step(&format!("{what}: {done} of {of}")),
        }
    }

    /// Takes the bars away.
    pub fn finish(&self) {
        if let Some(bars) = &self.bars {
            bars.step.finish_and_clear();
            bars.runs.finish_and_clear();
        }
    }
}

impl Bars {
    fn new() -> Self {
        let all = MultiProgress::new();
        let runs = all
            .add(ProgressBar::new(0).with_style(style("runs {wide_bar} {pos}/{len}  {elapsed}")));
        let step = all.add(ProgressBar::new_spinner().with_style(spinner()));
        step.enable_steady_tick(Duration::from_millis(120));
        Self { all, runs, step }
    }
}

fn spinner() -> ProgressStyle {
    style("{spinner} {wide_msg}")
}

fn bar() -> ProgressStyle {
    style("{spinner} {msg} {wide_bar} {pos}/{len}")
}

fn style(template: &str) -> ProgressStyle {
    // The templates are constants; should one be wrong, a plain bar will do.
    ProgressStyle::with_template(template).unwrap_or_else(|_| ProgressStyle::default_bar())
}
