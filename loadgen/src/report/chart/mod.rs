//! Charts: from data to SVG.
//!
//! Guarantees: pure, and the same data gives the same bytes; every chart has a title and a description
//! for those who do not see it; colours are CSS variables (`theme`), so that light and dark need one
//! picture. Leaves to others: which figures are drawn (`html`), and the page around them.

pub mod axis;
pub mod bar;
pub mod line;
pub mod scale;
pub mod steps;
pub mod theme;

use maud::{Markup, html};

/// Width and height of a chart, in pixels of its own coordinates.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Size {
    pub width: f64,
    pub height: f64,
}

impl Size {
    /// On a screen or a page of paper.
    pub const WIDE: Size = Size {
        width: 760.0,
        height: 380.0,
    };
    /// On a phone.
    pub const NARROW: Size = Size {
        width: 350.0,
        height: 300.0,
    };
    /// One of several side by side.
    pub const PANEL: Size = Size {
        width: 350.0,
        height: 210.0,
    };

    /// Whether there is no room for labels beside the lines.
    pub fn is_narrow(self) -> bool {
        self.width < 500.0
    }
}

/// What a chart is called, and what it shows in words. `id` is unique within a page.
#[derive(Debug, Clone)]
pub struct Caption {
    pub id: String,
    pub title: String,
    pub description: String,
}

/// The picture around a drawing.
pub fn picture(size: Size, caption: &Caption, drawing: Markup) -> Markup {
    let (title, description) = (format!("{}-t", caption.id), format!("{}-d", caption.id));
    html! {
        svg.chart xmlns="http://www.w3.org/2000/svg" role="img"
            viewBox={ "0 0 " (px(size.width)) " " (px(size.height)) }
            aria-labelledby={ (title) " " (description) } {
            title id=(title) { (caption.title) }
            desc id=(description) { (caption.description) }
            (drawing)
        }
    }
}

/// A coordinate, to a tenth of a pixel.
pub fn px(value: f64) -> String {
    let text = format!("{value:.1}");
    text.strip_suffix(".0").map_or(text.clone(), str::to_owned)
}

/// How wide a text of 12 pixels is at most, about.
pub fn text_width(text: &str) -> f64 {
    text.chars().count() as f64 * 6.7
}

/// A path through points.
pub fn path(points: &[(f64, f64)]) -> String {
    let step = |(n, (x, y)): (usize, &(f64, f64))| {
        let letter = if n == 0 { 'M' } else { 'L' };
        format!("{letter}{} {}", px(*x), px(*y))
    };
    points.iter().enumerate().map(step).collect()
}

/// Places at least `gap` apart and between `low` and `high`, as near as possible to the wanted ones;
/// in the order of the wanted ones.
pub fn spread(wanted: &[f64], gap: f64, low: f64, high: f64) -> Vec<f64> {
    let mut order: Vec<usize> = (0..wanted.len()).collect();
    order.sort_by(|a, b| wanted[*a].total_cmp(&wanted[*b]));
    let mut places: Vec<f64> = order.iter().map(|n| wanted[*n].clamp(low, high)).collect();
    for n in 1..places.len() {
        places[n] = places[n].max(places[n - 1] + gap);
    }
    // What now ends too low is pushed up again.
    let mut limit = high;
    for place in places.iter_mut().rev() {
        *place = place.min(limit);
        limit = *place - gap;
    }
    let mut spread = vec![0.0; wanted.len()];
    for (place, n) in places.into_iter().zip(order) {
        spread[n] = place;
    }
    spread
}

/// At most `most` points of a line, with its highest and lowest in each stretch.
pub fn thin(points: &[(f64, f64)], most: usize) -> Vec<(f64, f64)> {
    if points.len() <= most || most < 4 {
        return points.to_vec();
    }
    let stretches = most / 2;
    let mut kept = Vec::with_capacity(most);
    for stretch in 0..stretches {
        let from = stretch * points.len() / stretches;
        let to = (stretch + 1) * points.len() / stretches;
        let within = &points[from..to];
        let by_value = |a: &&(f64, f64), b: &&(f64, f64)| a.1.total_cmp(&b.1);
        let extremes = [
            within.iter().min_by(by_value),
            within.iter().max_by(by_value),
        ];
        let mut extremes: Vec<(f64, f64)> = extremes.into_iter().flatten().copied().collect();
        extremes.sort_by(|a, b| a.0.total_cmp(&b.0));
        extremes.dedup();
        kept.extend(extremes);
    }
    kept
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn labels_do_not_cover_each_other_and_stay_in_order() {
        let places = spread(&[100.0, 101.0, 20.0, 99.0], 14.0, 0.0, 110.0);
        assert_eq!(places, [96.0, 110.0, 20.0, 82.0]);
        assert_eq!(spread(&[], 14.0, 0.0, 110.0), Vec::<f64>::new());
    }

    #[test]
    fn a_thinned_line_keeps_its_peaks() {
        let points: Vec<(f64, f64)> = (0..10_000)
            .map(|n| (f64::from(n), if n == 4_321 { 99.0 } else { 1.0 }))
            .collect();
        let thinned = thin(&points, 200);
        assert!(thinned.len() <= 200, "{}", thinned.len());
        assert!(thinned.contains(&(4_321.0, 99.0)));
        assert!(thinned.is_sorted_by(|a, b| a.0 <= b.0));
        assert_eq!(thin(&points[..5], 200), points[..5]);
    }

    #[test]
    fn a_picture_says_what_it_shows() {
        let caption = Caption {
            id: "c".into(),
            title: "Memory <MB>".into(),
            description: "Grows.".into(),
        };
        let svg = picture(Size::PANEL, &caption, html! {}).into_string();
        assert_eq!(
            svg,
            "<svg class=\"chart\" xmlns=\"http://www.w3.org/2000/svg\" role=\"img\" viewBox=\"0 0 350 210\" \
             aria-labelledby=\"c-t c-d\"><title id=\"c-t\">Memory &lt;MB&gt;</title><desc id=\"c-d\">Grows.</desc></svg>"
        );
    }
}
