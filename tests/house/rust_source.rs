//! As much of Rust as the checks of rooms and words need: tokens, modules, paths, declared names.
//!
//! Guarantees: comments and literals are no tokens; what is compiled for tests only is left out.
//! Leaves to others: macros, and names that macros make.

/// A word or a mark, and the line on which it stands.
#[derive(Debug, Clone, PartialEq)]
pub struct Token {
    pub line: usize,
    pub text: String,
}

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

/// A name that the code declares.
#[derive(Debug, PartialEq)]
pub struct Declared {
    pub line: usize,
    /// `fn`, `struct`, `mod`, ...
    pub what: &'static str,
    pub name: String,
}

/// The tokens of a file. Lifetimes and literals are left out.
pub fn tokens(text: &str) -> Vec<Token> {
    let mut reader = Reader {
        rest: text,
        line: 1,
        tokens: vec![],
    };
    while reader.step() {}
    reader.tokens
}

struct Reader<'a> {
    rest: &'a str,
    line: usize,
    tokens: Vec<Token>,
}

impl Reader<'_> {
    /// Reads one token, literal, comment or space; false at the end.
    fn step(&mut self) -> bool {
        let rest = self.rest;
        let Some(first) = rest.chars().next() else {
            return false;
        };
        let raw = raw_string(rest);
        if rest.starts_with("//") {
            self.skip(rest.find('\n').unwrap_or(rest.len()));
        } else if rest.starts_with("/*") {
            self.skip(rest.find("*/").map_or(rest.len(), |end| end + 2));
        } else if let Some(length) = raw {
            self.skip(length);
        } else if first == '"' || rest.starts_with("b\"") || rest.starts_with("c\"") {
            let quote = rest.find('"').unwrap_or_default();
            self.skip(quote + quoted(&rest[quote..], '"'));
        } else if first == '\'' {
            self.quote();
        } else if first.is_alphanumeric() || first == '_' {
            let end = rest.find(|c: char| !c.is_alphanumeric() && c != '_');
            self.take(end.unwrap_or(rest.len()));
        } else if rest.starts_with("::") {
            self.take(2);
        } else if first.is_whitespace() {
            self.skip(first.len_utf8());
        } else {
            self.take(first.len_utf8());
        }
        true
    }

    /// A character, or a lifetime.
    fn quote(&mut self) {
        let mut after = self.rest.chars().skip(1);
        let lifetime = match (after.next(), after.next()) {
            (Some(a), Some(b)) => (a.is_alphabetic() || a == '_') && b != '\'',
            _ => true,
        };
        let length = match lifetime {
            true => 1,
            false => quoted(self.rest, '\''),
        };
        if lifetime {
            self.skip(length);
            let end = self.rest.find(|c: char| !c.is_alphanumeric() && c != '_');
            self.skip(end.unwrap_or(self.rest.len()));
        } else {
            self.skip(length);
        }
    }

    fn skip(&mut self, length: usize) {
        self.line += self.rest[..length].matches('\n').count();
        self.rest = &self.rest[length..];
    }

    fn take(&mut self, length: usize) {
        self.tokens.push(Token {
            line: self.line,
            text: self.rest[..length].to_owned(),
        });
        self.skip(length);
    }
}

/// The length of a literal that starts with `quote`.
fn quoted(text: &str, quote: char) -> usize {
    let mut escaped = false;
    for (index, c) in text.char_indices().skip(1) {
        match c {
            _ if escaped => escaped = false,
            '\\' => escaped = true,
            c if c == quote => return index + 1,
            _ => {}
        }
    }
    text.len()
}

/// The length of `r"…"`, `r#"…"#`, `br"…"` at the start of the text.
fn raw_string(text: &str) -> Option<usize> {
    let inner = text.strip_prefix("br").or_else(|| text.strip_prefix('r'))?;
    let hashes = inner.len() - inner.trim_start_matches('#').len();
    inner[hashes..].strip_prefix('"')?;
    let end = format!("\"{}", "#".repeat(hashes));
    let start = text.len() - inner.len() + hashes + 1;
    let length = text[start..].find(&end)?;
    Some(start + length + end.len())
}

/// Leaves out what follows `#[cfg(test)]`, and names the modules that this removes.
pub fn without_tests(tokens: &[Token]) -> (Vec<Token>, Vec<String>) {
    let (mut kept, mut removed, mut at) = (Vec::new(), Vec::new(), 0);
    while at < tokens.len() {
        let mark = ["#", "[", "cfg", "(", "test", ")", "]"];
        let is_test = tokens[at..].len() > mark.len()
            && tokens[at..]
                .iter()
                .zip(mark)
                .all(|(token, m)| token.text == m);
        if !is_test {
            kept.push(tokens[at].clone());
            at += 1;
            continue;
        }
        at += mark.len();
        let end = item_end(tokens, at);
        if let Some(place) = tokens[at..end].iter().position(|token| token.text == "mod") {
            removed.extend(tokens.get(at + place + 1).map(|token| token.text.clone()));
        }
        at = end;
    }
    (kept, removed)
}

/// Where the item ends that starts at `at`: behind its `;` or its braces.
fn item_end(tokens: &[Token], mut at: usize) -> usize {
    let mut depth = 0_usize;
    while at < tokens.len() {
        match tokens[at].text.as_str() {
            "{" | "(" | "[" => depth += 1,
            "}" | ")" | "]" => {
                depth = depth.saturating_sub(1);
                if depth == 0 && tokens[at].text == "}" {
                    return at + 1;
                }
            }
            ";" if depth == 0 => return at + 1,
            _ => {}
        }
        at += 1;
    }
    at
}

/// Modules that are declared at the top of the file, `mod name;` or `mod name { … }`.
pub fn modules(tokens: &[Token]) -> Vec<String> {
    let (mut depth, mut found) = (0, Vec::new());
    for pair in tokens.windows(2) {
        match pair[0].text.as_str() {
            "{" => depth += 1,
            "}" => depth -= 1,
            "mod" if depth == 0 => found.push(pair[1].text.clone()),
            _ => {}
        }
    }
    found
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

fn is_word(text: &str) -> bool {
    text.starts_with(|c: char| c.is_alphabetic() || c == '_')
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

const KEYWORDS: [&str; 9] = [
    "struct", "enum", "union", "trait", "type", "fn", "mod", "const", "static",
];

/// Every type, function, module, constant and variant that the file declares.
pub fn declared(tokens: &[Token]) -> Vec<Declared> {
    let mut found = Vec::new();
    for (at, pair) in tokens.windows(2).enumerate() {
        let Some(what) = KEYWORDS.iter().find(|k| **k == pair[0].text) else {
            continue;
        };
        if !is_word(&pair[1].text) || matches!(pair[1].text.as_str(), "fn" | "unsafe" | "mut") {
            continue;
        }
        found.push(Declared {
            line: pair[1].line,
            what,
            name: pair[1].text.clone(),
        });
        if *what == "enum" {
            found.extend(variants(&tokens[at + 2..]));
        }
    }
    found
}

/// The variants of the enum whose name stands before these tokens.
fn variants(tokens: &[Token]) -> Vec<Declared> {
    let (mut depth, mut first, mut found) = (0_usize, false, Vec::new());
    for token in tokens {
        match token.text.as_str() {
            "{" | "(" | "[" => {
                depth += 1;
                first |= depth == 1 && token.text == "{";
            }
            "}" | ")" | "]" => {
                depth = depth.saturating_sub(1);
                if depth == 0 && token.text == "}" {
                    break;
                }
            }
            "," if depth == 1 => first = true,
            word if depth == 1 && first && is_word(word) => {
                first = false;
                found.push(Declared {
                    line: token.line,
                    what: "variant",
                    name: word.to_owned(),
                });
            }
            _ => {}
        }
    }
    found
}

#[cfg(test)]
mod tests {
    use super::*;

    fn segments(text: &str) -> Vec<String> {
        let tokens = without_tests(&tokens(text)).0;
        paths(&tokens)
            .iter()
            .map(|p| p.segments.join("::"))
            .collect()
    }

    #[test]
    fn a_use_tree_is_the_paths_it_stands_for() {
        let text = "pub(crate) use crate::{a::{self, B as C}, d::*};\nfn f<'a>() { super::x::Y::new('{'); }";
        assert_eq!(
            segments(text),
            ["crate::a", "crate::a::B", "crate::d", "super::x::Y::new"]
        );
    }

    #[test]
    fn comments_literals_and_tests_are_no_code() {
        let text = "// use crate::a;\nconst S: &str = r#\"use crate::b;\"#;\n#[cfg(test)]\nmod tests { use crate::c; }\n#[cfg(test)]\nmod other;\nuse crate::d;";
        assert_eq!(segments(text), ["crate::d"]);
        assert_eq!(without_tests(&tokens(text)).1, ["tests", "other"]);
    }

    #[test]
    fn names_are_declared_once() {
        let text = "pub enum State { Idle, Busy { since: u8 }, #[doc(hidden)] Gone(Vec<u8>) }\nconst fn go() {}";
        let names = declared(&tokens(text));
        let names: Vec<&str> = names.iter().map(|d| d.name.as_str()).collect();
        assert_eq!(names, ["State", "Idle", "Busy", "Gone", "go"]);
    }
}
