//! Charts: lines over two axes, as SVG.
//!
//! Guarantees: pure, and the same data gives the same bytes; every chart has a title and a description for those who do
//! not see it; no two names of lines cover each other; ticks are 1, 2 or 5 times a power of ten, unless they are given.
//! Leaves to others: what is drawn, the markup (`page/chart.svg`) and the colours (`page/chart.css`).

use serde::Serialize;
use serde_json::json;

use crate::report::page;
use crate::report::table::grouped;

/// Subjects with a colour of their own; later ones take the first again, dashed.
pub const COLOURS: usize = 8;
/// Points that are drawn of one line at most.
const MOST_POINTS: usize = 240;
/// Height of a line of text, in pixels.
const ROW: f64 = 16.0;
/// Room at the left for `100,000`, above for the title of the axis, below for values and the title of the other.
const LEFT: f64 = 50.0;
const ABOVE: f64 = 30.0;
const BELOW: f64 = 42.0;
/// Distance between ticks that leaves room for their values.
const APART: [f64; 2] = [75.0, 32.0];

type Points = Vec<(f64, f64)>;

/// A chart of lines. `id` is unique within a page.
#[derive(Debug, Clone, Default)]
pub struct Chart {
    pub id: String,
    pub title: String,
    pub description: String,
    pub x: Axis,
    pub y: Axis,
    pub lines: Vec<Line>,
    /// Behind the lines.
    pub bands: Vec<Band>,
    /// Names stand in a list above, not at the ends of the lines: for lines that end in one place.
    pub is_listed: bool,
}

/// The title with its unit, and how values are spread.
#[derive(Debug, Clone, Default)]
pub struct Axis {
    pub title: String,
    /// Equal ratios are equally far apart; values of zero are left out.
    pub is_log: bool,
    /// Values at which ticks stand, where those are known.
    pub ticks: Vec<f64>,
    /// Values that the axis has room for beside its own.
    pub also: Vec<f64>,
}

/// One line; without a name it goes with the one before it.
#[derive(Debug, Clone, Default)]
pub struct Line {
    pub name: String,
    /// Place of the subject in the experiment; decides the colour.
    pub slot: usize,
    pub points: Points,
    pub is_dashed: bool,
    /// Each point is marked: points that were measured, not a curve.
    pub has_dots: bool,
    /// Lowest and highest of the runs at an x.
    pub ranges: Vec<(f64, [f64; 2])>,
    /// A point with a circle around it, such as the knee.
    pub mark: Option<(f64, f64)>,
}

/// A stretch of the axis at the bottom with a name.
#[derive(Debug, Clone)]
pub struct Band {
    pub name: String,
    pub from: f64,
    pub to: f64,
}

/// Width and height of a chart, in pixels of its own coordinates.
#[derive(Debug, Clone, Copy)]
pub struct Size(f64, f64);

impl Size {
    /// On a screen or a page of paper.
    pub const WIDE: Size = Size(760.0, 380.0);
    /// On a phone.
    pub const NARROW: Size = Size(350.0, 300.0);
    /// One of several side by side.
    pub const PANEL: Size = Size(350.0, 200.0);
}

impl Axis {
    pub fn linear(title: &str) -> Self {
        let title = title.to_owned();
        Self {
            title,
            ..Self::default()
        }
    }

    pub fn log(title: &str) -> Self {
        let is_log = true;
        Self {
            is_log,
            ..Self::linear(title)
        }
    }
}

/// A line as it is drawn, in pixels.
#[derive(Serialize)]
struct Drawn<'a> {
    name: &'a str,
    colour: usize,
    is_dashed: bool,
    path: String,
    dots: Points,
    ranges: Vec<[f64; 3]>,
    mark: Option<(f64, f64)>,
    /// Where the line ends, and where its name stands.
    end: (f64, f64),
    place: f64,
}

/// Where a value stands; without a label where there is no room for one.
#[derive(Serialize)]
struct Tick {
    at: f64,
    label: Option<String>,
}

impl Chart {
    /// # Errors
    /// Never for the markup that is part of this program, which a test draws.
    pub fn draw(&self, Size(width, height): Size) -> anyhow::Result<String> {
        let named = || self.lines.iter().filter(|line| !line.name.is_empty());
        let is_listed = self.is_listed || width < Size::WIDE.0;
        let (listed, beside) = match is_listed {
            true => (ROW * named().count() as f64 + 6.0, 14.0),
            false => {
                let letters = named().map(|line| line.name.chars().count());
                (0.0, letters.max().unwrap_or(0) as f64 * 6.7 + 20.0)
            }
        };
        let height = height + listed;
        let (top, right, bottom) = (listed + ABOVE, width - beside, height - BELOW);
        let points = || self.lines.iter().flat_map(|line| &line.points);
        let ends = self.bands.iter().map(|band| band.to);
        let across = points().map(|point| point.0).chain(ends);
        let x = Scale::new(&self.x, across.clone(), [LEFT, right], APART[0]);
        let x = match self.x.is_log {
            true => x,
            false => x.ending_at(across.fold(0.0, f64::max)),
        };
        let ranges = self.lines.iter().flat_map(|line| &line.ranges);
        let values = points().map(|point| point.1);
        let values = values.chain(ranges.flat_map(|(_, range)| *range));
        let y = Scale::new(&self.y, values, [bottom, top], APART[1]);
        let mut lines: Vec<Drawn> = self.lines.iter().map(|line| line.drawn(&x, &y)).collect();
        let mut with_names: Vec<&mut Drawn> =
            lines.iter_mut().filter(|l| !l.name.is_empty()).collect();
        let wanted: Vec<f64> = with_names.iter().map(|line| line.end.1 + 4.0).collect();
        let places = match is_listed {
            true => (0..)
                .map(|n| 14.0 + ROW * f64::from(n))
                .take(wanted.len())
                .collect(),
            false => spread(&wanted, ROW - 1.0, top - 4.0, bottom + 4.0),
        };
        for (line, place) in with_names.iter_mut().zip(places) {
            line.place = place;
        }
        let bands = self.bands.iter().map(|band| {
            let (from, to) = (x.at(band.from), x.at(band.to));
            let fits = band.name.chars().count() as f64 * 5.8 < to - from;
            json!({ "from": from, "to": to, "name": fits.then_some(&band.name) })
        });
        page::render(
            "chart.svg",
            json!({
                "id": self.id, "title": self.title, "description": self.description, "width": width,
                "height": height, "top": top, "right": right, "bottom": bottom, "left": LEFT,
                "x_title": self.x.title, "y_title": self.y.title, "x_ticks": x.without_overlap(),
                "y_ticks": y.labelled(), "bands": bands.collect::<Vec<_>>(), "lines": lines, "is_listed": is_listed,
            }),
        )
    }

    /// A file of its own, with its colours.
    ///
    /// # Errors
    /// As [`Chart::draw`].
    pub fn file(&self) -> anyhow::Result<String> {
        let drawing = self.draw(Size::WIDE)?;
        let style = format!(
            "<style>{}svg{{background:var(--ground)}}</style>",
            page::CHART_CSS
        );
        Ok(drawing.replacen('>', &format!(">{style}"), 1))
    }
}

impl Line {
    fn drawn(&self, x: &Scale, y: &Scale) -> Drawn<'_> {
        let place = |(across, up): &(f64, f64)| (x.at(*across), y.at(*up));
        let places: Points = self.points.iter().map(place).collect();
        let ranges = self.ranges.iter();
        let ranges = ranges.map(|(at, [low, high])| [x.at(*at), y.at(*low), y.at(*high)]);
        let step = |(n, (x, y)): (usize, &(f64, f64))| {
            let letter = if n == 0 { 'M' } else { 'L' };
            format!("{letter}{x:.1} {y:.1}")
        };
        Drawn {
            name: &self.name,
            colour: self.slot % COLOURS,
            is_dashed: self.is_dashed || self.slot >= COLOURS,
            path: thin(&places).iter().enumerate().map(step).collect(),
            end: places.last().copied().unwrap_or_default(),
            dots: if self.has_dots { places } else { Vec::new() },
            ranges: ranges.collect(),
            mark: self.mark.as_ref().map(place),
            place: 0.0,
        }
    }
}

/// From a value to a place on an axis, in pixels.
#[derive(Debug)]
struct Scale {
    is_log: bool,
    domain: [f64; 2],
    pixels: [f64; 2],
    ticks: Vec<f64>,
}

impl Scale {
    /// With room for all values: a linear one from zero, between round numbers that stand at least `apart` pixels apart.
    fn new(axis: &Axis, values: impl Iterator<Item = f64>, pixels: [f64; 2], apart: f64) -> Self {
        let values = values.chain(axis.also.iter().copied());
        let values = values.filter(|value| value.is_finite() && (*value > 0.0 || !axis.is_log));
        let most = ((pixels[1] - pixels[0]).abs() / apart).max(2.0);
        let (low, high) = values.fold((f64::INFINITY, f64::NEG_INFINITY), |(low, high), value| {
            (low.min(value), high.max(value))
        });
        let mut ticks: Vec<f64> = match (axis.is_log, low > high) {
            (true, true) => vec![1.0, 10.0],
            (true, false) => log_ticks(low, high),
            (false, is_empty) => {
                let (low, high) = if is_empty {
                    (0.0, 0.0)
                } else {
                    (low.min(0.0), high)
                };
                let high = if high > low { high } else { low + 1.0 };
                let step = round_step((high - low) / most);
                let (first, last) = ((low / step).floor(), (high / step - 1e-9).ceil());
                (first as i64..=last as i64)
                    .map(|n| n as f64 * step)
                    .collect()
            }
        };
        let domain = [ticks[0], ticks[ticks.len() - 1]];
        if axis.is_log && ticks.len() as f64 > most {
            let is_power = |tick: &f64| (tick.log10() - tick.log10().round()).abs() < 1e-9;
            ticks.retain(is_power);
        }
        if !axis.ticks.is_empty() {
            ticks.clone_from(&axis.ticks);
        }
        Self {
            is_log: axis.is_log,
            domain,
            pixels,
            ticks,
        }
    }

    /// The same without room behind the last value.
    fn ending_at(mut self, last: f64) -> Self {
        if last > self.domain[0] {
            self.domain[1] = last;
            self.ticks.retain(|tick| *tick <= last);
        }
        self
    }

    fn at(&self, value: f64) -> f64 {
        let [from, to] = self.domain;
        let value = value.clamp(from, to);
        let part = match self.is_log {
            false => (value - from) / (to - from),
            true => (value / from).ln() / (to / from).ln(),
        };
        self.pixels[0] + part * (self.pixels[1] - self.pixels[0])
    }

    fn labelled(&self) -> Vec<Tick> {
        let tick = |value: &f64| Tick {
            at: self.at(*value),
            label: Some(label(*value)),
        };
        self.ticks.iter().map(tick).collect()
    }

    /// Of ticks side by side the last has its label, and the others where there is room.
    fn without_overlap(&self) -> Vec<Tick> {
        let mut ticks = self.labelled();
        let mut limit = f64::INFINITY;
        for tick in ticks.iter_mut().rev() {
            let letters = tick.label.as_ref().map_or(0, |label| label.chars().count());
            let half = letters as f64 * 3.4;
            match tick.at + half < limit {
                true => limit = tick.at - half - 6.0,
                false => tick.label = None,
            }
        }
        ticks
    }
}

/// 1, 2 and 5 times powers of ten, from the last that is not above `low` to the first that is not below `high`.
fn log_ticks(low: f64, high: f64) -> Vec<f64> {
    let exponents = low.log10().floor() as i32..=high.log10().ceil() as i32;
    let all = exponents.flat_map(|e| [1.0, 2.0, 5.0].map(|step| step * 10_f64.powi(e)));
    let all: Vec<f64> = all.collect();
    let first = all.iter().rposition(|tick| *tick <= low * (1.0 + 1e-9));
    let first = first.unwrap_or(0);
    let last = all.iter().position(|tick| *tick >= high * (1.0 - 1e-9));
    let last = last.unwrap_or(all.len() - 1).max(first + 1);
    all[first..=last].to_vec()
}

/// The smallest of 1, 2 and 5 times a power of ten that is not below a value above zero.
fn round_step(value: f64) -> f64 {
    let power = 10_f64.powi(value.log10().floor() as i32);
    let steps = [1.0, 2.0, 5.0, 10.0].map(|step| step * power);
    let fits = |step: &f64| *step >= value * (1.0 - 1e-9);
    steps.into_iter().find(fits).unwrap_or(10.0 * power)
}

/// A tick in words: grouped thousands, and as many decimals as it needs.
fn label(value: f64) -> String {
    if value >= 1_000.0 {
        return grouped(value.round() as usize);
    }
    let text = format!("{value:.3}");
    text.trim_end_matches('0').trim_end_matches('.').to_owned()
}

/// Places at least `gap` apart and between `low` and `high`, as near as possible to the wanted ones;
/// in the order of the wanted ones.
fn spread(wanted: &[f64], gap: f64, low: f64, high: f64) -> Vec<f64> {
    let mut order: Vec<usize> = (0..wanted.len()).collect();
    order.sort_by(|a, b| wanted[*a].total_cmp(&wanted[*b]));
    let mut places = vec![0.0; wanted.len()];
    let mut least = low;
    for n in &order {
        places[*n] = wanted[*n].clamp(low, high).max(least);
        least = places[*n] + gap;
    }
    // What now ends too low is pushed up again.
    let mut most = high;
    for n in order.iter().rev() {
        places[*n] = places[*n].min(most);
        most = places[*n] - gap;
    }
    places
}

/// So many points of a line as can be seen: the highest and the lowest in each stretch.
fn thin(points: &[(f64, f64)]) -> Points {
    if points.len() <= MOST_POINTS {
        return points.to_vec();
    }
    let stretches = points.chunks(points.len().div_ceil(MOST_POINTS / 2));
    let extremes = stretches.flat_map(|stretch| {
        let by_value = |a: &&(f64, f64), b: &&(f64, f64)| a.1.total_cmp(&b.1);
        let least = stretch.iter().min_by(by_value);
        let most = stretch.iter().max_by(by_value);
        let mut both: Points = least.into_iter().chain(most).copied().collect();
        both.sort_by(|a, b| a.0.total_cmp(&b.0));
        both.dedup();
        both
    });
    extremes.collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn chart() -> Chart {
        let line = |name: &str, slot: usize, by: f64| Line {
            name: name.to_owned(),
            slot,
            points: vec![(0.0, by), (5_000.0, 40.0 * by)],
            has_dots: true,
            ranges: vec![(5_000.0, [39.0 * by, 41.0 * by])],
            ..Line::default()
        };
        Chart {
            id: "memory".into(),
            title: "Memory <MB>".into(),
            description: "By number of objects.".into(),
            x: Axis {
                ticks: vec![0.0, 5_000.0],
                ..Axis::linear("objects")
            },
            y: Axis::linear("MB"),
            lines: vec![line("tare/none", 0, 1.0), line("go/<tuned>", 1, 1.01)],
            ..Chart::default()
        }
    }

    fn scale(is_log: bool, values: &[f64], pixels: [f64; 2]) -> Scale {
        let axis = match is_log {
            true => Axis::log("ms"),
            false => Axis::linear("MB"),
        };
        Scale::new(&axis, values.iter().copied(), pixels, 60.0)
    }

    #[test]
    fn a_chart_says_what_it_shows_with_names_beside_lines_or_above_them() {
        for size in [Size::WIDE, Size::NARROW] {
            let svg = chart().draw(size).expect("drawn");
            for want in [
                "<svg class=\"chart\"",
                "aria-labelledby=\"memory-t memory-d\"",
                "<title id=\"memory-t\">Memory &lt;MB&gt;</title>",
                ">tare/none<",
                "go/&lt;tuned&gt;",
                "class=\"s1\"",
                ">5,000<",
                ">MB<",
            ] {
                assert!(svg.contains(want), "{want} not in {svg}");
            }
            assert_eq!(svg.matches("<circle").count(), 4, "{svg}");
            assert!(!svg.contains("NaN"), "{svg}");
        }
        let file = chart().file().expect("drawn");
        assert!(file.contains("prefers-color-scheme"), "{file}");
    }

    #[test]
    fn a_chart_without_data_is_drawn_too() {
        let lines = vec![];
        let svg = Chart { lines, ..chart() }.draw(Size::WIDE);
        assert!(!svg.expect("drawn").contains("NaN"));
    }

    #[test]
    fn a_band_without_room_has_no_name() {
        let band = |name: &str, from, to| Band {
            name: name.to_owned(),
            from,
            to,
        };
        let bands = vec![band("start", 0.0, 10.0), band("settle", 10.0, 5_000.0)];
        let svg = Chart { bands, ..chart() }.draw(Size::PANEL).expect("drawn");
        assert!(
            svg.contains(">settle<") && !svg.contains(">start<"),
            "{svg}"
        );
        assert_eq!(
            svg.matches("<rect").count(),
            1,
            "every other one is shaded: {svg}"
        );
    }

    #[test]
    fn a_linear_scale_starts_at_zero_and_ends_at_a_round_number() {
        let scale = scale(false, &[3.4, 223.0], [300.0, 0.0]);
        assert_eq!(scale.ticks, [0.0, 50.0, 100.0, 150.0, 200.0, 250.0]);
        assert_eq!((scale.at(0.0), scale.at(125.0)), (300.0, 150.0));
        let tight = scale.ending_at(223.0);
        assert_eq!((tight.at(223.0), tight.ticks.len()), (0.0, 5));
    }

    #[test]
    fn a_log_scale_has_equal_ratios_at_equal_distances() {
        let wide = scale(true, &[12.0, 0.0, 900.0], [0.0, 600.0]);
        assert!((wide.at(100.0) - 300.0).abs() < 1e-9);
        assert_eq!(wide.ticks, [10.0, 20.0, 50.0, 100.0, 200.0, 500.0, 1_000.0]);
        let narrow = scale(true, &[12.0, 900.0], [0.0, 200.0]);
        assert_eq!(narrow.ticks, [10.0, 100.0, 1_000.0]);
    }

    #[test]
    fn nothing_and_one_value_have_a_scale_too() {
        for values in [vec![], vec![0.0], vec![f64::NAN], vec![7.0], vec![-3.0]] {
            for is_log in [false, true] {
                let scale = scale(is_log, &values, [0.0, 100.0]);
                let [from, to] = scale.domain;
                assert!(
                    from < to && !scale.ticks.is_empty(),
                    "{values:?}: {scale:?}"
                );
                assert!(scale.at(5.0).is_finite(), "{values:?}");
            }
        }
    }

    #[test]
    fn ticks_are_written_short() {
        let values = [0.0, 0.05, 2.5, 500.0, 20_000.0];
        assert_eq!(values.map(label), ["0", "0.05", "2.5", "500", "20,000"]);
    }

    #[test]
    fn labels_do_not_cover_each_other_and_stay_in_order() {
        let places = spread(&[100.0, 101.0, 20.0, 99.0], 14.0, 0.0, 110.0);
        assert_eq!(places, [96.0, 110.0, 20.0, 82.0]);
        assert_eq!(spread(&[], 14.0, 0.0, 110.0), Vec::<f64>::new());
    }

    #[test]
    fn a_thinned_line_keeps_its_peaks() {
        let value = |n| if n == 4_321 { 99.0 } else { 1.0 };
        let points: Points = (0..10_000).map(|n| (f64::from(n), value(n))).collect();
        let thinned = thin(&points);
        assert!(thinned.len() <= MOST_POINTS && thinned.contains(&(4_321.0, 99.0)));
        assert!(thinned.is_sorted_by(|a, b| a.0 <= b.0));
        assert_eq!(thin(&points[..5]), points[..5]);
    }
}
