//! A published figure beside what was measured, and what can be said about it.

use serde::Serialize;

/// A published figure beside what was measured.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct Judged {
    pub claim: String,
    /// Where it was published.
    pub source: String,
    pub claimed: f64,
    pub unit: String,
    /// What the source may mean, with what was measured of each.
    pub meanings: Vec<ClaimMeaning>,
    /// By the rule in `results/claims.toml`.
    pub result: ClaimResult,
    /// The figure of each meaning, and what follows from it.
    pub because: String,
}

/// One meaning that a source leaves open.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct ClaimMeaning {
    pub says: String,
    /// The figure, in the unit of the claim; the lower bound where only bounds are known.
    pub from: Option<f64>,
    /// The same figure, or the upper bound.
    pub to: Option<f64>,
    pub result: ClaimResult,
}

/// What can be said about a published figure.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize)]
#[serde(rename_all = "kebab-case")]
pub enum ClaimResult {
    /// By every meaning that the source leaves open.
    Holds,
    /// By no meaning.
    DoesNotHold,
    /// The meanings disagree, or the claim lies between the bounds of a figure.
    Undecidable,
    /// A meaning was not measured, and those that were do not disagree.
    NotMeasured,
}

impl ClaimResult {
    /// In words, as in tables.
    pub fn words(self) -> &'static str {
        match self {
            Self::Holds => "holds",
            Self::DoesNotHold => "does not hold",
            Self::Undecidable => "undecidable",
            Self::NotMeasured => "not measured",
        }
    }
}
