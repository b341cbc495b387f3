//! Repeated cold starts on objects that exist.

use maud::html;

use super::{Page, Section, table};
use crate::report::restarts;

pub fn section(page: &Page) -> Option<Section> {
    let tables = restarts::tables(page.record);
    let body = html! { @for rows in &tables { (table(rows)) } };
    (!tables.is_empty()).then(|| Section::new("restarts", "Restarts", body))
}
