//! Objects that the server rejects, that never become ready, that change all the time.

use maud::html;

use super::{Page, Section, table};
use crate::report::unhealthy;

pub fn section(page: &Page) -> Option<Section> {
    let tables = unhealthy::tables(page.summary, page.record);
    let body = html! { @for rows in &tables { (table(rows)) } };
    (!tables.is_empty()).then(|| Section::new("robustness", "Robustness", body))
}
