//! Pauses for garbage collection, out of a subject's metrics page.
//!
//! Guarantees: counts what came after the page before; `None` for a language without a collector,
//! or a runtime that does not tell. Leaves to others: fetching the pages.

use crate::record::GcPauses;
use crate::spec::subject::Language;
use crate::watch::metrics_text::{counter_between, histogram_between};

/// The histogram that a language's runtime keeps of its own pauses.
pub fn histogram_of(language: Language) -> Option<&'static str> {
    match language {
        // runtime/metrics `/sched/pauses/total/gc:seconds` as the Prometheus client names it.
        Language::Go => Some("go_sched_pauses_total_gc_seconds"),
        _ => None,
    }
}

/// The pauses between two pages of a process.
pub fn between(before: Option<&str>, after: &str, name: &str) -> Option<GcPauses> {
    Some(GcPauses {
        buckets: histogram_between(before, after, name)?,
        total_s: counter_between(before, after, &format!("{name}_sum")),
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    fn page(counts: [u64; 3], sum: f64) -> String {
        let name = "go_sched_pauses_total_gc_seconds";
        let [first, second, all] = counts;
        format!(
            "# TYPE {name} histogram\n{name}_bucket{{le=\"0.0001\"}} {first}\n\
             {name}_bucket{{le=\"0.001\"}} {second}\n{name}_bucket{{le=\"+Inf\"}} {all}\n\
             {name}_sum {sum}\n{name}_count {all}\n"
        )
    }

    #[test]
    fn only_the_pauses_in_between_count() {
        let name = histogram_of(Language::Go).expect("Go collects");
        let (before, after) = (page([5, 5, 5], 0.0004), page([105, 106, 106], 0.0104));
        let pauses = between(Some(&before), &after, name).expect("on the page");
        assert_eq!(pauses.buckets.count(), 101);
        assert_eq!(pauses.buckets.quantile_ms(0.99), Some(0.1));
        assert_eq!(pauses.buckets.max_ms(), Some(1.0));
        assert!((pauses.total_s.expect("a sum") - 0.01).abs() < 1e-9);
    }

    #[test]
    fn what_is_not_told_is_unknown() {
        assert_eq!(histogram_of(Language::Rust), None);
        assert!(between(None, "up 1\n", "go_sched_pauses_total_gc_seconds").is_none());
    }
}
