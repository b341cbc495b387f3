//! Judgements as JUnit XML, which build servers show beside their tests.
//!
//! Guarantees: pure; any text is escaped, what XML cannot hold is replaced. Leaves to others: the
//! file.

use crate::metric::judge::{Judgement, Outcome};
use crate::report::limits::{sentence, subject_matter};

pub fn xml(judgements: &[Judgement]) -> String {
    let failures = judgements.iter().filter(|j| j.falls_short()).count();
    let skipped = judgements.iter().filter(|j| is_skipped(j)).count();
    let mut text = format!(
        "<?xml version=\"1.0\" encoding=\"UTF-8\"?>\n\
         <testsuites>\n  <testsuite name=\"loadgen check\" tests=\"{}\" failures=\"{failures}\" errors=\"0\" skipped=\"{skipped}\">\n",
        judgements.len(),
    );
    for judgement in judgements {
        let element = if judgement.falls_short() {
            "failure"
        } else if is_skipped(judgement) {
            "skipped"
        } else {
            "system-out"
        };
        let sentence = escaped(&sentence(judgement));
        let said = match element {
            "system-out" => format!("<system-out>{sentence}</system-out>"),
            other => format!("<{other} message=\"{sentence}\"/>"),
        };
        text.push_str(&format!(
            "    <testcase classname=\"{}\" name=\"{}\">{said}</testcase>\n",
            escaped(&judgement.limit.subject),
            escaped(&subject_matter(&judgement.limit)),
        ));
    }
    text.push_str("  </testsuite>\n</testsuites>\n");
    text
}

fn is_skipped(judgement: &Judgement) -> bool {
    matches!(judgement.outcome, Outcome::NotMeasured { .. }) && !judgement.falls_short()
}

fn escaped(text: &str) -> String {
    let mut escaped = String::with_capacity(text.len());
    for character in text.chars() {
        match character {
            '&' => escaped.push_str("&amp;"),
            '<' => escaped.push_str("&lt;"),
            '>' => escaped.push_str("&gt;"),
            '"' => escaped.push_str("&quot;"),
            '\n' | '\t' => escaped.push(' '),
            // XML 1.0, production 2: no other control characters, escaped or not.
            c if c.is_control() || matches!(c, '\u{fffe}' | '\u{ffff}') => escaped.push('\u{fffd}'),
            c => escaped.push(c),
        }
    }
    escaped
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::metric::judge::tests::{breach, judged};
    use crate::metric::limits::tests::LEAST;

    #[test]
    fn each_limit_is_a_test_case() {
        let nothing = crate::model::summary::sample(vec![]);
        let optional = judged(&format!("{LEAST}optional = true\n"), &nothing);
        let text = xml(&[breach(), optional]);
        let lines: Vec<&str> = text.lines().map(str::trim).collect();
        assert_eq!(
            lines[2],
            "<testsuite name=\"loadgen check\" tests=\"2\" failures=\"1\" errors=\"0\" skipped=\"1\">"
        );
        assert!(
            lines[3].starts_with("<testcase classname=\"tare/none\" name=\"memory.settled.anon_bytes, memory 300\"><failure message=\"l.toml:4: "),
            "{text}"
        );
        assert!(lines[4].contains("<skipped message=\"l.toml:4: "), "{text}");
    }

    #[test]
    fn what_xml_cannot_hold_is_replaced() {
        assert_eq!(
            escaped("a<b & \"c\"\n\u{1b}[0m"),
            "a&lt;b &amp; &quot;c&quot; \u{fffd}[0m"
        );
    }
}
