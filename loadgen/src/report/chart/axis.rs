//! Axes: a grid, ticks with their values, and what is measured in which unit.
//!
//! Guarantees: the unit stands at the end of its axis, in upright text. Leaves to others: the data.

use maud::{Markup, html};

use crate::report::chart::px;
use crate::report::chart::scale::{Scale, label};

/// Distance between ticks that leaves room for their values, in pixels.
const APART_X: f64 = 75.0;
const APART_Y: f64 = 32.0;

/// The axis at the bottom, at the height `y`, with its title below; ticks at `at`, or at round values.
pub fn bottom(scale: &Scale, y: f64, title: &str, at: Option<&[f64]>) -> Markup {
    let [left, right] = scale.pixels();
    let count = ((right - left) / APART_X).max(2.0) as usize;
    let ticks = at.map_or_else(|| scale.ticks(count), <[f64]>::to_vec);
    let shown = without_overlap(scale, &ticks);
    html! {
        line.axis x1=(px(left)) x2=(px(right)) y1=(px(y)) y2=(px(y)) {}
        @for tick in &ticks {
            @let x = px(scale.at(*tick));
            line.axis x1=(x) x2=(x) y1=(px(y)) y2=(px(y + 4.0)) {}
        }
        @for tick in &shown {
            text.muted.small.mid.num x=(px(scale.at(*tick))) y=(px(y + 17.0)) { (label(*tick)) }
        }
        text.muted.small.end x=(px(right)) y=(px(y + 34.0)) { (title) }
    }
}

/// Ticks whose values have room; the last one always has.
fn without_overlap(scale: &Scale, ticks: &[f64]) -> Vec<f64> {
    let mut shown: Vec<f64> = Vec::new();
    let mut limit = f64::INFINITY;
    for tick in ticks.iter().rev() {
        let half = label(*tick).chars().count() as f64 * 3.4;
        let x = scale.at(*tick);
        if x + half < limit {
            shown.push(*tick);
            limit = x - half - 6.0;
        }
    }
    shown
}

/// The axis at the left with lines across the chart up to `right`, and its title above.
pub fn left(scale: &Scale, right: f64, title: &str) -> Markup {
    let [bottom, top] = scale.pixels();
    let x = LEFT;
    let ticks = scale.ticks(((bottom - top) / APART_Y).max(2.0) as usize);
    html! {
        @for tick in &ticks {
            @let y = scale.at(*tick);
            line.grid x1=(px(x)) x2=(px(right)) y1=(px(y)) y2=(px(y)) {}
            text.muted.small.end.num x=(px(x - 7.0)) y=(px(y + 4.0)) { (label(*tick)) }
        }
        text.muted.small x="2" y=(px(top - 12.0)) { (title) }
    }
}

/// Where a chart begins at the left: room for `100,000`.
pub const LEFT: f64 = 50.0;
/// Room above a chart for the title of the axis at the left.
pub const ABOVE: f64 = 30.0;
/// Room below a chart for values and the title of the axis.
pub const BELOW: f64 = 42.0;
