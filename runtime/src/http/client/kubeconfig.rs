//! Kubeconfig files: their entries, merged and chosen as kubectl does it.
//!
//! Guarantees: pure; the first file wins, for each name and for the current context; an entry that is
//! not chosen is not read; a relative path is relative to the file it is in.
//! Leaves to others: what the fields of a cluster (`cluster`) and a user (`credentials`) mean.
//! Source: client-go 0.36, tools/clientcmd/loader.go and client_config.go.

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};

use crate::http::client::entry::Entry;
use crate::http::client::error::{Flaw, Known, Problem};
use crate::http::client::yaml;
use crate::http::client::yaml::{Map, Node};

/// One file, or several merged into one.
#[derive(Default)]
pub(crate) struct Kubeconfig {
    current: Option<String>,
    contexts: Entries,
    clusters: Entries,
    users: Entries,
}

type Entries = BTreeMap<String, Entry>;

/// The entries of one context.
pub(crate) struct Choice<'a> {
    /// The context entry, which names the cluster and the user.
    pub context: &'a Entry,
    /// The cluster entry: address and CA of the server.
    pub cluster: &'a Entry,
    /// The user entry: the credentials. `None` where the context names no user; that is valid only over
    /// plain HTTP, where a proxy authenticates.
    pub user: Option<&'a Entry>,
    /// The namespace of requests that name none.
    pub namespace: String,
}

impl Kubeconfig {
    /// Reads the text of `file`.
    pub fn read(text: &str, file: &Path) -> Result<Self, Flaw> {
        let mut fields = match yaml::parse(text)? {
            Node::Null => return Ok(Self::default()),
            Node::Map(fields) => fields,
            _ => return Err(Flaw::Shape("it is not a mapping".to_owned())),
        };
        let current = match fields.remove("current-context") {
            None | Some(Node::Null) => None,
            Some(Node::Text(name)) => Some(name).filter(|name| !name.is_empty()),
            Some(_) => {
                return Err(Flaw::Shape("current-context is not a string".to_owned()));
            }
        };
        Ok(Self {
            current,
            contexts: entries(&mut fields, "contexts", "context", file)?,
            clusters: entries(&mut fields, "clusters", "cluster", file)?,
            users: entries(&mut fields, "users", "user", file)?,
        })
    }

    /// Adds the entries of `later` whose names are not taken yet.
    pub fn merge(&mut self, later: Self) {
        self.current = self.current.take().or(later.current);
        for (entries, more) in [
            (&mut self.contexts, later.contexts),
            (&mut self.clusters, later.clusters),
            (&mut self.users, later.users),
        ] {
            for (name, entry) in more {
                entries.entry(name).or_insert(entry);
            }
        }
    }

    /// The entries of `wanted`, or of the current context.
    pub fn choose(&self, wanted: Option<&str>) -> Result<Choice<'_>, Flaw> {
        let name = wanted
            .or(self.current.as_deref())
            .ok_or_else(|| Flaw::NoContext(known(&self.contexts)))?;
        let context = find(&self.contexts, "context", name)?;
        let cluster = context
            .text("cluster")?
            .ok_or_else(|| context.flaw(Problem::Lacks("cluster")))?;
        let user = context.text("user")?;
        Ok(Choice {
            context,
            cluster: find(&self.clusters, "cluster", cluster)?,
            user: user
                .map(|user| find(&self.users, "user", user))
                .transpose()?,
            namespace: context.text("namespace")?.unwrap_or("default").to_owned(),
        })
    }
}

/// The list `field` of `{name: …, <what>: {…}}` by name.
fn entries(
    fields: &mut Map,
    field: &'static str,
    what: &'static str,
    file: &Path,
) -> Result<Entries, Flaw> {
    let list = match fields.remove(field) {
        None | Some(Node::Null) => return Ok(Entries::new()),
        Some(Node::List(list)) => list,
        Some(_) => return Err(Flaw::Shape(format!("{field} is not a list"))),
    };
    let mut entries = Entries::new();
    for node in list {
        let shape = || Flaw::Shape(format!("{field} holds something without a name"));
        let Node::Map(mut named) = node else {
            return Err(shape());
        };
        let Some(Node::Text(name)) = named.remove("name") else {
            return Err(shape());
        };
        let fields = match named.remove(what) {
            None | Some(Node::Null) => Map::new(),
            Some(Node::Map(fields)) => fields,
            Some(_) => return Err(Flaw::Shape(format!("{what} {name:?} is not a mapping"))),
        };
        entries.entry(name.clone()).or_insert(Entry {
            what,
            name,
            fields,
            file: PathBuf::from(file),
        });
    }
    Ok(entries)
}

fn find<'a>(entries: &'a Entries, what: &'static str, name: &str) -> Result<&'a Entry, Flaw> {
    entries.get(name).ok_or_else(|| Flaw::Unknown {
        what,
        name: name.to_owned(),
        known: known(entries),
    })
}

fn known(entries: &Entries) -> Known {
    Known(entries.keys().cloned().collect())
}

#[cfg(test)]
mod tests {
    use super::*;

    fn read(text: &str) -> Kubeconfig {
        Kubeconfig::read(text, Path::new("/home/ada/.kube/config")).expect(text)
    }

    /// A kubeconfig with one context, cluster and user, all of them named `name`; the server is at `host`.
    fn one(name: &str, host: &str) -> String {
        format!(
            "current-context: {name}\n\
             clusters: [{{name: {name}, cluster: {{server: 'https://{host}'}}}}]\n\
             users: [{{name: {name}, user: {{token: {host}}}}}]\n\
             contexts: [{{name: {name}, context: {{cluster: {name}, user: {name}}}}}]\n"
        )
    }

    #[test]
    fn the_first_file_wins_for_each_name_and_for_the_current_context() {
        let mut merged = read(&one("a", "first"));
        merged.merge(read(&one("a", "second")));
        merged.merge(read(&one("b", "third")));
        let server = |context| {
            let choice = merged.choose(context)?;
            choice.cluster.text("server").map(Option::unwrap_or_default)
        };
        assert_eq!(server(None), Ok("https://first"));
        assert_eq!(server(Some("b")), Ok("https://third"));

        let mut merged = read("current-context: ''\n");
        merged.merge(read(&one("b", "third")));
        assert!(merged.choose(None).is_ok(), "an empty name is none");
    }

    #[test]
    fn what_a_context_refers_to_has_to_be_there() {
        let contexts = "contexts:\n- name: lost\n  context: {cluster: c, user: u}\n\
            - name: nowhere\n- name: nobody\n  context: {cluster: d}\n\
            - name: stranger\n  context: {cluster: d, user: u}\n\
            - name: 7\n  context: {cluster: d, namespace: shop}\nclusters:\n- name: d\n";
        let cases = [
            (
                None,
                "no current-context; choose one with --context; there is: 7, lost, nobody",
            ),
            (
                Some("x"),
                "context \"x\" is not there; there is: 7, lost, nobody, nowhere, stranger",
            ),
            (Some("lost"), "cluster \"c\" is not there; there is: d"),
            (Some("nowhere"), "context \"nowhere\": it has no cluster"),
            (Some("stranger"), "user \"u\" is not there; there is none"),
        ];
        let kubeconfig = read(contexts);
        for (context, want) in cases {
            let error = kubeconfig
                .choose(context)
                .err()
                .map(|flaw| flaw.to_string());
            assert!(
                error.as_ref().is_some_and(|error| error.starts_with(want)),
                "{error:?}"
            );
        }
        let namespace = |context| {
            kubeconfig
                .choose(Some(context))
                .map(|choice| choice.namespace)
        };
        assert_eq!(namespace("7"), Ok("shop".to_owned()));
        assert_eq!(namespace("nobody"), Ok("default".to_owned()));
    }

    #[test]
    fn something_else_than_a_kubeconfig_is_refused() {
        let cases = [
            ("hello", "not a kubeconfig: it is not a mapping"),
            ("clusters: {}", "not a kubeconfig: clusters is not a list"),
            (
                "users: [x]",
                "not a kubeconfig: users holds something without a name",
            ),
            (
                "users: [{name: u, user: x}]",
                "not a kubeconfig: user \"u\" is not a mapping",
            ),
            (
                "current-context: []",
                "not a kubeconfig: current-context is not a string",
            ),
            ("clusters: [", "line "),
        ];
        for (text, want) in cases {
            let error = Kubeconfig::read(text, Path::new("x"))
                .err()
                .map(|flaw| flaw.to_string());
            assert!(
                error.as_ref().is_some_and(|error| error.starts_with(want)),
                "{text}: {error:?}"
            );
        }
    }
}
