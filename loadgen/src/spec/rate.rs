//! How fast objects are offered, as a user writes it: a constant rate, ramps and steps.
//!
//! Guarantees: pure; what is read has a rate at every time and never ends; it is printed as it was written. Leaves to
//! others: when each object is due (`load::timetable`).

use serde::{Deserialize, Serialize};

/// Objects per second.
const LEAST_PER_S: f64 = 0.001;
const MOST_PER_S: f64 = 100_000.0;
const MOST_S: f64 = 86_400.0;

/// The rate of a run.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(try_from = "String", into = "String")]
pub struct Rate {
    text: String,
    phases: Vec<Phase>,
    last_per_s: f64,
}

/// A time in which the rate goes evenly from one value to another, or stays.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Phase {
    pub from_per_s: f64,
    pub to_per_s: f64,
    pub seconds: f64,
}

impl Phase {
    /// How many objects are due in it: the integral of its rate.
    pub fn objects(self) -> f64 {
        (self.from_per_s + self.to_per_s) / 2.0 * self.seconds
    }

    /// How long after its begin so many objects of it are due; the inverse of the integral of its rate.
    pub fn seconds_until(self, objects: f64) -> f64 {
        if objects <= 0.0 {
            return 0.0;
        }
        let per_s2 = (self.to_per_s - self.from_per_s) / self.seconds;
        // At the end of a ramp downwards rounding may leave less than nothing.
        let squared = (self.from_per_s * self.from_per_s + 2.0 * per_s2 * objects).max(0.0);
        // The form of the quadratic formula that is exact for a rate that stays, too.
        2.0 * objects / (self.from_per_s + squared.sqrt())
    }

    /// The same for one of so many shards.
    #[must_use]
    pub fn of_shards(self, shards: usize) -> Self {
        Self {
            from_per_s: self.from_per_s / shards as f64,
            to_per_s: self.to_per_s / shards as f64,
            ..self
        }
    }
}

impl Rate {
    /// Reads `20`, `5..50/60s` or `5:30s,20:30s,40`; ramps and steps may follow each other.
    ///
    /// # Errors
    /// One line that says how to write it.
    pub fn parse(text: &str) -> Result<Self, String> {
        let mut phases = Vec::new();
        let mut last_per_s = None;
        let mut parts = text.split(',').map(str::trim).peekable();
        while let Some(part) = parts.next() {
            let is_last = parts.peek().is_none();
            let phase = match (part.split_once(".."), part.split_once(':')) {
                (Some((from, to)), _) => ramp(part, from, to)?,
                (None, Some(_)) if is_last && !phases.is_empty() => {
                    return Err(format!(
                        "{part:?}: the last rate goes on, leave out its time"
                    ));
                }
                (None, Some((per_s, time))) => step(per_s, time)?,
                (None, None) if is_last => {
                    last_per_s = Some(number(part, LEAST_PER_S)?);
                    break;
                }
                (None, None) => {
                    return Err(format!("{part:?}: say for how long, such as {part}:30s"));
                }
            };
            phases.push(phase);
            last_per_s = is_last.then_some(phase.to_per_s);
        }
        let last_per_s = last_per_s.ok_or_else(|| form(text))?;
        Ok(Self {
            text: text.to_owned(),
            phases,
            last_per_s,
        })
    }

    /// The phases before the rate that goes on; none where it is constant.
    pub fn phases(&self) -> &[Phase] {
        &self.phases
    }

    /// After the last phase.
    pub fn last_per_s(&self) -> f64 {
        self.last_per_s
    }
}

fn form(part: &str) -> String {
    format!(
        "{part:?}: write objects per second, such as 20, a ramp such as 5..50/60s, or steps such as 5:30s,20:30s,40"
    )
}

fn ramp(part: &str, from: &str, to: &str) -> Result<Phase, String> {
    let (to, time) = to
        .split_once('/')
        .ok_or_else(|| format!("{part:?}: say how long the ramp takes, such as {part}/60s"))?;
    Ok(Phase {
        from_per_s: number(from, 0.0)?,
        to_per_s: number(to, LEAST_PER_S)?,
        seconds: seconds(time)?,
    })
}

fn step(per_s: &str, time: &str) -> Result<Phase, String> {
    let per_s = number(per_s, LEAST_PER_S)?;
    Ok(Phase {
        from_per_s: per_s,
        to_per_s: per_s,
        seconds: seconds(time)?,
    })
}

fn number(text: &str, least: f64) -> Result<f64, String> {
    match text.trim().parse::<f64>() {
        Ok(per_s) if (least..=MOST_PER_S).contains(&per_s) => Ok(per_s),
        Ok(_) => Err(format!(
            "{text:?}: use {least} to {MOST_PER_S} objects per second"
        )),
        Err(_) => Err(form(text)),
    }
}

fn seconds(text: &str) -> Result<f64, String> {
    let number = text.trim().strip_suffix('s');
    match number.and_then(|number| number.parse::<f64>().ok()) {
        Some(seconds) if seconds > 0.0 && seconds <= MOST_S => Ok(seconds),
        _ => Err(format!(
            "{text:?}: use a time in seconds up to {MOST_S}s, such as 60s"
        )),
    }
}

impl std::fmt::Display for Rate {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str(&self.text)
    }
}

impl TryFrom<String> for Rate {
    type Error = String;

    fn try_from(text: String) -> Result<Self, String> {
        Self::parse(&text)
    }
}

impl From<Rate> for String {
    fn from(rate: Rate) -> Self {
        rate.text
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn phase(from_per_s: f64, to_per_s: f64, seconds: f64) -> Phase {
        Phase {
            from_per_s,
            to_per_s,
            seconds,
        }
    }

    #[test]
    fn constants_ramps_and_steps_are_read() {
        for (text, phases, last_per_s) in [
            ("0.5", vec![], 0.5),
            ("200", vec![], 200.0),
            ("5..50/60s", vec![phase(5.0, 50.0, 60.0)], 50.0),
            ("0..50/1.5s", vec![phase(0.0, 50.0, 1.5)], 50.0),
            ("50..5/60s", vec![phase(50.0, 5.0, 60.0)], 5.0),
            (
                "5:30s,20:30s,40",
                vec![phase(5.0, 5.0, 30.0), phase(20.0, 20.0, 30.0)],
                40.0,
            ),
            (
                "5..50/60s, 50:30s, 10",
                vec![phase(5.0, 50.0, 60.0), phase(50.0, 50.0, 30.0)],
                10.0,
            ),
        ] {
            let rate = Rate::parse(text).expect(text);
            assert_eq!(rate.phases(), phases, "{text}");
            assert_eq!(rate.last_per_s(), last_per_s, "{text}");
            assert_eq!(rate.to_string(), text);
            let json = serde_json::to_string(&rate).expect("text");
            assert_eq!(json, format!("{text:?}"));
            assert_eq!(serde_json::from_str::<Rate>(&json).ok(), Some(rate));
        }
    }

    #[test]
    fn what_is_no_rate_is_one_line_with_the_way_out() {
        for (text, want) in [
            ("", "write objects per second"),
            ("fast", "write objects per second"),
            ("NaN", "use 0.001 to 100000"),
            ("inf", "use 0.001 to 100000"),
            ("0", "use 0.001 to 100000"),
            ("-3", "use 0.001 to 100000"),
            ("5..50", "say how long the ramp takes, such as 5..50/60s"),
            ("5..50/60", "use a time in seconds"),
            ("5..0/60s", "use 0.001 to 100000"),
            ("5..50/0s", "use a time in seconds"),
            ("5,20", "say for how long, such as 5:30s"),
            ("5:30s,20:30s", "the last rate goes on, leave out its time"),
            ("5:30s,", "write objects per second"),
            ("5:30m,20", "use a time in seconds"),
        ] {
            let error = Rate::parse(text).expect_err(text);
            assert!(error.contains(want), "{text}: {error}");
        }
    }
}
