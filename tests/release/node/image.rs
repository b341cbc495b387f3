//! The operator's image that `just image` has built: `target/image/tare`.

use std::path::{Path, PathBuf};
use std::process::Command;

use serde_json::Value;

/// The name of the image in install.yaml.
pub const NAME: &str = concat!("localhost/tare:", env!("CARGO_PKG_VERSION"));

/// The image layout, if it exists and is of this version; otherwise the command that builds it.
pub fn find() -> Result<PathBuf, String> {
    let layout = Path::new(env!("CARGO_MANIFEST_DIR")).join("target/image/tare");
    let index = layout.join("index.json");
    let text = std::fs::read_to_string(&index).map_err(|error| {
        let path = index.display();
        format!("no image of the operator ({path}: {error}); build it with `just image amd64`")
    })?;
    let index: Value = serde_json::from_str(&text).map_err(|error| error.to_string())?;
    let name = &index["manifests"][0]["annotations"]["io.containerd.image.name"];
    if name != NAME {
        return Err(format!(
            "the image in target/image is {name}, not {NAME}; build it again with `just image amd64`"
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
