//! Patterns by the rules of Go's `regexp` (RE2), on Rust's engine.
//!
//! Guarantees: `\w`, `\d`, `\s` and `\b` mean ASCII; what Go refuses is refused in its words (look-around, back
//! references, stacked repetitions, repeats above 1,000, other escapes and flags), and what only Rust gives a meaning
//! (`\<`, `&&` and `[` in a class, `{x}`) is literal. Source: Go's `regexp/syntax/parse.go`. Leaves to others: classes
//! of Unicode, by the names that both know.

use regex::{Regex, RegexBuilder};

/// The most that a repetition, or one in another, may repeat.
const MAX_REPEAT: u32 = 1_000;
/// Go has no such limit; a long alternation of large classes stays far below this.
const SIZE_LIMIT: usize = 64 * 1024 * 1024;
const POSIX: [&str; 14] = [
    "alnum", "alpha", "ascii", "blank", "cntrl", "digit", "graph", "lower", "print", "punct",
    "space", "upper", "word", "xdigit",
];

/// Matches as Go would; is shown as it is written.
#[derive(Debug, Clone)]
pub(crate) struct Pattern {
    written: String,
    translated: Regex,
}

impl Pattern {
    /// # Errors
    /// Go's own text: ``error parsing regexp: invalid repeat count: `{1001}` ``.
    pub(crate) fn new(pattern: &str) -> Result<Self, String> {
        let error = |what: String| format!("error parsing regexp: {what}");
        let translated = Translation::of(pattern).map_err(error)?;
        let translated = RegexBuilder::new(&translated)
            .size_limit(SIZE_LIMIT)
            .build()
            .map_err(|cause| error(cause.to_string()))?;
        Ok(Pattern {
            written: pattern.to_owned(),
            translated,
        })
    }

    pub(crate) fn is_match(&self, text: &str) -> bool {
        self.translated.is_match(text)
    }

    pub(crate) fn as_str(&self) -> &str {
        &self.written
    }
}

struct Translation<'a> {
    whole: &'a str,
    rest: &'a str,
    out: String,
    /// Repeats within what was read last, and within each open group around it.
    last: u32,
    open: Vec<u32>,
    most: u32,
    /// The repetition that was read last, if nothing came after it.
    repeated: Option<&'a str>,
    /// Whether there is something to repeat.
    has_atom: bool,
}

impl<'a> Translation<'a> {
    fn of(pattern: &'a str) -> Result<String, String> {
        let mut all = Translation {
            whole: pattern,
            rest: pattern,
            out: String::new(),
            last: 1,
            open: Vec::new(),
            most: 1,
            repeated: None,
            has_atom: false,
        };
        while let Some(next) = all.rest.chars().next() {
            all.step(next)?;
        }
        match all.open.is_empty() {
            true => Ok(all.out),
            false => Err(format!("missing closing ): `{pattern}`")),
        }
    }

    fn step(&mut self, next: char) -> Result<(), String> {
        match next {
            '*' | '+' | '?' => self.repetition(1, None),
            '{' => match counts(self.rest) {
                Some((length, least, most)) => self.repetition(length, Some((least, most))),
                None => self.atom(1, "\\{"),
            },
            '(' => self.group(),
            ')' => {
                let Some(outside) = self.open.pop() else {
                    return Err(format!("unexpected ): `{}`", self.whole));
                };
                let inside = self.most;
                self.atom(1, ")")?;
                self.last = inside;
                self.most = outside.max(inside);
                Ok(())
            }
            '|' => {
                self.take(1);
                self.out.push('|');
                (self.repeated, self.has_atom) = (None, false);
                Ok(())
            }
            '[' => self.class(),
            '\\' => self.escape(),
            '}' | ']' | '&' | '~' | '-' | '#' => self.atom(1, &format!("\\{next}")),
            other => self.atom(other.len_utf8(), &other.to_string()),
        }
    }

    fn take(&mut self, length: usize) -> &'a str {
        let (taken, rest) = self.rest.split_at(length);
        self.rest = rest;
        taken
    }

    fn atom(&mut self, length: usize, out: &str) -> Result<(), String> {
        self.take(length);
        self.out.push_str(out);
        (self.last, self.repeated, self.has_atom) = (1, None, true);
        Ok(())
    }

    /// `counts` are those of `{n,m}`; `*`, `+` and `?` have none.
    fn repetition(
        &mut self,
        length: usize,
        counts: Option<(u32, Option<u32>)>,
    ) -> Result<(), String> {
        let before = self.rest;
        let lazy = usize::from(before[length..].starts_with('?'));
        let text = self.take(length + lazy);
        if !self.has_atom {
            return Err(format!("missing argument to repetition operator: `{text}`"));
        }
        if let Some(first) = self.repeated {
            let both = format!("{first}{text}");
            return Err(format!("invalid nested repetition operator: `{both}`"));
        }
        if let Some((least, most)) = counts {
            let times = most.unwrap_or(least);
            let inside = self.last.saturating_mul(times.max(1));
            if least > MAX_REPEAT || times > MAX_REPEAT || least > times || inside > MAX_REPEAT {
                return Err(format!("invalid repeat count: `{text}`"));
            }
            self.last = inside;
            self.most = self.most.max(inside);
        }
        self.out.push_str(text);
        self.repeated = Some(text);
        Ok(())
    }

    /// Names are of no use in a pattern that only matches.
    fn group(&mut self) -> Result<(), String> {
        let perl = |text: &str| Err(format!("invalid or unsupported Perl syntax: `{text}`"));
        let (length, out) = if !self.rest.starts_with("(?") {
            (1, "(?:".to_owned())
        } else if let Some(name) = ["(?P<", "(?<"]
            .iter()
            .find_map(|it| self.rest.strip_prefix(it))
        {
            let is_word = |name: &str| !name.is_empty() && name.chars().all(is_word);
            match name.split_once('>') {
                Some((name, rest)) if is_word(name) => {
                    (self.rest.len() - rest.len(), "(?:".to_owned())
                }
                _ => {
                    let end = self.rest.find('>').map_or(self.rest.len(), |at| at + 1);
                    let capture = &self.rest[..end];
                    return Err(format!("invalid named capture: `{capture}`"));
                }
            }
        } else {
            let flags: &str = &self.rest[2..];
            let length = flags.find(|c: char| !matches!(c, 'i' | 'm' | 's' | 'U' | '-'));
            let end = length.and_then(|length| flags[length..].chars().next());
            let read = &self.rest[..2 + length.map_or(flags.len(), |length| {
                length + flags[length..].chars().next().map_or(0, char::len_utf8)
            })];
            match end {
                Some(':') => (read.len(), read.to_owned()),
                Some(')') if read.len() > 3 && !read.ends_with("-)") => {
                    self.take(read.len());
                    self.out.push_str(read);
                    (self.repeated, self.has_atom) = (None, false);
                    return Ok(());
                }
                _ => return perl(read),
            }
        };
        self.take(length);
        self.out.push_str(&out);
        self.open.push(self.most);
        self.most = 1;
        (self.last, self.repeated, self.has_atom) = (1, None, false);
        Ok(())
    }

    fn escape(&mut self) -> Result<(), String> {
        if let Some(quoted) = self.rest.strip_prefix("\\Q") {
            let text = quoted.split("\\E").next().unwrap_or(quoted);
            let end = usize::from(quoted.len() > text.len()) * 2;
            self.take(2 + text.len() + end);
            for letter in text.chars() {
                self.atom(0, &regex::escape(&letter.to_string()))?;
            }
            return Ok(());
        }
        let (length, out) = match self.rest.chars().nth(1) {
            Some('A') => (2, "\\A".to_owned()),
            Some('z') => (2, "\\z".to_owned()),
            Some('b') => (2, "(?-u:\\b)".to_owned()),
            Some('B') => (2, "(?-u:\\B)".to_owned()),
            Some(letter) => match perl_class(letter) {
                Some((negated, class)) => (2, format!("[{negated}{class}]")),
                None => single(self.rest)?,
            },
            None => return Err("trailing backslash at end of expression: ``".to_owned()),
        };
        self.atom(length, &out)
    }

    fn class(&mut self) -> Result<(), String> {
        let whole = self.rest;
        let missing = || format!("missing closing ]: `{whole}`");
        let mut rest = &whole[1..];
        let mut out = "[".to_owned();
        if let Some(after) = rest.strip_prefix('^') {
            (rest, out) = (after, "[^".to_owned());
        }
        let mut is_first = true;
        loop {
            let next = rest.chars().next().ok_or_else(missing)?;
            if next == ']' && !is_first {
                break;
            }
            is_first = false;
            if let Some((length, class)) = named_class(rest)? {
                out.push_str(&class);
                rest = &rest[length..];
                continue;
            }
            let (length, low) = class_letter(rest)?;
            let after = &rest[length..];
            match after.strip_prefix('-') {
                Some(high) if !high.starts_with(']') && !high.is_empty() => {
                    let (end, high) = class_letter(high)?;
                    let range = &rest[..length + 1 + end];
                    if high < low {
                        return Err(format!("invalid character class range: `{range}`"));
                    }
                    out.push_str(&format!("{}-{}", literal(low), literal(high)));
                    rest = &rest[range.len()..];
                }
                _ => {
                    out.push_str(&literal(low));
                    rest = after;
                }
            }
        }
        out.push(']');
        self.atom(whole.len() - rest.len() + 1, &out)
    }
}

fn is_word(letter: char) -> bool {
    letter.is_ascii_alphanumeric() || letter == '_'
}

/// `{n}`, `{n,}` or `{n,m}`: its length and its counts; anything else is text.
fn counts(rest: &str) -> Option<(usize, u32, Option<u32>)> {
    let inside = rest.strip_prefix('{')?.split_once('}')?.0;
    let number = |text: &str| {
        let digits = !text.is_empty() && text.bytes().all(|byte| byte.is_ascii_digit());
        let plain = digits && (text == "0" || !text.starts_with('0'));
        plain.then(|| text.parse().unwrap_or(u32::MAX))
    };
    let (least, most) = match inside.split_once(',') {
        None => (number(inside)?, Some(number(inside)?)),
        Some((least, "")) => (number(least)?, None),
        Some((least, most)) => (number(least)?, Some(number(most)?)),
    };
    Some((inside.len() + 2, least, most))
}

/// What is in `\d`, `\s`, `\w`, and whether the letter says the opposite.
fn perl_class(letter: char) -> Option<(&'static str, &'static str)> {
    let class = match letter.to_ascii_lowercase() {
        'd' => "0-9",
        's' => "\\t\\n\\x0C\\r ",
        'w' => "0-9A-Za-z_",
        _ => return None,
    };
    Some((if letter.is_ascii_uppercase() { "^" } else { "" }, class))
}

/// A named class at the start of what is in brackets: `\d`, `\pL`, `[:alpha:]`.
fn named_class(rest: &str) -> Result<Option<(usize, String)>, String> {
    if let Some(posix) = rest.strip_prefix("[:")
        && let Some((name, _)) = posix.split_once(":]")
    {
        let length = name.len() + 4;
        return match POSIX.contains(&name.trim_start_matches('^')) {
            true => Ok(Some((length, rest[..length].to_owned()))),
            false => Err(format!(
                "invalid character class range: `{}`",
                &rest[..length]
            )),
        };
    }
    let Some(letter) = rest.strip_prefix('\\').and_then(|rest| rest.chars().next()) else {
        return Ok(None);
    };
    Ok(match (letter, perl_class(letter)) {
        (_, Some((negated, class))) => Some((2, format!("[{negated}{class}]"))),
        ('p' | 'P', None) => Some(unicode_class(rest)?),
        _ => None,
    })
}

/// `\pL`, `\p{Greek}`, `\p{^Greek}` and their opposites.
fn unicode_class(rest: &str) -> Result<(usize, String), String> {
    let invalid = |text: &str| format!("invalid character class range: `{text}`");
    let negated = rest.starts_with("\\P");
    let (length, name) = match rest[2..].strip_prefix('{') {
        Some(braced) => {
            let (name, _) = braced.split_once('}').ok_or_else(|| invalid(rest))?;
            (name.len() + 4, name)
        }
        None => {
            let letter = rest[2..].chars().next().ok_or_else(|| invalid(rest))?;
            (2 + letter.len_utf8(), &rest[2..2 + letter.len_utf8()])
        }
    };
    let (name, negated) = match name.strip_prefix('^') {
        Some(name) => (name, !negated),
        None => (name, negated),
    };
    if name.is_empty() || !name.chars().all(is_word) {
        return Err(invalid(&rest[..length]));
    }
    let letter = if negated { 'P' } else { 'p' };
    Ok((length, format!("\\{letter}{{{name}}}")))
}

/// An escape outside brackets that stands for one letter, or for a class of Unicode.
fn single(rest: &str) -> Result<(usize, String), String> {
    if rest.starts_with("\\p") || rest.starts_with("\\P") {
        return unicode_class(rest);
    }
    let (length, letter) = class_letter(rest)?;
    Ok((length, literal(letter)))
}

/// One letter of a class, or one that is escaped: its length in the pattern and itself.
fn class_letter(rest: &str) -> Result<(usize, char), String> {
    let first = rest.chars().next();
    let Some(escaped) = rest.strip_prefix('\\') else {
        let first = first.ok_or_else(|| "missing closing ]: ``".to_owned())?;
        return Ok((first.len_utf8(), first));
    };
    let Some(letter) = escaped.chars().next() else {
        return Err("trailing backslash at end of expression: ``".to_owned());
    };
    let invalid = || format!("invalid escape sequence: `\\{letter}`");
    let numbered = |digits: &str, radix: u32, length: usize| {
        let number = u32::from_str_radix(digits, radix).ok();
        let letter = number.and_then(char::from_u32).ok_or_else(invalid)?;
        Ok((length, letter))
    };
    match letter {
        'a' => Ok((2, '\x07')),
        'f' => Ok((2, '\x0C')),
        'n' => Ok((2, '\n')),
        'r' => Ok((2, '\r')),
        't' => Ok((2, '\t')),
        'v' => Ok((2, '\x0B')),
        'x' => match escaped[1..].strip_prefix('{') {
            Some(braced) => {
                let digits = braced.split_once('}').ok_or_else(invalid)?.0;
                numbered(digits, 16, digits.len() + 4)
            }
            None => numbered(escaped.get(1..3).ok_or_else(invalid)?, 16, 4),
        },
        '0'..='7' => {
            let digits = escaped
                .bytes()
                .take(3)
                .take_while(|byte| (b'0'..=b'7').contains(byte));
            match digits.count() {
                // A back reference.
                1 if letter != '0' => Err(invalid()),
                count => numbered(&escaped[..count], 8, count + 1),
            }
        }
        other if other.is_ascii() && !other.is_ascii_alphanumeric() => Ok((2, other)),
        _ => Err(invalid()),
    }
}

/// The letter itself, in brackets or without.
fn literal(letter: char) -> String {
    match letter {
        letter if letter.is_ascii_alphanumeric() || !letter.is_ascii() => letter.to_string(),
        letter => format!("\\x{{{:X}}}", u32::from(letter)),
    }
}

#[cfg(test)]
mod tests;
