//! From a subject to what is started: placeholders replaced, relative paths rooted. `{folder}` is the folder of the file,
//! where the program starts.
//!
//! Guarantees: pure; an unknown placeholder is an error that lists the known ones. Leaves to
//! others: starting it.

use std::net::SocketAddr;
use std::path::{Path, PathBuf};

use crate::spec::subject::Subject;

/// What placeholders stand for in one run.
#[derive(Debug, Clone, Default)]
pub struct Places {
    /// `{admin}`: address and port for the subject's own HTTP server.
    pub admin: String,
    /// `{second_port}`: another free port, for a program with two HTTP servers. `{port}` is that of `admin`.
    pub second_port: u16,
    /// `{kubeconfig}`: a file for the subject's own user.
    pub kubeconfig: PathBuf,
    /// `{dir}`: a folder of the run, for whatever it writes.
    pub dir: PathBuf,
    /// `{bin}`: where built-in subjects are.
    pub bin: PathBuf,
}

impl Places {
    /// The same with other ports.
    pub fn listening(self, [admin, second]: [SocketAddr; 2]) -> Self {
        Self {
            admin: admin.to_string(),
            second_port: second.port(),
            ..self
        }
    }
}

const PLACEHOLDERS: [&str; 7] = [
    "{admin}",
    "{port}",
    "{second_port}",
    "{kubeconfig}",
    "{dir}",
    "{bin}",
    "{folder}",
];

/// What is started, with every placeholder replaced.
#[derive(Debug, Clone, PartialEq)]
pub struct Launch {
    pub program: PathBuf,
    pub args: Vec<String>,
    pub env: Vec<(String, String)>,
}

impl Subject {
    /// Program, arguments and environment of one run.
    pub fn launch(&self, places: &Places) -> Launch {
        let place = |placeholder: &str| match placeholder {
            "{admin}" => Some(places.admin.clone()),
            "{port}" => places.admin.rsplit(':').next().map(str::to_owned),
            "{second_port}" => Some(places.second_port.to_string()),
            "{kubeconfig}" => Some(places.kubeconfig.display().to_string()),
            "{dir}" => Some(places.dir.display().to_string()),
            "{bin}" => Some(places.bin.display().to_string()),
            "{folder}" => Some(
                self.base
                    .as_deref()
                    .unwrap_or(Path::new("."))
                    .display()
                    .to_string(),
            ),
            _ => None,
        };
        // `check` has seen that every placeholder is known.
        let text = |text: &String| expand(text, place).unwrap_or_else(|_| text.clone());
        Launch {
            program: self.rooted(Path::new(&text(&self.run.command))),
            args: self.run.args.iter().map(text).collect(),
            env: self
                .run
                .env
                .iter()
                .map(|(name, value)| (name.clone(), text(value)))
                .collect(),
        }
    }

    /// The CRD's manifest, where it brings one of its own.
    pub fn crd(&self) -> Option<PathBuf> {
        let crd = self.run.crd.as_ref()?;
        let base = self.base.as_ref();
        Some(base.map_or_else(|| crd.clone(), |base| base.join(crd)))
    }

    /// A relative path with a slash starts at `base`; a bare name is looked up in PATH.
    fn rooted(&self, program: &Path) -> PathBuf {
        match &self.base {
            Some(base) if program.is_relative() && program.components().count() > 1 => {
                base.join(program)
            }
            _ => program.to_owned(),
        }
    }
}

pub fn expand(text: &str, place: impl Fn(&str) -> Option<String>) -> Result<String, String> {
    let mut expanded = String::new();
    let mut rest = text;
    while let Some(open) = rest.find('{') {
        let (before, from_open) = rest.split_at(open);
        expanded.push_str(before);
        let unknown = || {
            format!(
                "{text:?}: unknown placeholder; known: {}",
                PLACEHOLDERS.join(" ")
            )
        };
        let placeholder = PLACEHOLDERS
            .into_iter()
            .find(|p| from_open.starts_with(p))
            .ok_or_else(unknown)?;
        expanded.push_str(&place(placeholder).ok_or_else(unknown)?);
        rest = &from_open[placeholder.len()..];
    }
    expanded.push_str(rest);
    Ok(expanded)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::spec::subject::tests::LEAST;

    #[test]
    fn placeholders_are_replaced_everywhere() {
        let text = LEAST.replace("./op", "{bin}/op")
            + "args = [\"--a={admin}\", \"{dir}\", \"{port}/{second_port}\", \"{folder}/x.js\"]\nenv = { K = \"{kubeconfig}\" }\n";
        let mut subject = Subject::parse("f.toml", &text).expect("valid");
        subject.base = Some("/f".into());
        let launch = subject.launch(&Places {
            admin: "127.0.0.1:9".into(),
            second_port: 10,
            kubeconfig: "/k".into(),
            dir: "/d".into(),
            bin: "/b".into(),
        });
        assert_eq!(launch.program, PathBuf::from("/b/op"));
        assert_eq!(launch.args, ["--a=127.0.0.1:9", "/d", "9/10", "/f/x.js"]);
        assert_eq!(launch.env, [("K".to_owned(), "/k".to_owned())]);
    }
}
