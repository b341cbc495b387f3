//! The paths of a Rust file: those of `use`, and those in the code that start with `crate`, `self`, `super`.

use super::is_word;
use super::tokens::Token;

/// A path in the code: `["crate", "queue", "Key"]`.
#[derive(Debug, PartialEq)]
pub struct Path {
    pub line: usize,
    /// Names of the inline modules around it.
    pub inside: Vec<String>,
    pub segments: Vec<String>,
    /// Whether it stands in a `pub use`, which makes a name known and depends on nothing.
    pub exported: bool,
}

/// Every path of a `use`, and every path in the code that starts with `crate`, `self` or `super`.
pub fn paths(tokens: &[Token]) -> Vec<Path> {
    let (mut found, mut inside, mut at) = (Vec::new(), Vec::<(String, usize)>::new(), 0);
    let mut depth = 0_usize;
    while at < tokens.len() {
        let around = || {
            inside
                .iter()
                .map(|(name, _)| name.clone())
                .collect::<Vec<_>>()
        };
        match tokens[at].text.as_str() {
            "use" => {
                let end = (at..tokens.len()).find(|i| tokens[*i].text == ";");
                let end = end.unwrap_or(tokens.len());
                let exported = before(tokens, at);
                let mut tree = Tree {
                    tokens: &tokens[at + 1..end],
                    at: 0,
                    found: vec![],
                };
                tree.read(&[]);
                found.extend(tree.found.into_iter().map(|(line, segments)| Path {
                    line,
                    inside: around(),
                    segments,
                    exported,
                }));
                at = end;
            }
            "mod" if tokens.get(at + 2).is_some_and(|token| token.text == "{") => {
                inside.push((tokens[at + 1].text.clone(), depth));
                depth += 1;
                at += 2;
            }
            "{" => depth += 1,
            "}" => {
                depth = depth.saturating_sub(1);
                inside.retain(|(_, opened)| *opened < depth);
            }
            "crate" | "super" | "self"
                if tokens.get(at + 1).is_some_and(|token| token.text == "::") =>
            {
                let line = tokens[at].line;
                let mut segments = vec![tokens[at].text.clone()];
                while tokens.get(at + 1).is_some_and(|token| token.text == "::")
                    && tokens.get(at + 2).is_some_and(|token| is_word(&token.text))
                {
                    segments.push(tokens[at + 2].text.clone());
                    at += 2;
                }
                found.push(Path {
                    line,
                    inside: around(),
                    segments,
                    exported: false,
                });
            }
            _ => {}
        }
        at += 1;
    }
    found
}

/// Whether `pub`, also `pub(crate)`, stands before the token.
fn before(tokens: &[Token], at: usize) -> bool {
    let start = at.saturating_sub(4);
    let last = tokens[start..at]
        .iter()
        .rev()
        .map(|token| token.text.as_str());
    last.take_while(|text| !matches!(*text, ";" | "}" | "{" | "]"))
        .any(|text| text == "pub")
}

/// `a::{b, c::{self, d}}` as the paths that it stands for.
struct Tree<'a> {
    tokens: &'a [Token],
    at: usize,
    found: Vec<(usize, Vec<String>)>,
}

impl Tree<'_> {
    fn read(&mut self, prefix: &[String]) {
        let mut path = prefix.to_vec();
        let mut line = self.tokens.get(self.at).map_or(0, |token| token.line);
        let mut grouped = false;
        while let Some(token) = self.tokens.get(self.at) {
            self.at += 1;
            match token.text.as_str() {
                "{" => {
                    grouped = true;
                    while self.tokens.get(self.at).is_some_and(|t| t.text != "}") {
                        self.read(&path);
                    }
                    self.at += 1;
                }
                "," => break,
                "}" => {
                    self.at -= 1;
                    break;
                }
                "as" => self.at += 1,
                "::" | "*" => {}
                "self" if !path.is_empty() => {}
                word => {
                    line = token.line;
                    path.push(word.to_owned());
                }
            }
        }
        if !grouped && !path.is_empty() {
            self.found.push((line, path));
        }
    }
}
