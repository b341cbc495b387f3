//! As much of Rust as the checks of rooms and words need: tokens, modules, paths, declared names.
//!
//! Guarantees: comments and literals are no tokens; what is compiled for tests only is left out.
//! Leaves to others: macros, and names that macros make.

mod declared;
mod paths;
mod tokens;

pub use declared::declared;
pub use paths::paths;
pub use tokens::{Token, tokens};

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

/// Whether the token is a name or a keyword.
fn is_word(text: &str) -> bool {
    text.starts_with(|c: char| c.is_alphabetic() || c == '_')
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
