//! A named entry of a kubeconfig, and how its fields are read.
//!
//! Guarantees: an empty field counts as left out, as for kubectl; `…-data` wins over a file; a
//! relative path is relative to the kubeconfig.
//! Leaves to others: what the fields mean.

use std::path::PathBuf;

use base64::Engine;
use base64::engine::general_purpose::STANDARD;

use crate::http::client::error::{Flaw, PemError, Problem};
use crate::http::client::file;
use crate::http::client::yaml::{Map, Node};

/// A context, a cluster or a user. It may hold secrets and so cannot be printed.
pub(crate) struct Entry {
    /// `context`, `cluster` or `user`.
    pub what: &'static str,
    /// Its name.
    pub name: String,
    /// Its fields.
    pub fields: Map,
    /// The kubeconfig it is in.
    pub file: PathBuf,
}

/// Certificates or a key, and the field that they were read from.
pub(crate) struct Material {
    /// The bytes that were read; PEM in a valid kubeconfig.
    pub pem: Vec<u8>,
    /// The file that they were read from; `None` where the kubeconfig holds them.
    pub path: Option<PathBuf>,
    field: &'static str,
}

impl Entry {
    /// Whether a field is set and not empty.
    pub fn has(&self, field: &str) -> bool {
        match self.fields.get(field) {
            None | Some(Node::Null) => false,
            Some(Node::Text(text)) => !text.is_empty(),
            Some(_) => true,
        }
    }

    /// The value of a field; `None` where it is absent or empty.
    pub fn text(&self, field: &'static str) -> Result<Option<&str>, Flaw> {
        match self.fields.get(field) {
            None | Some(Node::Null) => Ok(None),
            Some(Node::Text(text)) => Ok(Some(text.as_str()).filter(|text| !text.is_empty())),
            Some(_) => Err(self.flaw(Problem::Kind(field, "a string"))),
        }
    }

    /// The value of a boolean field; an absent one is false.
    pub fn flag(&self, field: &'static str) -> Result<bool, Flaw> {
        match self.text(field)? {
            None | Some("false" | "False" | "FALSE") => Ok(false),
            Some("true" | "True" | "TRUE") => Ok(true),
            Some(_) => Err(self.flaw(Problem::Kind(field, "true or false"))),
        }
    }

    /// The path in a field, relative to the folder of the kubeconfig.
    pub fn path(&self, field: &'static str) -> Result<Option<PathBuf>, Flaw> {
        let base = self.file.parent();
        Ok(self.text(field)?.map(|path| match base {
            // `join` with an absolute path returns that path.
            Some(base) => base.join(path),
            None => PathBuf::from(path),
        }))
    }

    /// The decoded content of `<field>-data`, else that of the file that `field` names.
    pub fn material(
        &self,
        field: &'static str,
        data: &'static str,
    ) -> Result<Option<Material>, Flaw> {
        if let Some(data) = self.text(data)? {
            let packed: Vec<u8> = data
                .bytes()
                .filter(|byte| !byte.is_ascii_whitespace())
                .collect();
            let pem = STANDARD
                .decode(packed)
                .map_err(|_| self.flaw(Problem::Base64(field)))?;
            return Ok(Some(Material {
                pem,
                path: None,
                field,
            }));
        }
        let Some(path) = self.path(field)? else {
            return Ok(None);
        };
        let pem = file::read(&path).map_err(|cause| {
            self.flaw(Problem::File {
                field,
                path: path.display().to_string(),
                cause,
            })
        })?;
        Ok(Some(Material {
            pem,
            path: Some(path),
            field,
        }))
    }

    /// A problem with this entry.
    pub fn flaw(&self, problem: Problem) -> Flaw {
        Flaw::Entry {
            what: self.what,
            name: self.name.clone(),
            problem,
        }
    }

    /// A problem with certificates or a key of this entry.
    pub fn pem_flaw(&self, material: &Material, cause: PemError) -> Flaw {
        let field = match &material.path {
            Some(path) => format!("{} {}", material.field, path.display()),
            None => format!("{}-data", material.field),
        };
        self.flaw(Problem::Pem { field, cause })
    }
}
