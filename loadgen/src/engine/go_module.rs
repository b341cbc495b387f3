//! The sources of a Go module, as the main module of a folder.
//!
//! Guarantees: what the module proxy has of that version, checked by `go` against its checksums. Modules that lie in
//! folders beside it in its repository, and are no part of what the proxy has of it, come from the proxy, too. A folder
//! that is there is whole and is not made again. Leaves to others: building it (`build`).

use std::io;
use std::path::Path;
use std::process::Stdio;

use serde::Deserialize;
use tokio::process::Command;

use crate::spec::subject::GoModule;

/// Why there are no sources.
#[derive(Debug, thiserror::Error)]
pub enum Error {
    #[error("cannot run go: {0}; install it, or add --no-build")]
    NoGo(io::Error),
    #[error("go mod download {query}: {message}")]
    Download { query: String, message: String },
    #[error("cannot copy {from} to {to}: {source}")]
    Copy {
        from: String,
        to: String,
        source: io::Error,
    },
}

/// What `go mod download -json` prints, as far as it is needed.
#[derive(Debug, Deserialize)]
#[serde(rename_all = "PascalCase")]
struct Downloaded {
    dir: Option<String>,
    error: Option<String>,
}

/// Copies the module to `folder`, unless it is there: the module cache is read-only, and a module in it is
/// nobody's main module.
///
/// # Errors
/// It cannot be had, or not be written.
pub async fn copy(module: &GoModule, folder: &Path) -> Result<(), Error> {
    if folder.is_dir() {
        return Ok(());
    }
    let sources = download(module).await?;
    let failed = |source| Error::Copy {
        from: sources.clone(),
        to: folder.display().to_string(),
        source,
    };
    // It appears under its name when it is whole.
    let young = folder.with_extension(format!("new-{}", std::process::id()));
    let copied = copy_tree(Path::new(&sources), &young);
    if let Err(error) = beside(module, &young).await {
        let _ = std::fs::remove_dir_all(&young);
        return Err(error);
    }
    let copied = copied.and_then(|()| std::fs::rename(&young, folder));
    if copied.is_err() {
        let _ = std::fs::remove_dir_all(&young);
    }
    // Another bench may have been first.
    copied
        .or_else(|error| folder.is_dir().then_some(()).ok_or(error))
        .map_err(failed)
}

/// A `go.mod`, as `go mod edit -json` prints it, as far as it is needed.
#[derive(Debug, Deserialize)]
#[serde(rename_all = "PascalCase")]
struct GoMod {
    #[serde(default)]
    replace: Option<Vec<Replace>>,
}

#[derive(Debug, Deserialize)]
#[serde(rename_all = "PascalCase")]
struct Replace {
    old: Version,
    new: Version,
}

#[derive(Debug, Deserialize)]
#[serde(rename_all = "PascalCase")]
struct Version {
    path: String,
}

impl GoMod {
    /// Modules that are replaced by a folder which is not there.
    fn replaced_by_nothing(&self, folder: &Path) -> Vec<&str> {
        let replaced = self.replace.iter().flatten();
        let missing = replaced.filter(|it| {
            let is_folder = it.new.path.starts_with("./") || it.new.path.starts_with("../");
            is_folder && !folder.join(&it.new.path).join("go.mod").is_file()
        });
        missing.map(|it| it.old.path.as_str()).collect()
    }
}

/// Takes the version that the module requires in place of a folder of its repository.
async fn beside(module: &GoModule, folder: &Path) -> Result<(), Error> {
    let described = go(module, folder, &["mod", "edit", "-json"]).await?;
    let go_mod: GoMod = serde_json::from_slice(&described).map_err(|error| Error::Download {
        query: module.query(),
        message: format!("its go.mod: {error}"),
    })?;
    let missing = go_mod.replaced_by_nothing(folder);
    if missing.is_empty() {
        return Ok(());
    }
    let drop: Vec<String> = missing
        .iter()
        .map(|it| format!("-dropreplace={it}"))
        .collect();
    let edit = ["mod", "edit"]
        .into_iter()
        .chain(drop.iter().map(String::as_str));
    go(module, folder, &edit.collect::<Vec<_>>()).await?;
    // Writes their checksums to go.sum.
    let list = ["list", "-mod=mod", "-deps", module.package.as_str()];
    go(module, folder, &list).await?;
    Ok(())
}

/// In nobody's workspace.
fn go_command(folder: &Path, args: &[&str]) -> Command {
    let mut command = Command::new("go");
    command
        .args(args)
        .env("GOWORK", "off")
        .current_dir(folder)
        .stdin(Stdio::null())
        .kill_on_drop(true);
    command
}

/// What `go` prints in a folder.
async fn go(module: &GoModule, folder: &Path, args: &[&str]) -> Result<Vec<u8>, Error> {
    let output = go_command(folder, args)
        .output()
        .await
        .map_err(Error::NoGo)?;
    match output.status.success() {
        true => Ok(output.stdout),
        false => Err(Error::Download {
            query: module.query(),
            message: String::from_utf8_lossy(&output.stderr)
                .trim()
                .replace('\n', " "),
        }),
    }
}

/// The folder in the module cache.
async fn download(module: &GoModule) -> Result<String, Error> {
    let query = module.query();
    // In no folder of a module.
    let mut command = go_command(&std::env::temp_dir(), &["mod", "download", "-json", &query]);
    let output = command.output().await.map_err(Error::NoGo)?;
    let answer: Option<Downloaded> = serde_json::from_slice(&output.stdout).ok();
    let (dir, error) = answer.map_or((None, None), |answer| (answer.dir, answer.error));
    match (dir, error) {
        (Some(dir), None) => Ok(dir),
        (_, error) => {
            let stderr = String::from_utf8_lossy(&output.stderr);
            let message = error.unwrap_or_else(|| stderr.trim().to_owned());
            Err(Error::Download {
                query,
                message: message.replace('\n', " "),
            })
        }
    }
}

/// Files and folders with the rights of new ones: those of the cache cannot be written.
fn copy_tree(from: &Path, to: &Path) -> io::Result<()> {
    std::fs::create_dir_all(to)?;
    for entry in std::fs::read_dir(from)? {
        let entry = entry?;
        let to = to.join(entry.file_name());
        match entry.file_type()? {
            kind if kind.is_dir() => copy_tree(&entry.path(), &to)?,
            kind if kind.is_file() => {
                let mut file = std::fs::File::create(&to)?;
                io::copy(&mut std::fs::File::open(entry.path())?, &mut file)?;
            }
            // A module holds nothing else.
            _ => {}
        }
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use std::os::unix::fs::PermissionsExt;

    use tare_procstat::temp_dir::TempDir;

    use super::*;

    #[test]
    fn a_folder_that_the_proxy_does_not_have_replaces_nothing() {
        let temp = TempDir::create(&std::env::temp_dir(), "loadgen-go-replace").expect("a folder");
        std::fs::create_dir_all(temp.path().join("there")).expect("a folder");
        std::fs::write(temp.path().join("there/go.mod"), "module there").expect("a file");
        let text = r#"{"Module":{"Path":"m"},"Replace":[
            {"Old":{"Path":"m/apis"},"New":{"Path":"./pkg/apis"}},
            {"Old":{"Path":"m/there"},"New":{"Path":"./there"}},
            {"Old":{"Path":"x"},"New":{"Path":"example.com/fork","Version":"v1.0.0"}}]}"#;
        let go_mod: GoMod = serde_json::from_str(text).expect("as go prints it");
        assert_eq!(go_mod.replaced_by_nothing(temp.path()), ["m/apis"]);
        let none: GoMod = serde_json::from_str(r#"{"Replace":null}"#).expect("as go prints it");
        assert!(none.replaced_by_nothing(temp.path()).is_empty());
    }

    /// What is replaced is not required, so that nothing is asked of a proxy.
    #[tokio::test]
    async fn a_module_is_built_without_the_folders_beside_it() {
        let temp = TempDir::create(&std::env::temp_dir(), "loadgen-go-beside").expect("a folder");
        let go_mod = temp.path().join("go.mod");
        let written = "module example.com/m\n\ngo 1.21\n\nreplace example.com/m/apis => ./apis\n";
        std::fs::write(&go_mod, written).expect("a file");
        let main = "package main\n\nfunc main() {}\n";
        std::fs::write(temp.path().join("main.go"), main).expect("a file");
        let module = GoModule {
            module: "example.com/m".into(),
            version: "v1.2.3".into(),
            package: ".".into(),
            flags: Vec::new(),
        };
        match beside(&module, temp.path()).await {
            Err(Error::NoGo(error)) => return eprintln!("not tested, because of go: {error}"),
            other => other.expect("edited"),
        }
        let left = std::fs::read_to_string(go_mod).expect("there");
        assert_eq!(left, "module example.com/m\n\ngo 1.21\n");
    }

    #[test]
    fn a_copy_can_be_written_and_is_made_once() {
        let temp = TempDir::create(&std::env::temp_dir(), "loadgen-go-module").expect("a folder");
        let (cache, copy) = (temp.path().join("cache"), temp.path().join("copy"));
        std::fs::create_dir_all(cache.join("cmd")).expect("a folder");
        std::fs::write(cache.join("cmd/main.go"), "package main").expect("a file");
        let read_only = std::fs::Permissions::from_mode(0o444);
        std::fs::set_permissions(cache.join("cmd/main.go"), read_only).expect("ours");
        copy_tree(&cache, &copy).expect("copied");
        let file = std::fs::metadata(copy.join("cmd/main.go")).expect("there");
        assert!(!file.permissions().readonly() && file.len() == 12);
    }
}
