//! What is built: binaries, and the images of `just image`.
//!
//! Guarantees: what is older than one of its sources counts as not built; sizes come from the files
//! themselves. Leaves to others: building.

use std::io::{Read, Seek, SeekFrom};
use std::path::{Path, PathBuf};
use std::time::SystemTime;

use anyhow::Context;
use serde_json::Value;

/// Where things are built from, and where they go.
#[derive(Debug, Clone)]
pub struct Workshop {
    /// The checkout.
    pub root: PathBuf,
    /// Cargo's target folder.
    pub target: PathBuf,
}

/// The image of one platform.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Image {
    /// What a node transfers: manifest, configuration and layers.
    pub packed_bytes: u64,
    /// The layers unpacked; known where they are compressed with gzip.
    pub unpacked_bytes: Option<u64>,
}

impl Workshop {
    /// The binary of a static target, if it is newer than its sources.
    ///
    /// # Errors
    /// A source cannot be looked at.
    pub fn static_binary(&self, target: &str) -> anyhow::Result<Option<PathBuf>> {
        let path = self.target.join("static").join(target).join("dist/tare");
        self.fresh(&path, &[])
    }

    /// The binary of a profile of this machine's own target, if it is newer than its sources.
    ///
    /// # Errors
    /// A source cannot be looked at.
    pub fn host_binary(&self, profile: &str) -> anyhow::Result<Option<PathBuf>> {
        self.fresh(&self.target.join(profile).join("tare"), &[])
    }

    /// The image of `architecture` that `just image` has left in `layout` (`tare`, `tare-gzip`), if it
    /// is newer than its sources.
    ///
    /// # Errors
    /// A source or the layout cannot be read.
    pub fn image(&self, layout: &str, architecture: &str) -> anyhow::Result<Option<Image>> {
        let folder = self.root.join("target/image").join(layout);
        let index = self.fresh(&folder.join("index.json"), &["Dockerfile.scratch"])?;
        index.map_or(Ok(None), |index| image(&folder, &index, architecture))
    }

    /// The path, if it is there and nothing that it is made of is newer.
    fn fresh(&self, path: &Path, more: &[&str]) -> anyhow::Result<Option<PathBuf>> {
        let Ok(built) = std::fs::metadata(path).and_then(|file| file.modified()) else {
            return Ok(None);
        };
        let sources = ["src", "Cargo.toml", "Cargo.lock", "deploy/base/crd.yaml"];
        for source in sources.iter().chain(more) {
            if newest(&self.root.join(source))? > built {
                return Ok(None);
            }
        }
        Ok(Some(path.to_owned()))
    }
}

/// When a file, or the newest file in a folder, was last changed.
fn newest(path: &Path) -> anyhow::Result<SystemTime> {
    let looked = || format!("cannot look at {}", path.display());
    let metadata = std::fs::metadata(path).with_context(looked)?;
    let mut changed = metadata.modified().with_context(looked)?;
    if metadata.is_dir() {
        for entry in std::fs::read_dir(path).with_context(looked)? {
            changed = changed.max(newest(&entry.with_context(looked)?.path())?);
        }
    }
    Ok(changed)
}

/// Follows an OCI layout: index, the tag's own index, the platform's manifest.
fn image(folder: &Path, index: &Path, architecture: &str) -> anyhow::Result<Option<Image>> {
    let index = json(index)?;
    let platforms = json(&blob(folder, &index["manifests"][0])?)?;
    let all = platforms["manifests"].as_array().into_iter().flatten();
    let Some(entry) = all
        .into_iter()
        .find(|entry| entry["platform"]["architecture"] == architecture)
    else {
        return Ok(None);
    };
    let manifest = json(&blob(folder, entry)?)?;
    let size = |of: &Value| {
        of["size"]
            .as_u64()
            .context("an entry of the image has no size")
    };
    let mut packed_bytes = size(entry)? + size(&manifest["config"])?;
    let mut unpacked_bytes = Some(0);
    for layer in manifest["layers"].as_array().into_iter().flatten() {
        packed_bytes += size(layer)?;
        let gzip = layer["mediaType"]
            .as_str()
            .is_some_and(|media| media.ends_with("+gzip"));
        unpacked_bytes = match (unpacked_bytes, gzip) {
            (Some(bytes), true) => Some(bytes + unpacked(&blob(folder, layer)?)?),
            _ => None,
        };
    }
    Ok(Some(Image {
        packed_bytes,
        unpacked_bytes,
    }))
}

fn blob(folder: &Path, entry: &Value) -> anyhow::Result<PathBuf> {
    let digest = entry["digest"]
        .as_str()
        .context("an entry of the image has no digest")?;
    Ok(folder.join("blobs").join(digest.replace(':', "/")))
}

fn json(path: &Path) -> anyhow::Result<Value> {
    let bytes = std::fs::read(path).with_context(|| format!("cannot read {}", path.display()))?;
    serde_json::from_slice(&bytes).with_context(|| format!("{} is not JSON", path.display()))
}

/// What a gzip file unpacks to: its last four bytes, modulo 4 GiB (RFC 1952, ISIZE).
fn unpacked(path: &Path) -> anyhow::Result<u64> {
    let mut size = [0; 4];
    let read = std::fs::File::open(path).and_then(|mut file| {
        file.seek(SeekFrom::End(-4))?;
        file.read_exact(&mut size)
    });
    read.with_context(|| format!("cannot read the end of {}", path.display()))?;
    Ok(u32::from_le_bytes(size).into())
}
