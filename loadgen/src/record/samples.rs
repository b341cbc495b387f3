//! What happened to each object of a run, as `samples/*.tsv.gz` holds it: one line per object and
//! wave, times in microseconds since the run began.
//!
//! Guarantees: what is written is read back the same; a time that was never reached is empty in the
//! file and `None` here, never 0. Leaves to others: what follows from the times
//! (`metric::convergence`).

/// The columns, in the order of the file.
const COLUMNS: &str = "wave\tindex\tintended_us\tsent_us\tacked_us\tobserved_us\tready_us";

/// One object in one wave (a creation or an update of everything).
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct Sample {
    pub intended_us: Option<u64>,
    pub sent_us: Option<u64>,
    pub acked_us: Option<u64>,
    /// The status shows the generation of the wave.
    pub observed_us: Option<u64>,
    pub ready_us: Option<u64>,
}

/// The waves of one run, in order; the first is the creation.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Samples {
    pub waves: Vec<Vec<Sample>>,
}

/// A file of samples that loadgen did not write.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("line {line}: {what}")]
pub struct Error {
    pub line: usize,
    pub what: String,
}

impl Samples {
    pub fn to_tsv(&self) -> String {
        let us = |time: Option<u64>| time.map_or_else(String::new, |us| us.to_string());
        let mut text = format!("{COLUMNS}\n");
        for (wave, samples) in self.waves.iter().enumerate() {
            for (index, sample) in samples.iter().enumerate() {
                let times = sample.times().map(us).join("\t");
                text.push_str(&format!("{wave}\t{index}\t{times}\n"));
            }
        }
        text
    }

    /// # Errors
    /// The first line that is not as it was written.
    pub fn parse(text: &str) -> Result<Self, Error> {
        let mut lines = (1..).zip(text.lines());
        match lines.next() {
            Some((_, COLUMNS)) => {}
            _ => {
                return Err(Error {
                    line: 1,
                    what: format!("the columns are not {}", COLUMNS.replace('\t', " ")),
                });
            }
        }
        let mut waves: Vec<Vec<Sample>> = Vec::new();
        for (line, text) in lines {
            let failed = |what: String| Error { line, what };
            let fields: Vec<&str> = text.split('\t').collect();
            let [wave, index, times @ ..] = fields.as_slice() else {
                return Err(failed("a wave and an index are missing".into()));
            };
            let sample = Sample::parse(times).map_err(failed)?;
            if *wave == waves.len().to_string() {
                waves.push(Vec::new());
            }
            let last = waves.len().checked_sub(1);
            let current = waves.last_mut().zip(last);
            match current.filter(|(_, last)| *wave == last.to_string()) {
                Some((samples, _)) if *index == samples.len().to_string() => samples.push(sample),
                _ => {
                    return Err(failed(format!(
                        "wave {wave}, object {index} is not the next one"
                    )));
                }
            }
        }
        Ok(Self { waves })
    }
}

impl Sample {
    fn times(self) -> [Option<u64>; 5] {
        [
            self.intended_us,
            self.sent_us,
            self.acked_us,
            self.observed_us,
            self.ready_us,
        ]
    }

    fn parse(fields: &[&str]) -> Result<Self, String> {
        let time = |field: &str| match field {
            "" => Ok(None),
            _ => field
                .parse()
                .map(Some)
                .map_err(|_| format!("{field:?} is no time in microseconds")),
        };
        let [intended, sent, acked, observed, ready] = fields else {
            return Err(format!("{} times, not 5", fields.len()));
        };
        Ok(Self {
            intended_us: time(intended)?,
            sent_us: time(sent)?,
            acked_us: time(acked)?,
            observed_us: time(observed)?,
            ready_us: time(ready)?,
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    fn sample() -> impl Strategy<Value = Sample> {
        prop::array::uniform5(prop::option::of(any::<u64>())).prop_map(
            |[intended_us, sent_us, acked_us, observed_us, ready_us]| Sample {
                intended_us,
                sent_us,
                acked_us,
                observed_us,
                ready_us,
            },
        )
    }

    proptest! {
        #[test]
        fn what_is_written_is_read_back(waves in prop::collection::vec(prop::collection::vec(sample(), 1..5), 0..4)) {
            let samples = Samples { waves };
            prop_assert_eq!(Samples::parse(&samples.to_tsv()), Ok(samples));
        }
    }

    #[test]
    fn a_changed_file_is_refused_with_the_line() {
        let one = Sample {
            sent_us: Some(5),
            ..Sample::default()
        };
        let text = Samples {
            waves: vec![vec![one, one]],
        }
        .to_tsv();
        for (from, to, line) in [
            ("wave", "round", 1),
            ("\t5\t", "\tx\t", 2),
            ("0\t1\t", "0\t2\t", 3),
            ("0\t1\t", "2\t0\t", 3),
            ("0\t1\t", "", 3),
        ] {
            let error = Samples::parse(&text.replacen(from, to, 1)).expect_err(from);
            assert_eq!(error.line, line, "{from}: {error}");
        }
        assert_eq!(Samples::parse("").map_err(|e| e.line), Err(1));
    }
}
