//! Judgements as JUnit XML, which build servers show beside their tests.
//!
//! Guarantees: pure; any text is escaped, what XML cannot hold is replaced. Leaves to others: the
//! file.

use serde_json::{Value, json};

use crate::metric::judge::{Judgement, Outcome};
use crate::report::change::figure_name;
use crate::report::limits::sentence;
use crate::report::page;

/// # Errors
/// Never for the template that is part of this program, which a test renders.
pub fn xml(judgements: &[Judgement]) -> anyhow::Result<String> {
    let case = |judgement: &Judgement| {
        let element = match judgement.outcome {
            _ if judgement.falls_short() => Some("failure"),
            Outcome::NotMeasured { .. } => Some("skipped"),
            _ => None,
        };
        let limit = &judgement.limit;
        let (subject, name) = (&limit.subject, figure_name(&limit.metric, limit.cell));
        json!({ "subject": subject, "name": name, "element": element, "sentence": sentence(judgement) })
    };
    let cases: Vec<Value> = judgements.iter().map(case).collect();
    let failures = judgements.iter().filter(|j| j.falls_short()).count();
    let missing = judgements
        .iter()
        .filter(|j| matches!(j.outcome, Outcome::NotMeasured { .. }));
    let skipped = missing.filter(|j| !j.falls_short()).count();
    Ok(page::render(
        "junit.xml",
        json!({ "cases": cases, "failures": failures, "skipped": skipped }),
    )? + "\n")
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::metric::judge::tests::{breach, judged};
    use crate::metric::limits::tests::LEAST;

    #[test]
    fn each_limit_is_a_test_case() {
        let nothing = crate::record::summary::sample(vec![]);
        let optional = judged(&format!("{LEAST}optional = true\n"), &nothing);
        let text = xml(&[breach(), optional]).expect("rendered");
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
}
