//! The picture of a README: memory by number of objects, as an SVG file of its own.
//!
//! Guarantees: the same picture as on the page (`html`); colours follow the reader's light or dark
//! setting. Leaves to others: drawing (`chart`).

use std::path::Path;

use crate::model::error::Usage;
use crate::model::evidence::Evidence;
use crate::model::summary::Summary;
use crate::report::chart::{Size, theme};
use crate::report::html;

/// Writes the picture.
///
/// # Errors
/// `Usage` where fewer than two sizes were measured; else what writing says.
pub fn write(file: &Path, summary: &Summary) -> anyhow::Result<()> {
    let picture = svg(summary).ok_or_else(|| {
        Usage(format!(
            "--svg {}: a picture needs settled memory at two sizes; measure more with --objects",
            file.display()
        ))
    })?;
    let folder = file
        .parent()
        .filter(|folder| !folder.as_os_str().is_empty());
    let name = file.file_name().unwrap_or_default().to_string_lossy();
    Evidence::open(folder.unwrap_or(Path::new("."))).write(&name, picture.as_bytes())?;
    Ok(())
}

/// `None` where fewer than two sizes were measured.
pub fn svg(summary: &Summary) -> Option<String> {
    let drawing = html::memory_chart(summary)?.draw(Size::WIDE).into_string();
    let style = format!(
        "<style>{}svg{{background:var(--ground)}}</style>",
        theme::css("svg")
    );
    let (head, body) = drawing.split_once('>')?;
    Some(format!("{head}>{style}{body}\n"))
}
