//! Links to the pages and plots of `cargo bench`, where they lie beside a folder of results.
//!
//! Guarantees: pure but for [`pages`]; a plot is linked where its page shows it, so that none of an
//! older run is. Leaves to others: the pages (`just bench-all`).

use std::fs;
use std::path::Path;

/// Beside the folder of a report.
const FOLDER: &str = "criterion";

/// A page and what is in it.
pub struct Page {
    /// Such as `rss.md`.
    pub file: String,
    pub text: String,
}

/// The pages beside a folder of results, by name; none where there is no such folder.
pub fn pages(results: &Path) -> Vec<Page> {
    let folder = match results.canonicalize() {
        Ok(whole) => whole.with_file_name(FOLDER),
        Err(_) => return Vec::new(),
    };
    let entries = fs::read_dir(folder).into_iter().flatten().flatten();
    let mut pages: Vec<Page> = entries
        .filter_map(|entry| {
            let file = entry.file_name().into_string().ok()?;
            let text = fs::read_to_string(entry.path()).ok()?;
            file.ends_with(".md").then_some(Page { file, text })
        })
        .collect();
    pages.sort_by(|a, b| a.file.cmp(&b.file));
    pages
}

/// A section of the report; empty without pages.
pub fn section(pages: &[Page]) -> String {
    if pages.is_empty() {
        return String::new();
    }
    let mut text = "### Benches of single steps\n\nMeasured with criterion on the simulated API server, in other runs than the \
                    figures above.\n\n"
        .to_owned();
    for Page { file, text: page } in pages {
        let name = file.trim_end_matches(".md");
        text.push_str(&format!("- [{name}](../{FOLDER}/{file})"));
        let plots: Vec<String> = plots(page)
            .map(|plot| format!("[{}](../{FOLDER}/{plot})", plot.trim_end_matches(".svg")))
            .collect();
        if !plots.is_empty() {
            text.push_str(&format!(", plots: {}", plots.join(", ")));
        }
        text.push('\n');
    }
    text.push('\n');
    text
}

/// The files of the images that a page shows.
fn plots(page: &str) -> impl Iterator<Item = &str> {
    let images = page.lines().filter(|line| line.starts_with("!["));
    let files = images.filter_map(|line| line.split_once("](")?.1.strip_suffix(')'));
    files.filter(|file| file.ends_with(".svg") && !file.contains('/'))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn page(file: &str, text: &str) -> Page {
        let (file, text) = (file.to_owned(), text.to_owned());
        Page { file, text }
    }

    #[test]
    fn a_page_is_linked_with_the_plots_that_it_shows() {
        let pages = [
            page("image_size.md", "# Sizes\nnot measured: just image\n"),
            page(
                "rss.md",
                "# RSS\n![rss, by criterion](rss.svg)\n\n![anonymous, by criterion](anonymous.svg)\n\
                 ![elsewhere](../../secret.svg)\n![open](rss.svg\n[no image](other.svg)\n",
            ),
        ];
        let section = section(&pages);
        assert!(
            section.contains("- [image_size](../criterion/image_size.md)\n"),
            "{section}"
        );
        let rss = "- [rss](../criterion/rss.md), plots: [rss](../criterion/rss.svg), \
                   [anonymous](../criterion/anonymous.svg)\n";
        assert!(section.contains(rss), "{section}");
        assert_eq!(section.matches(".svg").count(), 2, "{section}");
    }

    #[test]
    fn without_pages_there_is_no_section() {
        assert_eq!(section(&pages(Path::new("/nowhere/at/all"))), "");
    }
}
