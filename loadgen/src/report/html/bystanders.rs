//! Objects that are not the operator's: how many of them it holds, and what they cost it.

use super::{Page, Section, table};
use crate::report::bystanders;

pub fn section(page: &Page) -> Option<Section> {
    let rows = bystanders::table(page.summary, page.record)?;
    Some(Section::new("foreign", "Foreign objects", table(&rows)))
}
