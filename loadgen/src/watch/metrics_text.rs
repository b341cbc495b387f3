//! A histogram and a counter out of a Prometheus text page, and what changed between two pages.
//!
//! Guarantees: label sets of one metric are added up; what is not on the page is `None`, not 0.
//! Leaves to others: fetching the page. Quantiles are upper bounds of buckets, because that is
//! all a histogram of this form knows.

use std::collections::BTreeMap;

use crate::record::histogram::Buckets;

/// The histogram `name` (without `_bucket`).
pub fn histogram(page: &str, name: &str) -> Option<Buckets> {
    let bucket_name = format!("{name}_bucket");
    // Keyed by the bits of the bound: positive floats order as their bits do.
    let mut cumulative: BTreeMap<u64, f64> = BTreeMap::new();
    for sample in samples(page).filter(|sample| sample.name == bucket_name) {
        let bound = match sample.label("le")? {
            "+Inf" => f64::INFINITY,
            bound => bound.parse().ok().filter(|bound: &f64| *bound >= 0.0)?,
        };
        *cumulative.entry(bound.to_bits()).or_default() += sample.value;
    }
    let mut before = 0.0;
    let buckets = cumulative.into_iter().map(|(bits, count)| {
        let bound = f64::from_bits(bits);
        let own = (count - before).max(0.0) as u64;
        before = count;
        (bound.is_finite().then_some(bound), own)
    });
    let buckets: Vec<_> = buckets.collect();
    (!buckets.is_empty()).then_some(Buckets(buckets))
}

/// What came to a histogram from one page to a later one; all of it where there is no page before.
pub fn histogram_between(before: Option<&str>, after: &str, name: &str) -> Option<Buckets> {
    let earlier = before.and_then(|page| histogram(page, name));
    Some(histogram(after, name)?.since(&earlier.unwrap_or_default()))
}

/// The same of a counter.
pub fn counter_between(before: Option<&str>, after: &str, name: &str) -> Option<f64> {
    let earlier = before.and_then(|page| counter(page, name));
    Some((counter(after, name)? - earlier.unwrap_or(0.0)).max(0.0))
}

/// The sum over all label sets of a counter or gauge.
fn total(page: &str, name: &str) -> Option<f64> {
    let values: Vec<f64> = samples(page)
        .filter(|s| s.name == name)
        .map(|s| s.value)
        .collect();
    (!values.is_empty()).then(|| values.iter().sum())
}

/// A counter with labels is not on the page until it counts: declared and absent is 0.
pub fn counter(page: &str, name: &str) -> Option<f64> {
    let declared = || {
        let family = name.strip_suffix("_total").unwrap_or(name);
        let types = page.lines().filter_map(|line| line.strip_prefix("# TYPE "));
        types
            .filter_map(|rest| rest.split(' ').next())
            .any(|declared| declared == family || declared == name)
    };
    total(page, name).or_else(|| declared().then_some(0.0))
}

/// A counter over the label sets that have one of the values of each label; `None` where it is not
/// on the page at all, 0 where nothing of it is wanted.
pub fn counter_of(page: &str, name: &str, wanted: &[(&str, &[&str])]) -> Option<f64> {
    counter(page, name)?;
    let is_wanted = |sample: &Sample| {
        wanted.iter().all(|(label, values)| {
            let value = sample.label(label);
            value.is_some_and(|value| values.contains(&value))
        })
    };
    let own = samples(page).filter(|sample| sample.name == name && is_wanted(sample));
    Some(own.map(|sample| sample.value).sum())
}

/// A line of a page.
pub struct Sample<'a> {
    pub name: &'a str,
    labels: &'a str,
    pub value: f64,
}

/// Endings of the metrics that [`changes`] leaves out.
const LEFT_OUT: [&str; 3] = ["_bucket", "_seconds_sum", "_seconds_count"];

/// What changed from one page to a later one, a line for each: `NAME{LABELS}`, before, after, separated by tabs.
/// Histograms of durations are left out, and the buckets of others (their sums and counts are there): they are most of a page.
pub fn changes(before: &str, after: &str) -> String {
    let earlier: BTreeMap<&str, &str> = lines(before).collect();
    let changed = lines(after).filter_map(|(name, value)| {
        let was = earlier.get(name).copied().unwrap_or_default();
        let metric = name.split('{').next().unwrap_or_default();
        let is_left_out = LEFT_OUT.iter().any(|ending| metric.ends_with(ending));
        (was != value && !is_left_out).then(|| format!("{name}\t{was}\t{value}\n"))
    });
    format!("series\tbefore\tafter\n{}", changed.collect::<String>())
}

/// The samples of a page as they are written: name with labels, and value.
fn lines(page: &str) -> impl Iterator<Item = (&str, &str)> {
    page.lines().filter_map(line)
}

/// Name with labels, and value, of a line that is a sample. A time stamp and an exemplar (OpenMetrics) may follow.
fn line(line: &str) -> Option<(&str, &str)> {
    let line = line.trim();
    let name_bytes = line.find(|c: char| c == '{' || c.is_whitespace())?;
    let series_bytes = match line[name_bytes..].starts_with('{') {
        true => name_bytes + 1 + closing(&line[name_bytes + 1..])? + 1,
        false => name_bytes,
    };
    let (series, rest) = line.split_at(series_bytes);
    let value = rest.split_whitespace().next()?;
    (!series.starts_with('#')).then_some((series, value))
}

/// Where the brace is that ends the labels: one in a quoted value is not it.
fn closing(labels: &str) -> Option<usize> {
    let mut at = 0;
    loop {
        at += labels[at..].find(['"', '}'])?;
        if labels[at..].starts_with('}') {
            return Some(at);
        }
        at += 1;
        at += closing_quote(&labels[at..])? + 1;
    }
}

/// Where the quote is that ends a value: one behind a backslash is not it.
fn closing_quote(value: &str) -> Option<usize> {
    let mut escaped = false;
    value.bytes().position(|byte| {
        let is_escaped = std::mem::take(&mut escaped);
        escaped = !is_escaped && byte == b'\\';
        !is_escaped && byte == b'"'
    })
}

impl<'a> Sample<'a> {
    fn parse(text: &'a str) -> Option<Self> {
        let (series, value) = line(text)?;
        let (name, labels) = match series.split_once('{') {
            Some((name, labels)) => (name, labels.strip_suffix('}')?),
            None => (series, ""),
        };
        Some(Sample {
            name,
            labels,
            value: value.parse().ok()?,
        })
    }

    /// The value as it is written, with its escapes.
    pub fn label(&self, wanted: &str) -> Option<&'a str> {
        let mut rest = self.labels;
        loop {
            let (name, after) = rest.split_once('=')?;
            let value = after.trim_start().strip_prefix('"')?;
            let end = closing_quote(value)?;
            if name.trim_matches([',', ' ', '\t']) == wanted {
                return Some(&value[..end]);
            }
            rest = &value[end + 1..];
        }
    }
}

/// The samples of a page.
pub fn samples(page: &str) -> impl Iterator<Item = Sample<'_>> {
    page.lines().filter_map(Sample::parse)
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    const PAGE: &str = r#"
# HELP reconcile_seconds How long.
# TYPE reconcile_seconds histogram
reconcile_seconds_bucket{result="ok",le="0.001"} 90
reconcile_seconds_bucket{result="ok",le="0.01"} 98
reconcile_seconds_bucket{result="ok",le="+Inf"} 98
reconcile_seconds_bucket{result="error",le="0.001"} 0
reconcile_seconds_bucket{result="error",le="0.01"} 1
reconcile_seconds_bucket{result="error",le="+Inf"} 2
reconcile_seconds_sum 0.3
errors_total{reason="timeout"} 3
errors_total{reason="conflict"} 4
"#;

    #[test]
    fn a_page_of_open_metrics_is_read_as_any_other() {
        let page = "# TYPE errors counter\n\
            errors_total{controller=\"a, b}\",path=\"C:\\\\\"} 3 1700000000 # {trace_id=\"x}\"} 1.0 1700000000.1\n\
            errors_total{ path = \"say \\\"hi\\\", le=\" , controller = \"c\" , } 4\n\
            plain_total 5 1700000000\n# EOF\n";
        assert_eq!(counter(page, "errors_total"), Some(7.0));
        assert_eq!(counter(page, "plain_total"), Some(5.0));
        let of = |label, value| counter_of(page, "errors_total", &[(label, &[value])]);
        assert_eq!(of("controller", "a, b}"), Some(3.0));
        assert_eq!(of("controller", "c"), Some(4.0));
        assert_eq!(of("path", "C:\\\\"), Some(3.0));
        assert_eq!(of("le", ""), Some(0.0));
        let before = page.replace("} 3 17", "} 2 17");
        assert_eq!(
            changes(&before, page).lines().nth(1),
            Some("errors_total{controller=\"a, b}\",path=\"C:\\\\\"}\t2\t3")
        );
        let with_exemplar = "x_bucket{le=\"1\"} 1 # {id=\"a\"} 0.5\nx_bucket{le=\"+Inf\"} 2\n";
        let buckets = histogram(with_exemplar, "x");
        assert_eq!(buckets, Some(Buckets(vec![(Some(1.0), 1), (None, 1)])));
    }

    #[test]
    fn what_changed_between_two_pages_has_its_two_values() {
        let after = PAGE
            .replace("reconcile_seconds_sum 0.3", "reconcile_seconds_sum 0.4")
            .replace("le=\"0.001\"} 90", "le=\"0.001\"} 91")
            .replace("\"timeout\"} 3", "\"timeout\"} 5")
            + "sizes_sum 9\nerrors_total{reason=\"a b\"} 1\n";
        assert_eq!(
            changes(PAGE, &after),
            "series\tbefore\tafter\nerrors_total{reason=\"timeout\"}\t3\t5\nsizes_sum\t\t9\nerrors_total{reason=\"a b\"}\t\t1\n"
        );
    }

    #[test]
    fn a_counter_is_added_up_over_the_labels_that_are_wanted() {
        let page = "# TYPE reads counter\nreads{verb=\"LIST\",resource=\"pods\"} 3\n\
                    reads{verb=\"GET\",resource=\"pods\"} 4\nreads{verb=\"LIST\",resource=\"nodes\"} 5\n";
        let of = |verbs: &[&str], resources: &[&str]| {
            counter_of(page, "reads", &[("verb", verbs), ("resource", resources)])
        };
        assert_eq!(of(&["LIST"], &["pods"]), Some(3.0));
        assert_eq!(of(&["LIST", "GET"], &["pods", "nodes"]), Some(12.0));
        assert_eq!(of(&["WATCH"], &["pods"]), Some(0.0));
        assert_eq!(counter_of(page, "writes", &[]), None);
    }

    #[test]
    fn label_sets_are_added_up() {
        let buckets = histogram(PAGE, "reconcile_seconds").expect("on the page");
        assert_eq!(
            buckets,
            Buckets(vec![(Some(0.001), 90), (Some(0.01), 9), (None, 1)])
        );
        assert_eq!(counter(PAGE, "errors_total"), Some(7.0));
    }

    #[test]
    fn quantiles_are_upper_bounds() {
        let buckets = histogram(PAGE, "reconcile_seconds").expect("on the page");
        assert_eq!(buckets.quantile_ms(0.5), Some(1.0));
        assert_eq!(buckets.quantile_ms(0.99), Some(10.0));
        assert_eq!(
            buckets.quantile_ms(1.0),
            None,
            "the last bucket has no bound"
        );
        assert_eq!(Buckets::default().quantile_ms(0.5), None);
    }

    #[test]
    fn what_is_not_on_the_page_is_unknown() {
        assert_eq!(histogram(PAGE, "other"), None);
        assert_eq!(counter(PAGE, "errors"), None);
        assert_eq!(histogram("x_bucket{le=\"nonsense\"} 1", "x"), None);
    }

    #[test]
    fn a_declared_counter_without_samples_is_zero() {
        assert_eq!(
            counter("# TYPE errors counter\n", "errors_total"),
            Some(0.0)
        );
        assert_eq!(
            counter("# TYPE errors_total counter\n", "errors_total"),
            Some(0.0)
        );
        assert_eq!(
            counter("# TYPE errors_other counter\n", "errors_total"),
            None
        );
    }

    proptest! {
        #[test]
        fn any_text_is_read_without_panic(page: String, name in "[a-z_]{1,8}") {
            let _ = (histogram(&page, &name), counter(&page, &name));
        }
    }
}
