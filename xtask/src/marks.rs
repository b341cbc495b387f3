//! Blocks of a Markdown file that a command writes: what stands between two marks.
//!
//! `<!-- loadgen sizing: begin results/kube -->` … `<!-- loadgen sizing: end -->`: the first mark may name the folder that
//! the block is made from, and options behind it (`objects=5000`). Guarantees: pure; nothing outside of the marks changes.
//! Leaves to others: the blocks.

use std::ops::Range;

/// What the first mark of each block begins with.
const START: &str = "<!-- loadgen ";

/// A kind of block, by the name in its marks.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Marks(pub &'static str);

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
    pub fn find(self, text: &str) -> Option<Block<'_>> {
        blocks(text).into_iter().find(|block| block.name == self.0)
    }

    /// The text with another block, of this folder; `None` where the marks are not.
    pub fn replace(self, text: &str, folder: Option<&str>, block: &str) -> Option<String> {
        let found = self.find(text)?;
        let (before, rest) = (&text[..found.at], &text[found.content.end..]);
        Some(format!("{before}{}\n{block}{rest}", self.begin(folder)))
    }
}

/// A block of a document.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Block<'a> {
    /// The name in its marks.
    pub name: &'a str,
    /// The words behind `begin`: the folder, then options.
    pub words: Vec<&'a str>,
    /// Where its first mark begins.
    at: usize,
    /// What stands between the marks, as a part of the document.
    pub content: Range<usize>,
}

/// All blocks of a document, in their order. A first mark without its second one is no block.
pub fn blocks(text: &str) -> Vec<Block<'_>> {
    let mut found = Vec::new();
    let mut at = 0;
    while let Some(begin) = text[at..].find(START).map(|offset| at + offset) {
        at = begin + START.len();
        let Some(block) = block_at(text, begin) else {
            continue;
        };
        at = block.content.end;
        found.push(block);
    }
    found
}

/// The block whose first mark begins here.
fn block_at(text: &str, at: usize) -> Option<Block<'_>> {
    let inside = at + START.len();
    let (mark, _) = text[inside..].split_once("-->")?;
    let (name, words) = mark.split_once(": begin")?;
    let is_name =
        |name: &str| !name.is_empty() && name.chars().all(|c| c.is_ascii_lowercase() || c == '-');
    let mut start = inside + mark.len() + "-->".len();
    start += usize::from(text[start..].starts_with('\n'));
    let end = start + text[start..].find(&format!("<!-- loadgen {name}: end -->"))?;
    is_name(name).then(|| Block {
        name,
        words: words.split_whitespace().collect(),
        at,
        content: start..end,
    })
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
            assert_eq!(found.words.first().copied(), want);
        }
    }

    #[test]
    fn all_blocks_of_a_document_are_found_in_their_order() {
        let text = "a\n<!-- loadgen figures: begin results/x rows=a,b -->\none\n<!-- loadgen figures: end -->\n\
            <!-- loadgen figures: begin results/y -->\n<!-- loadgen figures: end -->\n\
            <!-- loadgen sizing: begin results/z -->\nno end\n";
        let found = blocks(text);
        let said: Vec<_> = found
            .iter()
            .map(|block| (block.words.clone(), &text[block.content.clone()]))
            .collect();
        assert_eq!(
            said,
            [
                (vec!["results/x", "rows=a,b"], "one\n"),
                (vec!["results/y"], "")
            ]
        );
        assert!(found.iter().all(|block| block.name == "figures"));
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
