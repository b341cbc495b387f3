//! CPU time of the subject and the servers over a run, to book what was spent until a moment.
//!
//! Guarantees: pure; between two samples the time is interpolated, before the first and after the
//! last one theirs counts; what was not read is `None`. Leaves to others: reading it.

/// CPU time spent so far.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct CpuSample {
    /// Since the run began.
    pub at_ns: u64,
    pub cpu_s: Option<f64>,
    pub server_cpu_s: Option<f64>,
    pub controllers_cpu_s: Option<f64>,
}

/// Samples in the order of time.
#[derive(Debug)]
pub struct CpuTrace(Vec<CpuSample>);

/// CPU time spent between two moments.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Booked {
    pub cpu_s: Option<f64>,
    pub server_cpu_s: Option<f64>,
    pub controllers_cpu_s: Option<f64>,
}

impl CpuTrace {
    pub fn new(first: CpuSample) -> Self {
        Self(vec![first])
    }

    pub fn add(&mut self, sample: CpuSample) {
        self.0.push(sample);
    }

    /// From the first sample until then.
    pub fn until(&self, at_ns: u64) -> Booked {
        let of = |read: fn(&CpuSample) -> Option<f64>| {
            let first = read(self.0.first()?)?;
            Some((self.at(at_ns, read)? - first).max(0.0))
        };
        Booked {
            cpu_s: of(|sample| sample.cpu_s),
            server_cpu_s: of(|sample| sample.server_cpu_s),
            controllers_cpu_s: of(|sample| sample.controllers_cpu_s),
        }
    }

    fn at(&self, at_ns: u64, read: fn(&CpuSample) -> Option<f64>) -> Option<f64> {
        let after = self.0.partition_point(|sample| sample.at_ns <= at_ns);
        let before = self.0.get(after.saturating_sub(1))?;
        let Some(next) = self.0.get(after).filter(|_| after > 0) else {
            return read(before);
        };
        let (from, to) = (read(before)?, read(next)?);
        let share = (at_ns - before.at_ns) as f64 / (next.at_ns - before.at_ns).max(1) as f64;
        Some(from + (to - from) * share)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn cpu_is_booked_until_a_moment() {
        let mut trace = CpuTrace::new(CpuSample {
            at_ns: 100,
            cpu_s: Some(1.0),
            server_cpu_s: None,
            controllers_cpu_s: None,
        });
        for (at_ns, cpu_s) in [(200, 3.0), (300, 3.5)] {
            trace.add(CpuSample {
                at_ns,
                cpu_s: Some(cpu_s),
                server_cpu_s: None,
                controllers_cpu_s: None,
            });
        }
        for (name, at_ns, want) in [
            ("before the first sample", 50, 0.0),
            ("at the first", 100, 0.0),
            ("between two", 150, 1.0),
            ("at one", 200, 2.0),
            ("between the last two", 220, 2.1),
            ("after the last", 900, 2.5),
        ] {
            let booked = trace.until(at_ns);
            let spent_s = booked.cpu_s.expect("read");
            assert!((spent_s - want).abs() < 1e-9, "{name}: {spent_s}");
            assert_eq!(booked.server_cpu_s, None, "{name}: it was never read");
        }
    }
}
