//! The operator's image as `just image` has made it: `target/image/tare`.

use std::path::{Path, PathBuf};
use std::process::Command;

use serde_json::Value;

/// What install.yaml calls it.
pub const NAME: &str = concat!("localhost/tare:", env!("CARGO_PKG_VERSION"));

/// The layout, if it is there and of this version; else what to do.
pub fn find() -> Result<PathBuf, String> {
    let layout = Path::new(env!("CARGO_MANIFEST_DIR")).join("target/image/tare");
    let index = layout.join("index.json");
    let text = std::fs::read_to_string(&index).map_err(|error| {
        let path = index.display();
        format!("no image of the operator ({path}: {error}); make it with `just image amd64`")
    })?;
    let index: Value = serde_json::from_str(&text).map_err(|error| error.to_string())?;
    let name = &index["manifests"][0]["annotations"]["io.containerd.image.name"];
    if name != NAME {
        return Err(format!(
            "the image in target/image is {name}, not {NAME}; make it anew with `just image amd64`"
        ));
    }
    Ok(layout)
}

/// The layout as an archive that containerd imports.
pub fn archive(layout: &Path, dir: &Path) -> Result<PathBuf, String> {
    let path = dir.join("tare.tar");
    let output = Command::new("tar")
        .arg("-C")
        .arg(layout)
        .arg("-cf")
        .arg(&path)
        .arg(".")
        .output()
        .map_err(|error| format!("tar: {error}"))?;
    match output.status.success() {
        true => Ok(path),
        false => Err(String::from_utf8_lossy(&output.stderr).into_owned()),
    }
}
