//! A question on the terminal, answered with y or anything else.
//!
//! Guarantees: no answer, an end of input included, is a no; a Ctrl-C meanwhile is not held up by
//! it. Leaves to others: whether there is a terminal (`target::can_ask`).

use std::io::Write;

use tokio::sync::oneshot;

use crate::error::Usage;
use crate::target::context::can_ask;

/// # Errors
/// `Usage` where nobody can be asked.
pub async fn ask(question: &str) -> Result<bool, Usage> {
    if !can_ask() {
        return Err(Usage(
            "this needs a yes and there is no terminal to ask on; add --yes if it is what you want"
                .into(),
        ));
    }
    let mut terminal = std::io::stderr();
    // A terminal that went away answers nothing, which is a no.
    let _ = write!(terminal, "{question} [y/N] ");
    let _ = terminal.flush();
    let (answer, answered) = oneshot::channel();
    // A thread of its own: a runtime would wait for its blocking ones before it ends.
    std::thread::spawn(move || {
        let mut line = String::new();
        let read = std::io::stdin().read_line(&mut line);
        let _ = answer.send(read.is_ok() && is_yes(&line));
    });
    Ok(answered.await.unwrap_or(false))
}

fn is_yes(line: &str) -> bool {
    matches!(line.trim().to_ascii_lowercase().as_str(), "y" | "yes")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_a_yes_is_a_yes() {
        for (line, want) in [
            ("y\n", true),
            ("YES\n", true),
            ("\n", false),
            ("", false),
            ("no\n", false),
            ("yep\n", false),
        ] {
            assert_eq!(is_yes(line), want, "{line:?}");
        }
    }
}
