//! What labels an object has that a selector takes.
//!
//! Guarantees: every object that a valid selector takes has one label of each requirement that is named here. What else a
//! selector asks for (`!=`, `notin`, `!canary`, numbers) is left out: more objects than it takes may have these labels.
//! Leaves to others: selecting, and saying what is wrong with a selector (the server).

use std::collections::BTreeMap;

/// The requirements of `selector` that a label meets, each as the labels of which one meets it: `app=web`, or `app` where
/// any value does.
pub(crate) fn requirements(selector: &str) -> Vec<Vec<String>> {
    split(selector).filter_map(required).collect()
}

/// Of the requirements the one to look objects up by: each object that the selector takes has one of these labels, or the
/// empty one, which all have.
pub(crate) fn rarest(requirements: &[Vec<String>]) -> Vec<String> {
    let names_value = |labels: &&Vec<String>| labels.iter().all(|label| label.contains('='));
    let rarest = requirements.iter().find(names_value);
    let rarest = rarest.or(requirements.first()).cloned();
    rarest.unwrap_or_else(|| vec![String::new()])
}

/// What an object with these labels has of the above.
pub(crate) fn terms(labels: &BTreeMap<String, String>) -> impl Iterator<Item = String> {
    let named = labels.iter();
    let named = named.flat_map(|(name, value)| [format!("{name}={value}"), name.clone()]);
    std::iter::once(String::new()).chain(named)
}

/// Its parts between commas, but for those in parentheses.
fn split(selector: &str) -> impl Iterator<Item = &str> {
    let mut depth = 0_usize;
    selector.split(move |c| {
        match c {
            '(' => depth += 1,
            ')' => depth = depth.saturating_sub(1),
            _ => {}
        }
        c == ',' && depth == 0
    })
}

fn required(part: &str) -> Option<Vec<String>> {
    let part = part.trim();
    if part.is_empty() || part.contains(['!', '<', '>']) {
        return None;
    }
    if let Some((head, values)) = part.split_once('(') {
        let (name, operator) = head.trim_end().split_once(char::is_whitespace)?;
        let values = values.trim_end_matches(')').split(',');
        let labels = values.map(|value| format!("{name}={}", value.trim()));
        return (operator.trim() == "in").then(|| labels.collect());
    }
    Some(match part.split_once('=') {
        Some((name, value)) => {
            let value = value.trim_start_matches('=').trim();
            vec![format!("{}={value}", name.trim_end())]
        }
        None => vec![part.to_owned()],
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_requirement_that_a_label_meets_is_named_and_another_is_left_out() {
        for (selector, named) in [
            ("app=web", vec![vec!["app=web"]]),
            ("app == web , tier", vec![vec!["app=web"], vec!["tier"]]),
            (
                "example.com/tier in (gold, silver),app=",
                vec![
                    vec!["example.com/tier=gold", "example.com/tier=silver"],
                    vec!["app="],
                ],
            ),
            ("tier in(gold)", vec![vec!["tier=gold"]]),
            ("tier notin (gold,silver),!canary,app!=web", vec![]),
            ("size > 3", vec![]),
            ("", vec![]),
        ] {
            assert_eq!(requirements(selector), named, "{selector}");
        }
    }

    #[test]
    fn objects_are_looked_up_by_a_value_where_one_is_asked_for() {
        let rarest = |selector| rarest(&requirements(selector));
        assert_eq!(rarest("tier,app=web"), ["app=web"]);
        assert_eq!(rarest("tier in (a,b),app=web"), ["tier=a", "tier=b"]);
        assert_eq!(rarest("!canary,tier"), ["tier"]);
        assert_eq!(rarest("!canary"), [""]);
    }

    #[test]
    fn what_an_object_has_is_what_selectors_ask_for() {
        let labels = [("app", "web"), ("tier", "")];
        let labels = labels.map(|(name, value)| (name.to_owned(), value.to_owned()));
        let terms: Vec<_> = terms(&labels.into()).collect();
        assert_eq!(terms, ["", "app=web", "app", "tier=", "tier"]);
    }
}
