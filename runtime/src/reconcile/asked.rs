//! Fields of children about which a patch asks the server for the first time.
//!
//! A field may differ from its plan in its form alone, which the answer to a patch tells (`normalized`). After a start
//! many owners meet such a field at once: one of them asks, the others wait for its answer.
//!
//! Guarantees: one waits for at most [`ANSWERED_WITHIN`] in all, and only for a field that nobody has asked about since
//! the program began. At most [`QUESTIONS`] fields are told apart; nobody waits for others.
//! Leaves to others: what the answer says.

use std::sync::{Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use tokio::sync::Notify;
use tokio::time::{Instant, timeout_at};

use crate::model::{KindId, hash32};

/// Longer than a healthy server takes for a patch, and short for an owner that waits in vain.
const ANSWERED_WITHIN: Duration = Duration::from_secs(1);

/// As many as `normalized` remembers for each of two kinds, 32 bytes each.
const QUESTIONS: usize = 128;

/// What was asked, of all kinds of children.
#[derive(Debug, Default)]
pub(super) struct Asked {
    questions: Mutex<Vec<Question>>,
    answered: Notify,
}

#[derive(Debug)]
struct Question {
    field: Field,
    /// `None` where it was answered.
    asked_at: Option<Instant>,
}

/// A kind, and the hash of a path without the indexes of lists.
type Field = (Option<KindId>, u32);

/// The turn to ask. Where it is dropped without an answer, the next one asks.
#[derive(Debug)]
pub(super) struct Turn<'a> {
    asked: &'a Asked,
    field: Field,
}

impl Asked {
    /// The turn to ask about a field, the first time; else `None`, at once or after the answer to another.
    pub async fn turn(&self, kind: Option<KindId>, pattern: &str) -> Option<Turn<'_>> {
        let field = (kind, hash32(pattern));
        loop {
            // Before the look: it is woken by every answer from here on.
            let answered = self.answered.notified();
            let asked_at = {
                let mut questions = self.lock();
                match questions.iter().find(|question| question.field == field) {
                    Some(question) => question.asked_at?,
                    None if questions.len() >= QUESTIONS => return None,
                    None => {
                        questions.push(Question {
                            field,
                            asked_at: Some(Instant::now()),
                        });
                        return Some(Turn { asked: self, field });
                    }
                }
            };
            timeout_at(asked_at + ANSWERED_WITHIN, answered)
                .await
                .ok()?;
        }
    }

    fn lock(&self) -> MutexGuard<'_, Vec<Question>> {
        self.questions
            .lock()
            .unwrap_or_else(PoisonError::into_inner)
    }
}

impl Turn<'_> {
    /// The server has answered.
    pub fn answered(self) {
        let mut questions = self.asked.lock();
        let mut questions = questions.iter_mut();
        if let Some(question) = questions.find(|question| question.field == self.field) {
            question.asked_at = None;
        }
    }
}

impl Drop for Turn<'_> {
    fn drop(&mut self) {
        let is_open =
            |question: &Question| question.field == self.field && question.asked_at.is_some();
        self.asked.lock().retain(|question| !is_open(question));
        self.asked.answered.notify_waiters();
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[tokio::test(start_paused = true)]
    async fn one_asks_and_the_others_wait_for_its_answer() {
        let asked = Asked::default();
        let turn = asked.turn(None, "/spec/a").await.expect("the first");
        let begun = Instant::now();
        let (second, ()) = tokio::join!(asked.turn(None, "/spec/a"), async {
            tokio::time::sleep(Duration::from_millis(20)).await;
            turn.answered();
        });
        assert!(second.is_none(), "it was answered");
        assert_eq!(begun.elapsed(), Duration::from_millis(20));
        assert!(asked.turn(None, "/spec/a").await.is_none(), "never again");
        assert!(asked.turn(KindId::child(0), "/spec/a").await.is_some());
    }

    #[tokio::test(start_paused = true)]
    async fn nobody_waits_long_for_one_that_hangs_and_a_failure_leaves_the_turn_to_the_next() {
        let asked = Asked::default();
        let turn = asked.turn(None, "/spec/a").await.expect("the first");
        let begun = Instant::now();
        assert!(asked.turn(None, "/spec/a").await.is_none());
        assert!(asked.turn(None, "/spec/a").await.is_none());
        assert_eq!(begun.elapsed(), ANSWERED_WITHIN, "once, and in all");
        drop(turn);
        assert!(asked.turn(None, "/spec/a").await.is_some(), "asked anew");
    }

    #[tokio::test(start_paused = true)]
    async fn fields_beyond_the_bound_are_not_waited_for() {
        let asked = Asked::default();
        let mut turns = Vec::new();
        for n in 0..QUESTIONS {
            turns.push(asked.turn(None, &format!("/{n}")).await.expect("its turn"));
        }
        assert!(asked.turn(None, "/more").await.is_none());
    }
}
