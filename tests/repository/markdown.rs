//! What a Markdown document consists of: lines of prose, fenced blocks, headings, links.
//!
//! Guarantees: line numbers start at 1; what stands in a fence is not prose. Leaves to others: the
//! rest of Markdown.

use std::collections::BTreeMap;

/// One line and where it stands.
#[derive(Debug, Clone, PartialEq)]
pub struct Line<'a> {
    pub number: usize,
    pub text: &'a str,
}

/// A fenced block.
#[derive(Debug)]
pub struct Fence<'a> {
    /// What follows the opening fence: `sh`, `rust`, nothing.
    pub language: &'a str,
    pub lines: Vec<Line<'a>>,
}

impl Fence<'_> {
    pub fn text(&self) -> String {
        let lines: Vec<&str> = self.lines.iter().map(|line| line.text).collect();
        lines.join("\n")
    }
}

/// A document, taken apart.
#[derive(Debug, Default)]
pub struct Document<'a> {
    pub prose: Vec<Line<'a>>,
    pub fences: Vec<Fence<'a>>,
}

/// A link in prose.
#[derive(Debug, PartialEq)]
pub struct Link<'a> {
    pub line: usize,
    pub target: &'a str,
}

impl<'a> Document<'a> {
    pub fn parse(text: &'a str) -> Self {
        let mut document = Document::default();
        let mut fence: Option<Fence> = None;
        for (index, text) in text.lines().enumerate() {
            let line = Line {
                number: index + 1,
                text,
            };
            let mark = text.trim_start().strip_prefix("```");
            match (fence.take(), mark) {
                (None, Some(language)) => {
                    fence = Some(Fence {
                        language: language.trim(),
                        lines: vec![],
                    });
                }
                (None, None) => document.prose.push(line),
                (Some(open), Some(_)) => document.fences.push(open),
                (Some(mut open), None) => {
                    open.lines.push(line);
                    fence = Some(open);
                }
            }
        }
        document.fences.extend(fence);
        document
    }

    /// The anchors that GitHub makes of the headings.
    pub fn anchors(&self) -> Vec<String> {
        let mut seen: BTreeMap<String, usize> = BTreeMap::new();
        let mut anchors = Vec::new();
        for line in &self.prose {
            let level = line.text.len() - line.text.trim_start_matches('#').len();
            if !(1..=6).contains(&level) || !line.text[level..].starts_with(' ') {
                continue;
            }
            let anchor = slug(line.text[level..].trim());
            let times = seen.entry(anchor.clone()).or_default();
            anchors.push(match *times {
                0 => anchor,
                n => format!("{anchor}-{n}"),
            });
            *times += 1;
        }
        anchors
    }

    /// Targets of `[text](target)`.
    pub fn links(&self) -> Vec<Link<'a>> {
        let mut links = Vec::new();
        for line in &self.prose {
            let mut rest = without_code(line.text);
            while let Some(start) = rest.find("](") {
                let target = &rest[start + 2..];
                let Some(end) = target.find(')') else { break };
                let offset = line.text.len() - target.len();
                let target = line.text[offset..offset + end].split(' ').next();
                links.push(Link {
                    line: line.number,
                    target: target.unwrap_or_default(),
                });
                rest = rest[start + 2 + end..].to_owned();
            }
        }
        links
    }

    /// What stands between backticks in prose.
    pub fn inline_code(&self) -> Vec<Line<'a>> {
        let mut found = Vec::new();
        for line in &self.prose {
            for (index, text) in line.text.split('`').enumerate() {
                if index % 2 == 1 {
                    found.push(Line {
                        number: line.number,
                        text,
                    });
                }
            }
        }
        found
    }
}

/// The line with inline code blanked, of the same length.
pub fn without_code(line: &str) -> String {
    let mut inside = false;
    let blank = |c: char| " ".repeat(c.len_utf8());
    line.chars()
        .map(|c| {
            if c == '`' {
                inside = !inside;
                return " ".to_owned();
            }
            if inside { blank(c) } else { c.to_string() }
        })
        .collect()
}

fn slug(heading: &str) -> String {
    // A link in a heading counts with its text.
    let mut plain = String::new();
    let mut rest = heading;
    while let Some((before, after)) = rest.split_once("](") {
        plain.push_str(before);
        rest = after.split_once(')').map_or("", |(_, after)| after);
    }
    plain.push_str(rest);
    plain
        .to_lowercase()
        .chars()
        .filter_map(|c| match c {
            ' ' => Some('-'),
            c if c.is_alphanumeric() || c == '-' || c == '_' => Some(c),
            _ => None,
        })
        .collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_document_is_taken_apart() {
        let text =
            "# A `b` (c)\nsee [x](y.md#z), `[n](o)` and [q](r \"t\")\n```sh\nls\n```\n# A b c\n";
        let document = Document::parse(text);
        assert_eq!(document.anchors(), ["a-b-c", "a-b-c-1"]);
        let links: Vec<&str> = document.links().iter().map(|link| link.target).collect();
        assert_eq!(links, ["y.md#z", "r"]);
        assert_eq!(document.fences[0].language, "sh");
        assert_eq!(document.fences[0].lines[0].number, 4);
        let code: Vec<&str> = document.inline_code().iter().map(|l| l.text).collect();
        assert_eq!(code, ["b", "[n](o)"]);
    }
}
