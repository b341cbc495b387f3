//! Images of one static program, from scratch. The pause image serves twice: containerd needs one for
//! every pod, and EdgeApps can use it as their work.
//!
//! Guarantees: made on this machine from a file in C, for this machine; it runs as a user that may do
//! nothing. Leaves to others: importing it.

use std::path::{Path, PathBuf};

use serde_json::json;
use sha2::{Digest, Sha256};

use crate::build::c_compiler;
use crate::node::Error;

/// What it is called. Not `latest`: that would be pulled.
pub const PAUSE: &str = "localhost/pause:1";

const SOURCE: &str = include_str!("pause.c");
const BLOCK_BYTES: usize = 512;

/// Writes the image as an archive; returns where.
pub(crate) async fn pause(dir: &Path) -> Result<PathBuf, Error> {
    of_source(dir, PAUSE, "pause", SOURCE).await
}

/// Compiles a program in C and writes an image of nothing else, called `name`, as `docker save` would;
/// returns where in `dir`.
///
/// # Errors
/// There is no compiler, or it refuses the program, or a file cannot be written.
pub async fn of_source(
    dir: &Path,
    name: &str,
    program: &str,
    source: &str,
) -> Result<PathBuf, Error> {
    let (file, binary) = (dir.join(format!("{program}.c")), dir.join(program));
    std::fs::write(&file, source).map_err(Error::file(&file))?;
    compile(&file, &binary).await?;
    let bytes = std::fs::read(&binary).map_err(Error::file(&binary))?;
    let path = dir.join(format!("{program}.tar"));
    std::fs::write(&path, archive(name, program, &bytes)).map_err(Error::file(&path))?;
    Ok(path)
}

async fn compile(source: &Path, program: &Path) -> Result<(), Error> {
    let compiler = c_compiler().unwrap_or_default();
    let mut words = compiler.split_whitespace();
    let first = words.next().unwrap_or("gcc");
    let failed = |cause: String| Error::Command {
        command: format!("{first} -static {}", source.display()),
        cause,
    };
    let output = tokio::process::Command::new(first)
        .args(words)
        .args(["-static", "-Os", "-s", "-o"])
        .args([program, source])
        .output()
        .await
        .map_err(|cause| failed(cause.to_string()))?;
    match output.status.success() {
        true => Ok(()),
        false => Err(failed(
            String::from_utf8_lossy(&output.stderr).trim().to_owned(),
        )),
    }
}

/// An image of one program in its root, which is what it starts.
fn archive(name: &str, program: &str, bytes: &[u8]) -> Vec<u8> {
    let mut layer = Vec::new();
    entry(&mut layer, program, 0o755, bytes);
    end(&mut layer);
    let config = json!({
        "architecture": architecture(),
        "os": "linux",
        "config": { "Entrypoint": [format!("/{program}")], "User": "65532:65532" },
        "rootfs": { "type": "layers", "diff_ids": [format!("sha256:{}", digest(&layer))] },
    })
    .to_string();
    let manifest = json!([{
        "Config": "config.json",
        "RepoTags": [name],
        "Layers": ["layer.tar"],
    }])
    .to_string();
    let mut image = Vec::new();
    entry(&mut image, "layer.tar", 0o644, &layer);
    entry(&mut image, "config.json", 0o644, config.as_bytes());
    entry(&mut image, "manifest.json", 0o644, manifest.as_bytes());
    end(&mut image);
    image
}

/// As image configurations call it.
fn architecture() -> &'static str {
    match std::env::consts::ARCH {
        "x86_64" => "amd64",
        "aarch64" => "arm64",
        other => other,
    }
}

fn digest(bytes: &[u8]) -> String {
    let digest = Sha256::digest(bytes);
    digest.iter().map(|byte| format!("{byte:02x}")).collect()
}

/// One regular file of root's, in the format of POSIX.1-1988 ("ustar"). Names are short.
fn entry(tar: &mut Vec<u8>, name: &str, mode: u32, bytes: &[u8]) {
    let mut header = [0_u8; BLOCK_BYTES];
    let mut put = |at: usize, text: &str| {
        header[at..at + text.len()].copy_from_slice(text.as_bytes());
    };
    put(0, name);
    put(100, &format!("{mode:07o}"));
    put(108, "0000000");
    put(116, "0000000");
    put(124, &format!("{:011o}", bytes.len()));
    put(136, "00000000000");
    // The checksum is taken with spaces in its own place.
    put(148, "        ");
    put(156, "0");
    put(257, "ustar\x0000");
    let sum: u32 = header.iter().map(|&byte| u32::from(byte)).sum();
    let sum = format!("{sum:06o}\0 ");
    header[148..156].copy_from_slice(sum.as_bytes());
    tar.extend_from_slice(&header);
    tar.extend_from_slice(bytes);
    tar.resize(tar.len().next_multiple_of(BLOCK_BYTES), 0);
}

/// Two blocks of zeros end an archive.
fn end(tar: &mut Vec<u8>) {
    tar.resize(tar.len() + 2 * BLOCK_BYTES, 0);
}

#[cfg(test)]
#[allow(clippy::unwrap_used)]
mod tests {
    use std::io::Write;
    use std::process::{Command, Stdio};

    use super::*;

    #[test]
    fn tar_lists_what_was_put_in() {
        let image = archive("localhost/x:1", "x", b"hello");
        let mut tar = Command::new("tar")
            .args(["-tvf", "-"])
            .stdin(Stdio::piped())
            .stdout(Stdio::piped())
            .spawn()
            .unwrap();
        tar.stdin.take().unwrap().write_all(&image).unwrap();
        let output = tar.wait_with_output().unwrap();
        assert!(output.status.success());
        let listed = String::from_utf8(output.stdout).unwrap();
        for file in ["layer.tar", "config.json", "manifest.json"] {
            let is_it = |line: &str| line.starts_with("-rw-r--r--") && line.ends_with(file);
            assert!(listed.lines().any(is_it), "{file}: {listed}");
        }
    }

    #[test]
    fn the_digest_is_the_published_function() {
        // FIPS 180-4's example of three letters.
        let want = "ba7816bf8f01cfea414140de5dae2223b00361a396177a9cb410ff61f20015ad";
        assert_eq!(digest(b"abc"), want);
    }
}
