//! The short answer: which operator to run on a small node.

use maud::html;

use super::{Page, Section, table};
use crate::report::{provenance, small_node};

pub fn section(page: &Page) -> Section {
    let body = html! {
        div.answer { @for sentence in small_node::sentences(page.summary) { p { (sentence) } } }
        dl { @for (name, what) in provenance::operators(page.record) { dt { (name) } dd { (what) } } }
        @if let Some(rows) = small_node::table(page.summary) { (table(&rows)) }
    };
    Section::new("answer", "Which operator for a node with 512 MiB?", body)
}
