//! A figure over the time of one run, with the steps of the run marked.
//!
//! Guarantees: all panels of a row have the same scale for the figure; a step has its name where it has
//! room, and a band in any case. Leaves to others: reading the series (`html`).

use maud::{Markup, html};

use crate::report::chart::axis::{self, ABOVE, BELOW, LEFT};
use crate::report::chart::scale::{Scale, Spacing};
use crate::report::chart::theme::SLOTS;
use crate::report::chart::{Caption, Size, path, picture, px, thin};

/// Points that are drawn of one line at most.
const MOST_POINTS: usize = 240;

/// One step of a run, in seconds since the run began.
#[derive(Debug, Clone, PartialEq)]
pub struct Span {
    pub name: String,
    pub from_s: f64,
    pub to_s: f64,
}

/// One run of one subject.
#[derive(Debug, Clone)]
pub struct Panel {
    pub caption: Caption,
    pub name: String,
    /// Place of the subject in the experiment; decides the colour.
    pub slot: usize,
    /// Title of the axis at the left, with its unit.
    pub unit: String,
    /// Seconds since the run began, and the figure.
    pub points: Vec<(f64, f64)>,
    /// A second figure in the same unit, dashed.
    pub second: Vec<(f64, f64)>,
    pub steps: Vec<Span>,
    /// All panels beside it have the same: lowest and highest value.
    pub extent: [f64; 2],
    pub spacing: Spacing,
}

impl Panel {
    pub fn draw(&self) -> Markup {
        let size = Size::PANEL;
        let (right, bottom) = (size.width - 8.0, size.height - BELOW);
        let top = ABOVE + 26.0;
        let ends = self.steps.iter().map(|step| step.to_s);
        let last = self.points.iter().map(|p| p.0).chain(ends);
        let last = last.fold(1.0, f64::max);
        let x = Scale::fixed([0.0, last], [LEFT, right]);
        let y = match self.spacing {
            Spacing::Linear => Scale::linear(self.extent.into_iter(), [bottom, top]),
            Spacing::Log => Scale::log(self.extent.into_iter(), [bottom, top]),
        };
        let line = |points: &[(f64, f64)]| {
            let places: Vec<(f64, f64)> = points.iter().map(|p| (x.at(p.0), y.at(p.1))).collect();
            path(&thin(&places, MOST_POINTS))
        };
        let drawing = html! {
            @for (n, step) in self.steps.iter().enumerate() {
                @let (from, to) = (x.at(step.from_s), x.at(step.to_s));
                @if n % 2 == 0 {
                    rect.band x=(px(from)) y=(px(top)) width=(px((to - from).max(0.0))) height=(px(bottom - top)) {}
                }
                @if step.name.chars().count() as f64 * 5.8 < to - from {
                    text.muted.small.mid x=(px((from + to) / 2.0)) y=(px(top - 5.0)) { (step.name) }
                }
            }
            (axis::left(&y, right, ""))
            (axis::bottom(&x, bottom, "seconds since the run began", None))
            g class={ "s" (self.slot % SLOTS) } {
                text.tint x="2" y="14" { (self.name) }
                @if !self.second.is_empty() { path.line.thin.dash d=(line(&self.second)) {} }
                path.line d=(line(&self.points)) {}
            }
            text.muted.small.end x=(px(right)) y="14" { (self.unit) }
        };
        picture(size, &self.caption, drawing)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_step_without_room_has_a_band_and_no_name() {
        let span = |name: &str, from_s, to_s| Span {
            name: name.to_owned(),
            from_s,
            to_s,
        };
        let panel = Panel {
            caption: Caption {
                id: "t".into(),
                title: "Memory over time".into(),
                description: "By step.".into(),
            },
            name: "tare/none".into(),
            slot: 0,
            unit: "RSS, MB".into(),
            points: (0..2_000).map(|n| (f64::from(n) / 4.0, 3.0)).collect(),
            second: vec![],
            steps: vec![span("start", 0.0, 1.0), span("settle", 1.0, 500.0)],
            extent: [1.0, 5.0],
            spacing: Spacing::Linear,
        };
        let svg = panel.draw().into_string();
        assert!(
            svg.contains(">settle<") && !svg.contains(">start<"),
            "{svg}"
        );
        assert_eq!(svg.matches("<rect").count(), 1, "{svg}");
        assert!(svg.len() < 8_000, "{}", svg.len());
    }
}
