//! The tail of a subject's log, for a report.
//!
//! Guarantees: pure; no terminal sequences, bounded in length. Leaves to others: which lines.

/// Log lines as a report can hold them: without colours, cut where they go on for ever.
pub fn log_tail(lines: &[String]) -> Vec<String> {
    const MOST_CHARACTERS: usize = 300;
    let shortened = |line: &String| {
        let plain = without_colours(line);
        let short: String = plain.chars().take(MOST_CHARACTERS).collect();
        if short.len() < plain.len() {
            short + "…"
        } else {
            short
        }
    };
    lines.iter().map(shortened).collect()
}

/// The last three lines behind a reason; nothing where there are none.
pub fn end_of_log(lines: &[String]) -> String {
    let last = &lines[lines.len().saturating_sub(3)..];
    match last.is_empty() {
        true => String::new(),
        false => format!("; the end of its log: {}", last.join(" | ")),
    }
}

/// Drops terminal sequences: from ESC to the letter that ends one, and other control characters.
pub fn without_colours(line: &str) -> String {
    let mut characters = line.chars();
    let mut plain = String::with_capacity(line.len());
    while let Some(character) = characters.next() {
        match character {
            '\u{1b}' => drop(characters.find(char::is_ascii_alphabetic)),
            c if c.is_control() => plain.push(' '),
            c => plain.push(c),
        }
    }
    plain
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_log_tail_is_plain_and_short() {
        let line = "[\u{1b}[1;34mINFO\u{1b}[m] for\u{1b}[0m Größe";
        assert_eq!(without_colours(line), "[INFO] for Größe");
        let coloured = "\u{1b}[2m2026\u{1b}[0m \u{1b}[33m WARN\u{1b}[0m disk\tfull".to_owned();
        let words = log_tail(&[coloured, "x".repeat(1_000)]);
        assert_eq!(words[0], "2026  WARN disk full");
        assert_eq!(words[1].chars().count(), 301);
    }
}
