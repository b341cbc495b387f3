//! What foreign objects cost an operator, as a table and as a badge.
//!
//! Guarantees: pure; a start that failed stands in the table with its reason, and the badge then claims nothing. Leaves to
//! others: the figures (`metric::foreign_cost`).

use crate::metric::foreign_cost::{ForeignCost, ForeignStart};
use crate::report::table::{Table, grouped, mb};
use crate::report::title;
use crate::spec::bystanders;

/// An object that is kept costs more than this; what is below is noise of the allocator.
const NOISE_BYTES: f64 = 100.0;
/// Of a character of the badge's type, px.
const CHARACTER_PX: f64 = 6.6;

/// A line for each start.
pub fn table(cost: &ForeignCost) -> Table {
    let version = cost.kubernetes_version.as_deref();
    let version = version.map_or(String::new(), |version| format!(" {version}"));
    Table::of(
        format!(
            "{}: cold starts beside foreign objects, {}{version}, profile {}",
            cost.subject,
            title::control_plane(&cost.control_plane),
            cost.profile.name()
        ),
        &cost.starts,
        &[
            ("", &|start| words(start)),
            ("bytes for each", &|start| each(cost, start)),
            ("found in memory", &|start| {
                start.in_memory.map_or("–".into(), grouped)
            }),
            ("RSS settled, MB", &|start| mb(start.rss_bytes)),
            ("RSS peak, MB", &|start| mb(start.peak_bytes)),
            ("runs", &|start| match &start.failures[..] {
                [] => start.runs.to_string(),
                failures => format!("{}, failed: {}", start.runs, failures.join("; ")),
            }),
        ],
    )
}

/// `1,000 secrets`; of several kinds each.
pub fn words(start: &ForeignStart) -> String {
    let all = bystanders::parse(&start.offer).unwrap_or_default();
    let words = all
        .iter()
        .map(|kind| format!("{} {}", grouped(kind.objects), kind.kind));
    match &all[..] {
        [] => "without".to_owned(),
        _ => words.collect::<Vec<_>>().join(", "),
    }
}

/// Bytes for each foreign object of a start.
pub fn each(cost: &ForeignCost, start: &ForeignStart) -> String {
    let bytes = cost.without().and_then(|it| start.bytes_per_object(it));
    match bytes {
        None => "–".to_owned(),
        Some(bytes) if bytes.abs() < NOISE_BYTES => format!("none measurable ({bytes:.0})"),
        Some(bytes) => grouped_signed(bytes),
    }
}

fn grouped_signed(bytes: f64) -> String {
    let sign = if bytes < 0.0 { "-" } else { "" };
    format!("{sign}{}", grouped(bytes.abs().round() as usize))
}

/// The most that a foreign object of one kind costs, as an SVG; `None` where a start is missing or failed.
pub fn badge(cost: &ForeignCost) -> Option<String> {
    let without = cost.without()?;
    let starts = cost.starts.iter();
    let of_one_kind = starts.filter(|start| start.objects > 0 && !start.offer.contains(','));
    let costs: Option<Vec<f64>> = of_one_kind
        .map(|start| start.bytes_per_object(without))
        .collect();
    let most = costs?.into_iter().reduce(f64::max)?;
    let (text, colour) = match most < NOISE_BYTES {
        true => ("no memory".to_owned(), "#2a7f3f"),
        false => (
            format!("up to {} bytes each", grouped_signed(most)),
            "#a15c00",
        ),
    };
    let label = "objects of others";
    let width = |text: &str| (text.len() as f64 * CHARACTER_PX).round() + 12.0;
    let (left, right) = (width(label), width(&text));
    let (all, middle_left, middle_right) = (left + right, left / 2.0, left + right / 2.0);
    Some(format!(
        r##"<svg xmlns="http://www.w3.org/2000/svg" width="{all}" height="20" role="img" aria-label="{label}: {text}">
<title>{label}: {text}</title>
<rect width="{left}" height="20" fill="#444"/>
<rect x="{left}" width="{right}" height="20" fill="{colour}"/>
<g fill="#fff" text-anchor="middle" font-family="Verdana,DejaVu Sans,sans-serif" font-size="11">
<text x="{middle_left}" y="14">{label}</text>
<text x="{middle_right}" y="14">{text}</text>
</g>
</svg>
"##
    ))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::plan::profile::Profile;

    fn start(offer: &str, objects: usize, anon_bytes: f64) -> ForeignStart {
        ForeignStart {
            offer: offer.into(),
            objects,
            runs: 2,
            anon_bytes: Some(anon_bytes),
            rss_bytes: Some(anon_bytes + 3e6),
            peak_bytes: Some(anon_bytes + 4e6),
            in_memory: (objects > 0).then_some(objects / 2),
            failures: vec![],
        }
    }

    fn cost(secrets_bytes: f64) -> ForeignCost {
        ForeignCost {
            subject: "mine/first".into(),
            command_line: String::new(),
            control_plane: "kubesim".into(),
            kubernetes_version: Some("v1.36.4".into()),
            profile: Profile::Quick,
            loadgen_commit: String::new(),
            started_at: None,
            offers: vec![],
            starts: vec![
                start("none", 0, 1e6),
                start("secrets=1000", 1_000, 1e6 + secrets_bytes * 1e3),
                start("configmaps=1000", 1_000, 1e6 + 99e3),
                start("secrets=5000,configmaps=5000", 10_000, 9e6),
            ],
        }
    }

    #[test]
    fn each_start_has_a_line_with_what_a_foreign_object_costs() {
        let mut cost = cost(2_048.0);
        cost.starts[3].failures = vec!["was killed for memory".into()];
        let text = table(&cost).plain();
        for want in [
            "mine/first: cold starts beside foreign objects",
            "1,000 secrets                                   2,048              500",
            "none measurable (99)",
            "5,000 secrets, 5,000 configmaps",
            "2, failed: was killed for memory",
        ] {
            assert!(text.contains(want), "{want:?} not in\n{text}");
        }
    }

    #[test]
    fn the_badge_says_the_most_of_a_kind_or_nothing() {
        let none = badge(&cost(12.0)).expect("a badge");
        assert!(none.contains("objects of others: no memory"), "{none}");
        let some = badge(&cost(2_048.4)).expect("a badge");
        assert!(some.contains("up to 2,048 bytes each"), "{some}");
        let mut missing = cost(12.0);
        missing.starts[1].anon_bytes = None;
        assert_eq!(badge(&missing), None);
        missing.starts.remove(0);
        assert_eq!(badge(&missing), None);
    }
}
