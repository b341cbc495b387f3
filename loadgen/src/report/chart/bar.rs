//! Horizontal bars, each with its name above it and its value at its end.
//!
//! Guarantees: bars start at zero; a value is written as the tables write it; what was not measured has
//! its word in place of a bar. Leaves to others: which figures (`html`).

use maud::{Markup, html};

use crate::report::chart::scale::Scale;
use crate::report::chart::theme::SLOTS;
use crate::report::chart::{Caption, Size, picture, px, text_width};

/// Height of a bar with its name.
const ROW: f64 = 36.0;

/// One bar.
#[derive(Debug, Clone)]
pub struct Bar {
    pub name: String,
    /// Place of the subject in the experiment; decides the colour.
    pub slot: usize,
    pub value: Option<f64>,
    /// As the tables have it, or why there is none.
    pub text: String,
}

/// Bars for one figure.
#[derive(Debug, Clone)]
pub struct BarChart {
    pub caption: Caption,
    pub bars: Vec<Bar>,
}

impl BarChart {
    pub fn draw(&self) -> Markup {
        let size = Size {
            height: ROW * self.bars.len() as f64 + 4.0,
            ..Size::PANEL
        };
        let room = self.bars.iter().map(|bar| text_width(&bar.text));
        let right = size.width - room.fold(0.0, f64::max) - 10.0;
        let values = self.bars.iter().filter_map(|bar| bar.value);
        let highest = values.fold(0.0, f64::max).max(f64::MIN_POSITIVE);
        let scale = Scale::fixed([0.0, highest], [0.0, right.max(60.0)]);
        let drawing = html! {
            @for (n, bar) in self.bars.iter().enumerate() {
                @let y = ROW * n as f64;
                @let end = bar.value.map_or(0.0, |value| scale.at(value).max(1.5));
                g class={ "s" (bar.slot % SLOTS) } {
                    text.tint x="0" y=(px(y + 13.0)) { (bar.name) }
                    rect.mark x="0" y=(px(y + 18.0)) width=(px(end)) height="12" rx="2" {}
                }
                text.num x=(px(end + 6.0)) y=(px(y + 28.5)) { (bar.text) }
            }
        };
        picture(size, &self.caption, drawing)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_missing_figure_has_a_word_and_no_bar() {
        let bar = |slot, value: Option<f64>, text: &str| Bar {
            name: format!("s/{slot}"),
            slot,
            value,
            text: text.to_owned(),
        };
        let chart = BarChart {
            caption: Caption {
                id: "b".into(),
                title: "Writes".into(),
                description: "Fewer is better.".into(),
            },
            bars: vec![bar(0, Some(4.0), "4.00"), bar(1, None, "invalid")],
        };
        let svg = chart.draw().into_string();
        assert!(
            svg.contains("width=\"0\"") && svg.contains(">invalid<"),
            "{svg}"
        );
        assert!(svg.contains(">4.00<"), "{svg}");
    }
}
