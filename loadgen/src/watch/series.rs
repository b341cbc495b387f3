//! Samples memory and CPU of the subject and its server all the time, on a thread of its own.
//!
//! Guarantees: four samples a second at first, less often in a run so long that the series would not be
//! bounded; reads the kernel's running counters only, so that neither process waits for a sample; says what
//! it cost itself. A process that is gone is sampled as not known. Leaves to others: what the figures mean.

use std::sync::mpsc::{Receiver, RecvTimeoutError, Sender, channel};
use std::sync::{Arc, Mutex, PoisonError};
use std::thread::JoinHandle;
use std::time::{Duration, Instant};

use rustix::time::{ClockId, clock_gettime};
use tare_procstat::{MemoryCgroup, Tree};

use crate::record::series::{EVERY_MS, Series, SeriesRow};

/// What is sampled.
#[derive(Debug, Default)]
pub struct Watched {
    pub subject: Option<Tree>,
    pub server: Option<u32>,
    pub cgroup: Option<Arc<Mutex<MemoryCgroup>>>,
}

/// Objects that are ready, as far as it is known.
pub type Ready = Box<dyn Fn() -> Option<u64> + Send>;

/// A thread that samples until it is stopped or dropped.
#[derive(Debug)]
pub struct Sampler {
    watched: Arc<Mutex<Watched>>,
    /// Dropped to end the thread.
    stop: Option<Sender<()>>,
    thread: Option<JoinHandle<Sampled>>,
}

/// What was sampled, and what that cost.
#[derive(Debug, Default)]
pub struct Sampled {
    pub series: Series,
    pub own_cpu: Duration,
}

impl Sampler {
    /// Times count from `began`.
    ///
    /// # Errors
    /// When the thread cannot be started.
    pub fn start(began: Instant, watched: Watched, ready: Ready) -> std::io::Result<Self> {
        let watched = Arc::new(Mutex::new(watched));
        let (stop, stopped) = channel();
        let shared = Arc::clone(&watched);
        let thread = std::thread::Builder::new()
            .name("series".into())
            .spawn(move || sample(began, &shared, &ready, &stopped))?;
        Ok(Self {
            watched,
            stop: Some(stop),
            thread: Some(thread),
        })
    }

    /// Another process is the subject from now on; `None` while there is none.
    pub fn follow(&self, subject: Option<Tree>) {
        lock(&self.watched).subject = subject;
    }

    /// Ends the thread.
    pub fn stop(mut self) -> Sampled {
        self.end().unwrap_or_default()
    }

    fn end(&mut self) -> Option<Sampled> {
        drop(self.stop.take());
        self.thread.take()?.join().ok()
    }
}

impl Drop for Sampler {
    fn drop(&mut self) {
        self.end();
    }
}

fn lock<T>(shared: &Mutex<T>) -> std::sync::MutexGuard<'_, T> {
    // Plain ids, whole after a panic too.
    shared.lock().unwrap_or_else(PoisonError::into_inner)
}

/// Samples on an absolute timetable; a sample that is due while another is taken is left out.
fn sample(began: Instant, watched: &Mutex<Watched>, ready: &Ready, stop: &Receiver<()>) -> Sampled {
    let mut series = Series {
        every_ms: EVERY_MS,
        rows: Vec::new(),
    };
    let mut due_ms = millis(began.elapsed());
    loop {
        let wait = Duration::from_millis(due_ms).saturating_sub(began.elapsed());
        // Nothing is ever sent; the end of the sender ends the wait.
        if stop.recv_timeout(wait) != Err(RecvTimeoutError::Timeout) {
            break;
        }
        series.push(row(began, &lock(watched), ready()));
        let late_ms = millis(began.elapsed()).saturating_sub(due_ms);
        due_ms += (late_ms / series.every_ms + 1) * series.every_ms;
    }
    let spent = clock_gettime(ClockId::ThreadCPUTime);
    Sampled {
        series,
        own_cpu: Duration::try_from(spent).unwrap_or_default(),
    }
}

fn row(began: Instant, watched: &Watched, ready: Option<u64>) -> SeriesRow {
    let subject = watched.subject.as_ref();
    let cpu_s = subject.and_then(|subject| subject.cpu_seconds().ok());
    let subject = subject.and_then(|subject| subject.resident().ok());
    let server_cpu_s = watched
        .server
        .and_then(|pid| tare_procstat::cpu_seconds(pid).ok());
    let server = watched
        .server
        .and_then(|pid| tare_procstat::resident(pid).ok());
    let cpu_ms = |cpu_s: Option<f64>| cpu_s.map(|cpu_s| (cpu_s * 1e3) as u64);
    let cgroup = watched
        .cgroup
        .as_ref()
        .and_then(|cgroup| lock(cgroup).memory().ok());
    SeriesRow {
        at_ms: millis(began.elapsed()),
        rss_bytes: subject.map(|memory| memory.rss_bytes),
        anon_bytes: subject.and_then(|memory| memory.anon_bytes),
        cgroup_bytes: cgroup.map(|memory| memory.working_set_bytes),
        cpu_ms: cpu_ms(cpu_s),
        server_cpu_ms: cpu_ms(server_cpu_s),
        server_rss_bytes: server.map(|memory| memory.rss_bytes),
        ready,
    }
}

fn millis(duration: Duration) -> u64 {
    u64::try_from(duration.as_millis()).unwrap_or(u64::MAX)
}

#[cfg(all(test, target_os = "linux"))]
mod tests {
    use super::*;

    /// Until the sampler has taken so many samples; each asks how many objects are ready.
    fn after(samples: u64, watched: Watched, meanwhile: impl FnOnce(&Sampler)) -> Sampled {
        let (asked, answers) = channel();
        let count = Mutex::new(0_u64);
        let ready = move || {
            let mut count = lock(&count);
            *count += 1;
            // The test may have ended.
            let _ = asked.send(*count);
            Some(*count)
        };
        let sampler = Sampler::start(Instant::now(), watched, Box::new(ready)).expect("a thread");
        meanwhile(&sampler);
        while answers.recv().expect("alive") < samples {}
        sampler.stop()
    }

    #[test]
    fn this_process_is_sampled_over_time() {
        let watched = Watched {
            subject: Some(Tree::of(std::process::id(), None)),
            ..Watched::default()
        };
        let sampled = after(3, watched, |_| {});
        let rows = &sampled.series.rows;
        assert!(rows.len() >= 2, "{rows:?}");
        let first = rows[0];
        assert!(
            first.rss_bytes > first.anon_bytes && first.cpu_ms.is_some(),
            "{first:?}"
        );
        assert_eq!(
            (first.ready, first.server_rss_bytes, first.cgroup_bytes),
            (Some(1), None, None)
        );
        assert!(rows.windows(2).all(|w| w[0].at_ms < w[1].at_ms), "{rows:?}");
        // Even unoptimised, and on a busy machine.
        let most = Duration::from_millis(10) * u32::try_from(rows.len()).expect("few");
        assert!(sampled.own_cpu < most, "{:?}", sampled.own_cpu);
    }

    #[test]
    fn a_subject_that_is_gone_is_not_known() {
        let sampled = after(2, Watched::default(), |sampler| {
            sampler.follow(Some(Tree::of(u32::MAX, None)));
        });
        let known = sampled
            .series
            .rows
            .iter()
            .any(|row| row.rss_bytes.is_some());
        assert!(!known, "{:?}", sampled.series.rows);
    }
}
