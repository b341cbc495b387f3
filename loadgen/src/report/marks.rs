//! Blocks of a Markdown file that a command writes: what stands between two marks.
//!
//! `<!-- loadgen sizing: begin results/kube -->` … `<!-- loadgen sizing: end -->`: the first mark may name the folder that
//! the block is made from. Guarantees: pure; nothing outside of the marks changes. Leaves to others: the blocks.

/// A kind of block, by the name in its marks.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Marks(pub &'static str);

/// A block that is there.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Marked<'a> {
    before: &'a str,
    /// The folder that the first mark names.
    pub folder: Option<&'a str>,
    /// From the second mark on.
    rest: &'a str,
}

impl Marks {
    /// The first mark, as it stands in a file.
    pub fn begin(self, folder: Option<&str>) -> String {
        let folder = folder.map_or(String::new(), |folder| format!(" {folder}"));
        format!("<!-- loadgen {}: begin{folder} -->", self.0)
    }

    pub fn end(self) -> String {
        format!("<!-- loadgen {}: end -->", self.0)
    }

    /// The first block of this kind.
    pub fn find(self, text: &str) -> Option<Marked<'_>> {
        let start = format!("<!-- loadgen {}: begin", self.0);
        let (before, rest) = text.split_once(start.as_str())?;
        let (folder, rest) = rest.split_once("-->")?;
        let folder = folder.trim();
        let rest = rest.strip_prefix('\n').unwrap_or(rest);
        let end = rest.find(self.end().as_str())?;
        Some(Marked {
            before,
            folder: (!folder.is_empty()).then_some(folder),
            rest: &rest[end..],
        })
    }

    /// The text with another block, of this folder; `None` where the marks are not.
    pub fn replace(self, text: &str, folder: Option<&str>, block: &str) -> Option<String> {
        let found = self.find(text)?;
        let begin = self.begin(folder);
        Some(format!("{}{begin}\n{block}{}", found.before, found.rest))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const TABLE: Marks = Marks("table");

    fn updated(text: &str) -> Option<String> {
        TABLE.replace(text, Some("results/new"), "new\n")
    }

    #[test]
    fn only_what_is_between_the_marks_changes() {
        let (begin, end) = (TABLE.begin(None), TABLE.end());
        let once = updated(&format!("# Tare\n{begin}\nold\n{end}\nmore\n")).expect("marked");
        let begin = "<!-- loadgen table: begin results/new -->";
        assert_eq!(once, format!("# Tare\n{begin}\nnew\n{end}\nmore\n"));
        assert_eq!(updated(&once), Some(once.clone()));
    }

    #[test]
    fn a_mark_names_its_folder() {
        let end = TABLE.end();
        for (folder, want) in [(None, None), (Some("results/kube"), Some("results/kube"))] {
            let text = format!("{}\nold\n{end}\n", TABLE.begin(folder));
            let found = TABLE.find(&text).expect("marked");
            assert_eq!(found.folder, want);
        }
    }

    #[test]
    fn a_file_without_both_marks_is_not_changed() {
        let (begin, end) = (TABLE.begin(None), TABLE.end());
        for text in [
            "# Tare\n".to_owned(),
            format!("{begin}\n"),
            format!("{end}\n{begin}\n"),
        ] {
            assert_eq!(updated(&text), None, "{text}");
        }
    }
}
