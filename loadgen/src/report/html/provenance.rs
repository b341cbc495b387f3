//! Where the figures come from, what failed, what is missing, and how to measure the same.

use maud::{Markup, html};

use super::{Page, Section, table};
use crate::report::{conclusion, failures, notes, provenance, unsettled};

/// Every failed, invalid and unsettled run with its reason.
pub fn failed(page: &Page) -> Section {
    let failed = failures(page.record);
    let unsettled = unsettled(page.record);
    let body = html! {
        @if failed.is_empty() { p { "No run failed, and none is invalid." } }
        @else { pre { (failed.join("\n")) } }
        @if unsettled.is_empty() { p { "Every subject settled wherever the bench waited for it." } }
        @else {
            p { "These were sampled although they did not settle:" }
            ul.runs { @for line in &unsettled { li { (line) } } }
        }
    };
    Section::new("runs", "Failed, invalid and unsettled runs", body)
}

pub fn not_measured(page: &Page) -> Section {
    let gaps = conclusion::gaps(page.summary, page.record);
    let body = html! { ul { @for gap in &gaps { li { (gap) } } } };
    Section::new("not-measured", "What was not measured", body)
}

pub fn environment(page: &Page) -> Section {
    let body = html! {
        (facts(&provenance::environment(page.summary)))
        (table(&provenance::subjects(page.summary)))
    };
    Section::new("environment", "Environment", body)
}

fn facts(facts: &[(&'static str, String)]) -> Markup {
    html! { dl { @for (name, value) in facts { dt { (name) } dd { (value) } } } }
}

pub fn reproduce(page: &Page) -> Section {
    let body = html! {
        p { "The same measurement, from a checkout of the commit above:" }
        pre { (provenance::commands(page.summary).join("\n")) }
    };
    Section::new("reproduce", "How to reproduce", body)
}

/// What a reader must know; what is null in the summary is left to `summary.json`.
pub fn notes(page: &Page) -> Option<Section> {
    let notes = page.summary.notes.iter();
    let notes: Vec<&String> = notes
        .filter(|note| !notes::is_for_a_program(note))
        .collect();
    let body = html! { ul.notes { @for note in &notes { li { (note) } } } };
    (!notes.is_empty()).then(|| Section::new("notes", "Notes", body))
}
