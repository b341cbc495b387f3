//! The names that a Rust file declares: types, functions, modules, constants, variants.

use super::is_word;
use super::tokens::Token;

/// A name that the code declares.
#[derive(Debug, PartialEq)]
pub struct Declared {
    pub line: usize,
    /// `fn`, `struct`, `mod`, ...
    pub what: &'static str,
    pub name: String,
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
