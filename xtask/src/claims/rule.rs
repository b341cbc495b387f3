//! Whether a published figure holds.
//!
//! Guarantees: pure; a claim is judged only where every value within the bounds of a figure gives the
//! same result, and only where every meaning of the claim does. Leaves to others: the claims and the
//! figures (`claims`).

use serde::Deserialize;

use crate::claims::verdict::ClaimResult;

/// When a claim holds.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Rule {
    About,
    AtMost,
    AtLeast,
}

/// The bounds that a figure lies within; equal where the figure itself is known.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Bounds {
    /// Where the bounds differ, the figure is above this one.
    pub from: f64,
    /// `None` where there is no upper bound.
    pub to: Option<f64>,
}

impl Bounds {
    pub fn exact(figure: f64) -> Self {
        Self {
            from: figure,
            to: Some(figure),
        }
    }

    pub fn is_exact(self) -> bool {
        self.to == Some(self.from)
    }

    pub fn scaled(self, scale: f64) -> Self {
        Self {
            from: self.from * scale,
            to: self.to.map(|to| to * scale),
        }
    }
}

/// One meaning of a claim; `tolerance` is a fraction of the claimed figure.
pub fn judge(rule: Rule, claimed: f64, tolerance: f64, measured: Option<Bounds>) -> ClaimResult {
    let Some(measured) = measured else {
        return ClaimResult::NotMeasured;
    };
    let slack = claimed * tolerance;
    let (least, most) = match rule {
        Rule::About => (claimed - slack, claimed + slack),
        Rule::AtMost => (f64::NEG_INFINITY, claimed + slack),
        Rule::AtLeast => (claimed - slack, f64::INFINITY),
    };
    let to = measured.to.unwrap_or(f64::INFINITY);
    let is_above = match measured.is_exact() {
        true => measured.from > most,
        false => measured.from >= most,
    };
    match (measured.from >= least && to <= most, is_above || to < least) {
        (true, _) => ClaimResult::Holds,
        (_, true) => ClaimResult::DoesNotHold,
        _ => ClaimResult::Undecidable,
    }
}

/// All meanings of a claim together.
pub fn together(meanings: &[ClaimResult]) -> ClaimResult {
    let has = |result| meanings.contains(&result);
    let disagree = has(ClaimResult::Holds) && has(ClaimResult::DoesNotHold);
    match meanings.first() {
        _ if disagree || has(ClaimResult::Undecidable) => ClaimResult::Undecidable,
        _ if has(ClaimResult::NotMeasured) => ClaimResult::NotMeasured,
        Some(result) => *result,
        None => ClaimResult::NotMeasured,
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use ClaimResult::{DoesNotHold, Holds, NotMeasured, Undecidable};

    #[test]
    fn a_claim_of_100_is_judged_by_its_rule() {
        let exact = |figure| Some(Bounds::exact(figure));
        let bounds = |from, to| Some(Bounds { from, to });
        for (rule, tolerance, measured, want) in [
            (Rule::About, 0.25, exact(80.0), Holds),
            (Rule::About, 0.25, exact(126.0), DoesNotHold),
            (Rule::About, 0.25, exact(70.0), DoesNotHold),
            (Rule::About, 0.25, None, NotMeasured),
            (Rule::About, 0.25, bounds(80.0, Some(120.0)), Holds),
            (Rule::About, 0.25, bounds(10.0, Some(120.0)), Undecidable),
            (Rule::About, 0.25, bounds(10.0, Some(900.0)), Undecidable),
            (Rule::About, 0.25, bounds(10.0, Some(70.0)), DoesNotHold),
            (Rule::About, 0.25, bounds(125.0, Some(900.0)), DoesNotHold),
            (Rule::About, 0.25, bounds(80.0, None), Undecidable),
            (Rule::About, 0.25, bounds(130.0, None), DoesNotHold),
            (Rule::AtMost, 0.0, exact(100.0), Holds),
            (Rule::AtMost, 0.1, exact(111.0), DoesNotHold),
            (Rule::AtMost, 0.0, bounds(100.0, Some(200.0)), DoesNotHold),
            (Rule::AtMost, 0.0, bounds(50.0, Some(200.0)), Undecidable),
            (Rule::AtLeast, 0.0, exact(99.0), DoesNotHold),
            (Rule::AtLeast, 0.1, exact(91.0), Holds),
            (Rule::AtLeast, 0.0, bounds(150.0, None), Holds),
        ] {
            let result = judge(rule, 100.0, tolerance, measured);
            assert_eq!(result, want, "{rule:?} {tolerance} {measured:?}");
        }
    }

    #[test]
    fn nothing_is_said_where_the_meanings_disagree() {
        for (meanings, want) in [
            (&[Holds][..], Holds),
            (&[Holds, Holds], Holds),
            (&[DoesNotHold, DoesNotHold], DoesNotHold),
            (&[Holds, DoesNotHold], Undecidable),
            (&[Holds, Undecidable], Undecidable),
            (&[NotMeasured, Undecidable], Undecidable),
            (&[Holds, NotMeasured], NotMeasured),
            (&[DoesNotHold, NotMeasured], NotMeasured),
            (&[Holds, NotMeasured, DoesNotHold], Undecidable),
            (&[], NotMeasured),
        ] {
            assert_eq!(together(meanings), want, "{meanings:?}");
        }
    }
}
