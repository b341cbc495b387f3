//! A terminal at which a user types `pods …`; what is printed stays in memory.

use std::io::{self, Write};
use std::sync::{Arc, Mutex};
use std::time::Duration;

use kube::Client;
use tokio::task::JoinHandle;
use tokio::time::Instant;

use super::example::cli;
use super::example::failure::explain;
use super::example::screen::Screen;
use super::example::tour;

/// The longest that anything here may take, longer than the timeout of the example.
const TIMEOUT: Duration = Duration::from_secs(100);

#[derive(Clone, Default)]
struct Captured(Arc<Mutex<Vec<u8>>>);

impl Write for Captured {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        self.0.lock().expect("what was printed").write(bytes)
    }

    fn flush(&mut self) -> io::Result<()> {
        Ok(())
    }
}

impl Captured {
    fn text(&self) -> String {
        let bytes = self.0.lock().expect("what was printed");
        String::from_utf8_lossy(&bytes).into_owned()
    }
}

pub struct Terminal {
    pub client: Client,
}

/// What a command has printed, and how it ended.
#[derive(Debug, PartialEq)]
pub struct Said {
    pub out: String,
    pub errors: String,
    /// The exit code, or the one line of the error.
    pub end: Result<u8, String>,
}

impl Terminal {
    /// Types a command and waits for its end.
    pub async fn tries(&self, line: &str) -> Said {
        let running = self.starts(line);
        let end = tokio::time::timeout(TIMEOUT, running.task).await;
        let end = end.unwrap_or_else(|_| panic!("pods {line}: has not ended"));
        Said {
            out: running.out.text(),
            errors: running.errors.text(),
            end: end.expect("the command panicked"),
        }
    }

    /// Types a command that succeeds; gives what it has printed.
    pub async fn types(&self, line: &str) -> String {
        let said = self.tries(line).await;
        assert_eq!(said.end, Ok(0), "pods {line}: {}", said.errors);
        said.out
    }

    /// Types a command that fails; gives its error.
    pub async fn fails(&self, line: &str) -> String {
        let said = self.tries(line).await;
        said.end.expect_err(line)
    }

    /// Types a command and goes on.
    pub fn starts(&self, line: &str) -> Running {
        let words = line.split_whitespace().map(Into::into);
        let usage = cli::parse(words).unwrap_or_else(|error| panic!("pods {line}: {error}"));
        let (out, errors) = (Captured::default(), Captured::default());
        let screens = [&out, &errors].map(|captured| Screen::new(captured.clone()));
        let client = self.client.clone();
        let task = tokio::spawn(async move {
            let [screen, errors] = screens;
            let end = tour::run(usage, client, &screen, &errors).await;
            end.map_err(|error| explain(&error))
        });
        let line = line.to_owned();
        Running {
            line,
            out,
            errors,
            task,
        }
    }
}

/// A command at work; ended with this.
pub struct Running {
    line: String,
    out: Captured,
    errors: Captured,
    task: JoinHandle<Result<u8, String>>,
}

impl Running {
    /// Waits until exactly this has been printed.
    pub async fn until_out(&self, wanted: &str) {
        self.until(wanted, |out| out == wanted).await;
    }

    /// Waits until what has been printed is as wanted; gives it.
    pub async fn until(&self, what: &str, holds: impl Fn(&str) -> bool) -> String {
        self.until_within(TIMEOUT, what, holds).await
    }

    async fn until_within(
        &self,
        timeout: Duration,
        what: &str,
        holds: impl Fn(&str) -> bool,
    ) -> String {
        let deadline = Instant::now() + timeout;
        loop {
            let out = self.out.text();
            if holds(&out) {
                return out;
            }
            assert!(
                Instant::now() < deadline,
                "pods {}: never printed {what}\nbut {out}\nand {}",
                self.line,
                self.errors.text()
            );
            tokio::time::sleep(Duration::from_millis(20)).await;
        }
    }

    /// As [`Running::until`], for what takes its time: on paused time that costs none.
    pub async fn wait(&self, what: &str, holds: impl Fn(&str) -> bool) -> String {
        self.until_within(Duration::from_secs(3_600), what, holds)
            .await
    }

    /// Waits for its end.
    pub async fn end(self) -> Result<u8, String> {
        let end = tokio::time::timeout(TIMEOUT, self.task).await;
        end.unwrap_or_else(|_| panic!("pods {}: has not ended", self.line))
            .expect("the command panicked")
    }

    pub fn errors(&self) -> String {
        self.errors.text()
    }

    pub fn stop(self) {
        self.task.abort();
    }
}
