//! Kubeconfig files: their entries, merged and chosen as kubectl does it.
//!
//! Guarantees: pure; the first file wins, for each name and for the current context; an entry that is
//! not chosen is not looked at; a relative path is relative to the file it is in.
//! Leaves to others: what the fields of a cluster (`cluster`) and a user (`credentials`) mean.
//! Source: client-go 0.36, tools/clientcmd/loader.go and client_config.go.

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};

use super::entry::Entry;
use super::error::{Flaw, Known, Problem};
use super::yaml::{self, Map, Node};

/// One file, or several merged into one.
#[derive(Default)]
pub(super) struct Kubeconfig {
    current: Option<String>,
    contexts: Entries,
    clusters: Entries,
    users: Entries,
}

type Entries = BTreeMap<String, Entry>;

/// The entries of one context.
pub(super) struct Choice<'a> {
    /// What binds them.
    pub context: &'a Entry,
    /// Where the server is.
    pub cluster: &'a Entry,
    /// Who we are; nobody, for a proxy that knows.
    pub user: Option<&'a Entry>,
    /// For requests that name none.
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

    /// Adds what is not there yet.
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
