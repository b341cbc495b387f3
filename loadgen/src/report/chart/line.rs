//! Lines over two axes, with a name at the end of each.
//!
//! Guarantees: a name stands beside its line where there is room, else in a list above the chart; no two
//! names cover each other. Leaves to others: which figures (`html`).

use maud::{Markup, html};

use crate::report::chart::axis::{self, ABOVE, BELOW, LEFT};
use crate::report::chart::scale::{Scale, Spacing};
use crate::report::chart::theme::SLOTS;
use crate::report::chart::{Caption, Size, path, picture, px, spread, text_width, thin};

/// Points that are drawn of one line at most.
const MOST_POINTS: usize = 240;
/// Height of a line of text, in pixels.
const ROW: f64 = 16.0;

/// What an axis says: the title with its unit, and the spacing.
#[derive(Debug, Clone)]
pub struct Axis {
    pub title: String,
    pub spacing: Spacing,
    /// Values at which ticks stand, where those are known.
    pub ticks: Option<Vec<f64>>,
}

impl Axis {
    pub fn linear(title: &str) -> Self {
        Self {
            title: title.to_owned(),
            spacing: Spacing::Linear,
            ticks: None,
        }
    }

    pub fn log(title: &str) -> Self {
        Self {
            spacing: Spacing::Log,
            ..Self::linear(title)
        }
    }

    /// Only these values, such as the sizes that were measured.
    pub fn with_ticks(self, ticks: Vec<f64>) -> Self {
        Self {
            ticks: Some(ticks),
            ..self
        }
    }

    fn scale(&self, values: impl Iterator<Item = f64>, pixels: [f64; 2]) -> Scale {
        match self.spacing {
            Spacing::Linear => Scale::linear(values, pixels),
            Spacing::Log => Scale::log(values, pixels),
        }
    }
}

/// How a line is drawn.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Stroke {
    Solid,
    Dashed,
}

/// One line.
#[derive(Debug, Clone)]
pub struct Line {
    pub name: String,
    /// Place of the subject in the experiment; decides the colour.
    pub slot: usize,
    pub points: Vec<(f64, f64)>,
    pub stroke: Stroke,
    /// Whether each point is marked: points that were measured, not a curve.
    pub dots: bool,
    /// Lowest and highest of the runs at an x.
    pub ranges: Vec<(f64, [f64; 2])>,
    /// A point with a circle around it, such as the knee.
    pub mark: Option<(f64, f64)>,
}

/// Where the names of lines stand.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Names {
    /// Beside the ends of the lines, where there is room.
    AtEnds,
    /// In a list above the chart: for lines that end in one place.
    Above,
}

/// A chart of lines.
#[derive(Debug, Clone)]
pub struct LineChart {
    pub caption: Caption,
    pub names: Names,
    pub x: Axis,
    pub y: Axis,
    pub lines: Vec<Line>,
}

impl LineChart {
    pub fn draw(&self, size: Size) -> Markup {
        let named: Vec<&Line> = self.lines.iter().filter(|l| !l.name.is_empty()).collect();
        let listed = size.is_narrow() || self.names == Names::Above;
        let (above, beside) = match listed {
            true => (ROW * named.len() as f64 + 6.0, 14.0),
            false => {
                let widths = named.iter().map(|line| text_width(&line.name));
                (0.0, widths.fold(0.0, f64::max) + 20.0)
            }
        };
        let size = Size {
            height: size.height + above,
            ..size
        };
        let top = above + ABOVE;
        let (right, bottom) = (size.width - beside, size.height - BELOW);
        let all = || self.lines.iter().flat_map(|line| &line.points);
        let ranges = || self.lines.iter().flat_map(|line| &line.ranges);
        let x = self.x.scale(all().map(|p| p.0), [LEFT, right]);
        let heights = all()
            .map(|p| p.1)
            .chain(ranges().flat_map(|(_, range)| *range));
        let y = self.y.scale(heights, [bottom, top]);
        let drawing = html! {
            (axis::left(&y, right, &self.y.title))
            (axis::bottom(&x, bottom, &self.x.title, self.x.ticks.as_deref()))
            @for line in &self.lines { (line.draw(&x, &y)) }
            @if listed { (list(&named)) } @else { (names(&named, &x, &y)) }
        };
        picture(size, &self.caption, drawing)
    }
}

impl Line {
    fn class(&self) -> String {
        format!("s{}", self.slot % SLOTS)
    }

    /// Subjects beyond the colours are dashed.
    fn stroke_class(&self) -> &'static str {
        match self.stroke == Stroke::Dashed || self.slot >= SLOTS {
            true => "line dash",
            false => "line",
        }
    }

    fn draw(&self, x: &Scale, y: &Scale) -> Markup {
        let places: Vec<(f64, f64)> = self.points.iter().map(|p| (x.at(p.0), y.at(p.1))).collect();
        html! {
            g class=(self.class()) {
                @for (at, [low, high]) in &self.ranges {
                    @let place = px(x.at(*at));
                    line.line.thin x1=(place) x2=(place) y1=(px(y.at(*low))) y2=(px(y.at(*high))) {}
                }
                path class=(self.stroke_class()) d=(path(&thin(&places, MOST_POINTS))) {}
                @if self.dots {
                    @for (cx, cy) in &places { circle.mark cx=(px(*cx)) cy=(px(*cy)) r="3.2" {} }
                }
                @if let Some((at_x, at_y)) = self.mark {
                    circle.line cx=(px(x.at(at_x))) cy=(px(y.at(at_y))) r="7" {}
                }
            }
        }
    }
}

/// Names beside the ends of their lines.
fn names(lines: &[&Line], x: &Scale, y: &Scale) -> Markup {
    let ended: Vec<(&&Line, (f64, f64))> = lines
        .iter()
        .filter_map(|line| Some((line, *line.points.last()?)))
        .collect();
    let wanted: Vec<f64> = ended.iter().map(|(_, (_, end))| y.at(*end) + 4.0).collect();
    let [bottom, top] = y.pixels();
    let places = spread(&wanted, ROW - 1.0, top - 4.0, bottom + 4.0);
    let [_, right] = x.pixels();
    html! {
        @for ((line, (end, height)), place) in ended.iter().zip(places) {
            g class=(line.class()) {
                @let (from, to) = ((x.at(*end) + 5.0, y.at(*height)), (right + 9.0, place - 4.0));
                path.line.thin opacity=".55" d=(path(&[from, to])) {}
                text.tint x=(px(right + 12.0)) y=(px(place)) { (line.name) }
            }
        }
    }
}

/// Names in a list above the chart.
fn list(lines: &[&Line]) -> Markup {
    html! {
        @for (n, line) in lines.iter().enumerate() {
            g class=(line.class()) {
                @let y = 14.0 + ROW * n as f64;
                path class=(line.stroke_class()) d=(path(&[(2.0, y - 4.0), (22.0, y - 4.0)])) {}
                text.tint x="28" y=(px(y)) { (line.name) }
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn chart() -> LineChart {
        let line = |name: &str, slot: usize, by: f64| Line {
            name: name.to_owned(),
            slot,
            points: vec![(0.0, by), (5_000.0, 40.0 * by)],
            stroke: Stroke::Solid,
            dots: true,
            ranges: vec![(5_000.0, [39.0 * by, 41.0 * by])],
            mark: None,
        };
        LineChart {
            caption: Caption {
                id: "memory".into(),
                title: "Memory".into(),
                description: "By number of objects.".into(),
            },
            names: Names::AtEnds,
            x: Axis::linear("objects").with_ticks(vec![0.0, 5_000.0]),
            y: Axis::linear("MB"),
            lines: vec![line("tare/none", 0, 1.0), line("go/<tuned>", 1, 1.01)],
        }
    }

    #[test]
    fn names_are_beside_lines_or_above_them_and_escaped() {
        for size in [Size::WIDE, Size::NARROW] {
            let svg = chart().draw(size).into_string();
            for want in [
                "tare/none",
                "go/&lt;tuned&gt;",
                "class=\"s1\"",
                "5,000",
                "MB",
            ] {
                assert!(svg.contains(want), "{want} not in {svg}");
            }
            assert_eq!(svg.matches("<circle").count(), 4, "{svg}");
            assert!(!svg.contains("NaN"), "{svg}");
        }
    }

    #[test]
    fn a_chart_without_data_is_drawn_too() {
        let empty = LineChart {
            lines: vec![],
            ..chart()
        };
        assert!(!empty.draw(Size::WIDE).into_string().contains("NaN"));
    }
}
