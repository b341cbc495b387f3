//! A Rust file as tokens.
//!
//! Guarantees: comments, lifetimes and literals are no tokens; each token knows its line.

/// A word or a mark, and the line on which it stands.
#[derive(Debug, Clone, PartialEq)]
pub struct Token {
    pub line: usize,
    pub text: String,
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
