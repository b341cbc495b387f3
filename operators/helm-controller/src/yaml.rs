//! YAML as `sigs.k8s.io/yaml` writes it: the values of a chart are hashed in this form.
//!
//! Guarantees: pure; two spaces, lists not indented in maps, keys in the order of yaml.v2, its rules for quotes, literal blocks and lines of
//! more than 80 characters (`encode.go`, `sorter.go`, `resolve.go` and `emitterc.go` of go.yaml.in/yaml/v2 v2.4.3). The tests compare with
//! what it wrote. Leaves to others: reading YAML.

use std::cmp::Ordering;
use std::fmt::Write;

use serde_json::{Number, Value};

/// Characters after which a line is broken at the next space.
const WIDTH: usize = 80;

/// The value as YAML; nothing for `null`.
pub fn write(value: &Value) -> String {
    let mut writer = Writer::default();
    match value {
        Value::Null => return String::new(),
        Value::Object(fields) if !fields.is_empty() => writer.map(value, 0, false),
        Value::Array(items) if !items.is_empty() => writer.list(items, 0, false),
        scalar => writer.scalar(scalar, 0),
    }
    writer.out
}

#[derive(Default)]
struct Writer {
    out: String,
}

impl Writer {
    /// `inline`: the first line goes on behind `- `.
    fn map(&mut self, map: &Value, indent: usize, inline: bool) {
        let mut fields: Vec<_> = map.as_object().into_iter().flatten().collect();
        fields.sort_by(|(a, _), (b, _)| natural(a, b));
        for (place, (name, value)) in fields.into_iter().enumerate() {
            if place > 0 || !inline {
                self.indent(indent);
            }
            // A key of several lines, or of more than 128 bytes, is a complex one.
            let is_simple = !name.contains('\n') && name.len() <= 128;
            if is_simple {
                self.text(name, indent, true);
            } else {
                self.out.push_str("? ");
                self.text(name, indent, false);
                self.out.push('\n');
                self.indent(indent);
            }
            self.out.push(':');
            match value {
                Value::Object(fields) if !fields.is_empty() && !is_simple => {
                    self.out.push(' ');
                    self.map(value, indent + 2, true);
                }
                Value::Object(fields) if !fields.is_empty() => {
                    self.out.push('\n');
                    self.map(value, indent + 2, false);
                }
                Value::Array(items) if !items.is_empty() => {
                    self.out.push('\n');
                    self.list(items, indent, false);
                }
                scalar => {
                    self.out.push(' ');
                    self.scalar(scalar, indent);
                }
            }
        }
    }

    fn list(&mut self, items: &[Value], indent: usize, inline: bool) {
        for (place, item) in items.iter().enumerate() {
            if place > 0 || !inline {
                self.indent(indent);
            }
            self.out.push_str("- ");
            match item {
                Value::Object(fields) if !fields.is_empty() => self.map(item, indent + 2, true),
                Value::Array(items) if !items.is_empty() => self.list(items, indent + 2, true),
                scalar => self.scalar(scalar, indent),
            }
        }
    }

    fn scalar(&mut self, value: &Value, indent: usize) {
        match value {
            Value::String(text) => self.text(text, indent, false),
            Value::Number(number) => self.out.push_str(&number_of_go(number)),
            Value::Object(_) => self.out.push_str("{}"),
            Value::Array(_) => self.out.push_str("[]"),
            other => {
                let _ = write!(self.out, "{other}");
            }
        }
        self.out.push('\n');
    }

    fn indent(&mut self, indent: usize) {
        self.out.extend(std::iter::repeat_n(' ', indent));
    }

    /// The characters of the line so far.
    fn column(&self) -> usize {
        let line = self.out.rsplit('\n').next().unwrap_or_default();
        line.chars().count()
    }

    fn text(&mut self, text: &str, indent: usize, is_key: bool) {
        match Style::of(text, is_key) {
            Style::Plain => self.folded(text, indent, is_key, false),
            Style::Single => {
                self.out.push('\'');
                self.folded(text, indent, is_key, true);
                self.out.push('\'');
            }
            Style::Double => self.double(text, indent, is_key),
            Style::Literal => self.literal(text, indent),
        }
    }

    /// Broken at a single space behind the width, unless it is a key.
    fn folded(&mut self, text: &str, indent: usize, is_key: bool, is_quoted: bool) {
        let characters: Vec<char> = text.chars().collect();
        let last = characters.len().saturating_sub(1);
        for (place, &character) in characters.iter().enumerate() {
            let is_alone = |at: Option<usize>| at.and_then(|at| characters.get(at)) != Some(&' ');
            let may_break = character == ' '
                && !is_key
                && self.column() > WIDTH
                && is_alone(place.checked_sub(1))
                && is_alone(Some(place + 1))
                && (!is_quoted || (place > 0 && place < last));
            match character {
                _ if may_break => self.next_line(indent),
                '\'' if is_quoted => self.out.push_str("''"),
                other => self.out.push(other),
            }
        }
    }

    fn next_line(&mut self, indent: usize) {
        self.out.push('\n');
        self.indent(indent + 2);
    }

    fn double(&mut self, text: &str, indent: usize, is_key: bool) {
        self.out.push('"');
        let characters: Vec<char> = text.chars().collect();
        let last = characters.len().saturating_sub(1);
        // It looks for a byte order mark at the beginning, whichever character it writes.
        let has_mark = text.starts_with('\u{feff}');
        let mut after_break = false;
        for (place, &character) in characters.iter().enumerate() {
            let may_break = character == ' ' && !is_key && !after_break && self.column() > WIDTH;
            after_break = character == ' ';
            match character {
                ' ' if may_break && place > 0 && place < last => {
                    self.next_line(indent);
                    if characters.get(place + 1) == Some(&' ') {
                        self.out.push('\\');
                    }
                }
                '"' => self.out.push_str("\\\""),
                '\\' => self.out.push_str("\\\\"),
                '\n' => self.out.push_str("\\n"),
                '\t' => self.out.push_str("\\t"),
                '\r' => self.out.push_str("\\r"),
                '\0' => self.out.push_str("\\0"),
                '\u{7}' => self.out.push_str("\\a"),
                '\u{8}' => self.out.push_str("\\b"),
                '\u{b}' => self.out.push_str("\\v"),
                '\u{c}' => self.out.push_str("\\f"),
                '\u{1b}' => self.out.push_str("\\e"),
                '\u{85}' => self.out.push_str("\\N"),
                '\u{a0}' => self.out.push_str("\\_"),
                '\u{2028}' => self.out.push_str("\\L"),
                '\u{2029}' => self.out.push_str("\\P"),
                other if is_printable(other) && !has_mark => self.out.push(other),
                other => {
                    let code = other as u32;
                    let _ = match code {
                        0..=0xff => write!(self.out, "\\x{code:02X}"),
                        0x100..=0xffff => write!(self.out, "\\u{code:04X}"),
                        _ => write!(self.out, "\\U{code:08X}"),
                    };
                }
            }
        }
        self.out.push('"');
    }

    fn literal(&mut self, text: &str, indent: usize) {
        self.out.push('|');
        if text.starts_with([' ', '\n']) {
            self.out.push('2');
        }
        match text.strip_suffix('\n') {
            None => self.out.push('-'),
            Some(rest) if rest.is_empty() || rest.ends_with('\n') => self.out.push('+'),
            Some(_) => {}
        }
        let body = text.strip_suffix('\n').unwrap_or(text);
        for line in body.split('\n') {
            self.out.push('\n');
            if !line.is_empty() {
                self.indent(indent + 2);
                self.out.push_str(line);
            }
        }
    }
}

#[derive(Debug, PartialEq, Eq)]
enum Style {
    Plain,
    Single,
    Double,
    Literal,
}

impl Style {
    fn of(text: &str, is_key: bool) -> Self {
        let shape = Shape::of(text);
        let asked = match () {
            () if text.contains('\n') => Style::Literal,
            () if is_text(text) => Style::Plain,
            () => Style::Double,
        };
        match asked {
            Style::Literal if is_key || !shape.may_be_block => Style::Double,
            Style::Plain if shape.may_be_plain => Style::Plain,
            Style::Plain if shape.may_be_single => Style::Single,
            Style::Plain => Style::Double,
            style => style,
        }
    }
}

/// How a text may be written (`yaml_emitter_analyze_scalar`).
struct Shape {
    may_be_plain: bool,
    may_be_single: bool,
    may_be_block: bool,
}

impl Shape {
    fn of(text: &str) -> Self {
        let characters: Vec<char> = text.chars().collect();
        let is_blank = |character: Option<&char>| character.is_none_or(|c| " \t\n\r".contains(*c));
        let mut has_indicators = text.starts_with("---") || text.starts_with("...");
        let (mut has_special, mut break_space, mut space_break) = (false, false, false);
        for (place, character) in characters.iter().enumerate() {
            let before = place.checked_sub(1).map(|before| characters[before]);
            let next_is_blank = is_blank(characters.get(place + 1));
            has_indicators |= match character {
                '#' if place == 0 => true,
                ',' | '[' | ']' | '{' | '}' | '&' | '*' | '!' | '|' | '>' | '\'' | '"' | '%'
                | '@' | '`' => place == 0,
                '?' => place == 0 && next_is_blank,
                ':' => next_is_blank,
                '-' => place == 0 && next_is_blank,
                '#' => is_blank(before.as_ref()),
                _ => false,
            };
            has_special |= *character != '\n' && !is_printable(*character);
            break_space |= *character == ' ' && before == Some('\n');
            space_break |= *character == '\n' && before == Some(' ');
        }
        let (first, last) = (characters.first(), characters.last());
        let edge = |character: Option<&char>| matches!(character, Some(' ' | '\n'));
        let has_break = text.contains('\n');
        Self {
            may_be_plain: !has_indicators
                && !has_break
                && !edge(first)
                && !edge(last)
                && !has_special,
            may_be_single: !break_space && !space_break && !has_special,
            may_be_block: !space_break && !has_special && last != Some(&' ') && !text.is_empty(),
        }
    }
}

fn is_printable(character: char) -> bool {
    matches!(character, '\n' | ' '..='~' | '\u{a0}'..='\u{d7ff}' | '\u{e000}'..='\u{fffd}' if character != '\u{feff}')
}

/// Whether YAML reads the text as one where it has no quotes.
fn is_text(text: &str) -> bool {
    const WORDS: &[&str] = &[
        "", "~", "null", "Null", "NULL", "y", "Y", "yes", "Yes", "YES", "true", "True", "TRUE",
        "on", "On", "ON", "n", "N", "no", "No", "NO", "false", "False", "FALSE", "off", "Off",
        "OFF", ".nan", ".NaN", ".NAN", ".inf", ".Inf", ".INF", "+.inf", "+.Inf", "+.INF", "-.inf",
        "-.Inf", "-.INF",
    ];
    let is_word = WORDS.contains(&text);
    !is_word && !is_number(text) && !is_base_60(text) && !is_time(text)
}

fn is_number(text: &str) -> bool {
    if !text.starts_with(|c: char| c.is_ascii_digit() || "+-.".contains(c)) {
        return false;
    }
    let plain = text.replace('_', "");
    let unsigned = plain.strip_prefix(['+', '-']).unwrap_or(&plain);
    let digits = |text: &str, radix| !text.is_empty() && text.chars().all(|c| c.is_digit(radix));
    let is_integer = match unsigned.get(..2).map(str::to_lowercase).as_deref() {
        Some("0x") => digits(&unsigned[2..], 16),
        Some("0b") => digits(&unsigned[2..], 2),
        Some("0o") => digits(&unsigned[2..], 8),
        _ => digits(unsigned, 10),
    };
    is_integer || is_float(unsigned)
}

/// `^(\.[0-9]+|[0-9]+(\.[0-9]*)?)([eE][-+]?[0-9]+)?$`
fn is_float(text: &str) -> bool {
    let (mantissa, exponent) = match text.split_once(['e', 'E']) {
        Some((mantissa, exponent)) => (mantissa, Some(exponent)),
        None => (text, None),
    };
    let digits = |text: &str| text.chars().all(|c| c.is_ascii_digit());
    let exponent = exponent.map(|text| text.strip_prefix(['+', '-']).unwrap_or(text));
    let (whole, fraction) = mantissa.split_once('.').unwrap_or((mantissa, ""));
    let has_digits = !whole.is_empty() || !fraction.is_empty();
    has_digits
        && digits(whole)
        && digits(fraction)
        && exponent.is_none_or(|e| !e.is_empty() && digits(e))
}

/// `^[-+]?[0-9][0-9_]*(?::[0-5]?[0-9])+(?:\.[0-9_]*)?$`
fn is_base_60(text: &str) -> bool {
    let text = text.strip_prefix(['+', '-']).unwrap_or(text);
    let (whole, fraction) = text.split_once('.').unwrap_or((text, ""));
    let mut parts = whole.split(':');
    let first = parts.next().unwrap_or_default();
    let parts: Vec<_> = parts.collect();
    let digits = |text: &str| text.chars().all(|c| c.is_ascii_digit() || c == '_');
    let is_sixtieth = |part: &&str| match part.as_bytes() {
        [one] => one.is_ascii_digit(),
        [ten, one] => (b'0'..=b'5').contains(ten) && one.is_ascii_digit(),
        _ => false,
    };
    first.starts_with(|c: char| c.is_ascii_digit())
        && digits(first)
        && digits(fraction)
        && !parts.is_empty()
        && parts.iter().all(is_sixtieth)
}

/// A date, alone or with a time: `2006-1-2`, `2006-1-2T15:4:5.9Z`, `2006-1-2 15:4:5`.
fn is_time(text: &str) -> bool {
    let bytes = text.as_bytes();
    let starts = bytes.len() > 4 && bytes[..4].iter().all(u8::is_ascii_digit) && bytes[4] == b'-';
    if !starts {
        return false;
    }
    let (date, time) = match text.find(['T', 't', ' ']) {
        Some(at) => (&text[..at], Some(&text[at + 1..])),
        None => (text, None),
    };
    let short = |part: &str, most: u32| {
        (1..=2).contains(&part.len()) && part.parse::<u32>().is_ok_and(|value| value <= most)
    };
    let parts: Vec<_> = date.split('-').collect();
    let is_date = matches!(&*parts, [_, month, day] if short(month, 12) && short(day, 31));
    let is_clock = |time: &str| {
        let zoned = time.trim_end_matches('Z');
        let local = zoned.find(['+', '-']).map_or(zoned, |at| &zoned[..at]);
        let parts: Vec<_> = local.split(':').collect();
        matches!(&*parts, [hour, minute, second] if short(hour, 23) && short(minute, 59)
            && short(second.split('.').next().unwrap_or_default(), 59))
    };
    is_date && time.is_none_or(is_clock)
}

/// As Go's `strconv.FormatFloat(x, 'g', -1, 64)`; a whole number as it is.
fn number_of_go(number: &Number) -> String {
    if number.is_i64() || number.is_u64() {
        return number.to_string();
    }
    let value = number.as_f64().unwrap_or_default();
    let scientific = format!("{value:e}");
    let (mantissa, exponent) = scientific.split_once('e').unwrap_or((&scientific, "0"));
    let exponent: i32 = exponent.parse().unwrap_or_default();
    match (-4..21).contains(&exponent) {
        true => format!("{value}"),
        false => {
            let sign = if exponent < 0 { '-' } else { '+' };
            format!("{mantissa}e{sign}{:02}", exponent.abs())
        }
    }
}

/// Letters behind other characters, numbers by their value (`keyList.Less`).
fn natural(a: &str, b: &str) -> Ordering {
    let (a, b): (Vec<char>, Vec<char>) = (a.chars().collect(), b.chars().collect());
    for place in 0..a.len().min(b.len()) {
        let (left, right) = (a[place], b[place]);
        if left == right {
            continue;
        }
        return match (left.is_alphabetic(), right.is_alphabetic()) {
            (true, true) => left.cmp(&right),
            (true, false) => Ordering::Greater,
            (false, true) => Ordering::Less,
            (false, false) => {
                let before = a[..place].iter().rev().take_while(|c| c.is_ascii_digit());
                let counts = (left == '0' || right == '0') && before.clone().any(|c| *c != '0');
                let number = |text: &[char]| {
                    let digits: Vec<_> =
                        text[place..].iter().map_while(|c| c.to_digit(10)).collect();
                    let start = u64::from(counts);
                    let value = digits.iter().fold(start, |sum, digit| {
                        sum.wrapping_mul(10).wrapping_add(u64::from(*digit))
                    });
                    (value, digits.len())
                };
                number(&a).cmp(&number(&b)).then(left.cmp(&right))
            }
        };
    }
    a.len().cmp(&b.len())
}
