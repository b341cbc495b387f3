//! Every command in a document is run here, or listed with the reason why it cannot be.
//!
//! Guarantees: a command of `tare`, `loadgen` or an example is accepted by the program as it is built,
//! so that a renamed option fails here; recipes, scripts, packages, tests and benches that are named
//! exist; an entry of the lists that no document needs fails too. Leaves to others: doing what takes a
//! cluster, minutes or root.

use std::collections::BTreeSet;
use std::path::{Path, PathBuf};

use crate::markdown::{Document, Fence};
use crate::programs;
use crate::tree;

/// Run in the checkout; each must succeed.
const RUN: &[&str] = &[
    "loadgen doctor",
    "loadgen subjects",
    "loadgen metrics",
    "loadgen --version",
    "loadgen completions bash",
    "loadgen schema",
    "loadgen schema run",
    "loadgen schema workload",
    "loadgen workloads",
    "loadgen workloads edgeapp --crds",
    "tare crd",
    "tare help",
    "tare version",
];

/// Not run, and why. `*` stands for anything.
const LISTED: &[(&str, &str)] = &[
    ("cargo test --workspace", "it is what runs these tests"),
    ("cargo test -p *", "a part of the above"),
    (
        "cargo test",
        "in a copy of runtime/template; scripts/template.sh runs it",
    ),
    (
        "cargo run -- *",
        "in a copy of runtime/template; scripts/template.sh runs `crd`",
    ),
    (
        "cargo bench*",
        "takes minutes; tests/repository/benches.rs runs the benches without measuring",
    ),
    (
        "cargo build --release *",
        "takes minutes; .ci/run builds what ships",
    ),
    (
        "loadgen bench*",
        "takes minutes; loadgen/tests runs small ones",
    ),
    (
        "just league*",
        "builds and measures operators of five languages, for an hour",
    ),
    ("cd league/*", "what follows is of another package manager"),
    (
        "sh build.sh",
        "downloads a framework; just league-conform builds it",
    ),
    (
        "python3 build.py *",
        "downloads a framework; just league-conform builds it",
    ),
    ("npm test", "needs the framework; sh build.sh runs it"),
    (
        "mvn *",
        "downloads a framework; just league-conform builds it",
    ),
    (
        "loadgen conform*",
        "builds operators; loadgen/tests runs it",
    ),
    (
        "loadgen run*",
        "needs a cluster; loadgen/tests runs it on one",
    ),
    (
        "loadgen envelope *",
        "takes minutes; loadgen/tests runs a small one",
    ),
    (
        "mkdir backend",
        "the backend of an example, of which tests have their own",
    ),
    ("echo secret", "the same"),
    ("python3 -m http.server *", "the same"),
    (
        "loadgen bystanders *",
        "takes minutes; loadgen/tests runs a small one",
    ),
    (
        "loadgen subjects new *",
        "needs a definition of one's own; loadgen/tests runs it",
    ),
    (
        "loadgen merge *",
        "needs records of shards; loadgen/tests runs it",
    ),
    (
        "loadgen clean*",
        "needs a cluster; loadgen/tests runs it on one",
    ),
    (
        "loadgen lint *",
        "needs a workload of one's own; loadgen/tests runs it",
    ),
    (
        "loadgen report *",
        "writes into results/; loadgen/tests runs it on a folder of its own",
    ),
    (
        "loadgen check *",
        "needs a folder that a bench has written; loadgen/tests runs it",
    ),
    (
        "loadgen sizing *",
        "needs a folder that a bench has written; loadgen/tests runs it",
    ),
    (
        "loadgen metrics *",
        "the same as without a word; loadgen/tests runs it",
    ),
    ("cargo xtask *", "xtask/tests runs it with --check"),
    (
        "loadgen verify *",
        "needs a folder that a bench has written; loadgen/tests runs it",
    ),
    (
        "loadgen compare *",
        "needs two folders that benches have written; loadgen/tests runs it",
    ),
    (
        "loadgen kubesim *",
        "runs until Ctrl-C; every bench starts it",
    ),
    (
        "loadgen control-plane build*",
        "takes minutes; .ci/run does it",
    ),
    (
        "loadgen control-plane up*",
        "runs until Ctrl-C; loadgen/tests starts it",
    ),
    (
        "tare install",
        "needs a cluster; the scenarios on real servers run it",
    ),
    (
        "tare run*",
        "needs a cluster; the scenarios on real servers run it",
    ),
    (
        "cargo run --example *",
        "needs a cluster; tests/scenarios/examples runs them on the simulated server",
    ),
    ("kubectl *", "needs a cluster"),
    (
        "helm *",
        "needs a cluster; tests/release/node runs it on one",
    ),
    ("just push *", "needs a registry"),
    (
        "just campaign*",
        "takes a day; .ci/run makes a campaign of minutes",
    ),
    ("just bloat *", "builds a static binary"),
    ("just order", "takes minutes, and traces processes"),
    (
        "dist/check.sh",
        "needs a cluster; tests/repository/check.rs runs it",
    ),
    (
        "./check.sh",
        "needs a cluster; tests/repository/check.rs runs it",
    ),
    (
        "./verify.sh *",
        "needs a signed release; tests/release runs it on one",
    ),
    ("cosign *", "needs a signed release and a program of others"),
    ("openssl *", "needs a signed release; verify.sh does it"),
    ("sha256sum *", "needs a signed release; verify.sh does it"),
    (
        "just release",
        "takes minutes; tests/release signs and verifies files",
    ),
    ("sudo *", "needs root and k3s"),
    ("apt-get install *", "needs root"),
    ("mkdir -p /tmp/kubesim", "prepares the command after it"),
    ("just fast", "builds and runs tests, for minutes"),
    ("mkdir gadgets", "prepares the commands after it"),
    ("mkdir gadget", "prepares the commands after it"),
    ("cd gadgets", "prepares the commands after it"),
    (
        "python3 -m venv venv",
        "needs the network with the command after it",
    ),
    ("venv/bin/pip install *", "needs the network"),
    ("export *", "sets a variable for the commands after it"),
];

/// One command of a document.
struct Documented {
    place: String,
    text: String,
}

#[test]
fn every_command_is_run_or_listed() {
    let mut wrong = Vec::new();
    let mut used = BTreeSet::new();
    for shown in shown() {
        let plain = plain(&shown.text);
        if let Some(entry) = RUN.iter().find(|entry| **entry == plain) {
            used.insert(*entry);
        } else if let Some((entry, _)) = LISTED.iter().find(|(entry, _)| matches(entry, &plain)) {
            used.insert(*entry);
        } else {
            wrong.push(format!(
                "{}: {plain}: neither run nor listed in {}",
                shown.place,
                file!()
            ));
        }
        if let Err(why) = accepted(&plain) {
            wrong.push(format!("{}: {plain}: {why}", shown.place));
        }
    }
    let entries = RUN.iter().chain(LISTED.iter().map(|(entry, _)| entry));
    let unused = entries.filter(|entry| !used.contains(**entry));
    wrong.extend(unused.map(|entry| format!("{}: {entry:?} is in no document", file!())));
    assert!(wrong.is_empty(), "\n{}", wrong.join("\n"));
}

#[test]
fn commands_that_can_be_run_succeed() {
    for command in RUN {
        let (program, arguments) = ours(command).expect("a program of ours");
        let output = programs::run(&program, &arguments);
        let printed = programs::printed(&output);
        assert!(output.status.success(), "{command}: {printed}");
    }
}

/// Also where a sentence or a table names them.
#[test]
fn recipes_that_documents_name_exist() {
    let mut wrong = Vec::new();
    for path in documents() {
        let text = tree::text(&path);
        for code in Document::parse(&text).inline_code() {
            let named = ["just ", "loadgen ", "scripts/"];
            if !named.iter().any(|start| code.text.starts_with(start)) {
                continue;
            }
            let until = code.text.split(['[', '…', '|']).next().unwrap_or_default();
            if let Err(why) = accepted(&placeholders(until.trim())) {
                wrong.push(format!(
                    "{}:{}: {}: {why}",
                    path.display(),
                    code.number,
                    code.text
                ));
            }
        }
    }
    assert!(wrong.is_empty(), "\n{}", wrong.join("\n"));
}

/// Documents that are written by hand: reports of committed runs have the commands of their day.
fn documents() -> Vec<PathBuf> {
    let all = tree::documents().into_iter();
    all.filter(|path| !path.starts_with("results") || path == Path::new("results/README.md"))
        .filter(|path| path != Path::new("CHANGELOG.md"))
        .collect()
}

fn shown() -> Vec<Documented> {
    let mut found = Vec::new();
    for path in documents() {
        let text = tree::text(&path);
        for fence in Document::parse(&text).fences {
            if ["sh", "bash", "shell", "console"].contains(&fence.language) {
                found.extend(commands(&path, &fence));
            }
        }
    }
    assert!(found.len() > 50, "commands are found");
    found
}

/// The commands of a block: continued lines are one, comments are left out, `&&` separates.
fn commands(path: &Path, fence: &Fence) -> Vec<Documented> {
    let (mut found, mut open) = (Vec::new(), String::new());
    let mut nested = 0_usize;
    for line in &fence.lines {
        let text = line.text.trim();
        if text.starts_with('#') || text.is_empty() && open.is_empty() {
            continue;
        }
        let text = text.strip_prefix("$ ").unwrap_or(text);
        let text = text.split(" #").next().unwrap_or_default().trim_end();
        open.push_str(text.trim_end_matches('\\'));
        nested += usize::from(text.ends_with("do"));
        nested -= usize::from(text == "done" && nested > 0);
        if text.ends_with('\\') || text.ends_with('|') || nested > 0 {
            open.push(' ');
            continue;
        }
        found.extend(open.split(" && ").map(|command| Documented {
            place: format!("{}:{}", path.display(), line.number),
            text: command.split_whitespace().collect::<Vec<_>>().join(" "),
        }));
        open.clear();
    }
    found
}

/// The command as the lists have it: `cargo run … -p loadgen -- X` is `loadgen X`, whatever it prints to.
fn plain(command: &str) -> String {
    let command = command.split(" > ").next().unwrap_or_default();
    let command = match command.split_once('=') {
        Some((name, rest)) if name.chars().all(|c| c.is_ascii_uppercase() || c == '_') => {
            rest.split_once(' ').map_or("", |(_, rest)| rest)
        }
        _ => command,
    };
    for program in ["loadgen", "tare"] {
        for run in [
            "cargo run --release -p",
            "cargo run --quiet -p",
            "cargo run -p",
        ] {
            if let Some(rest) = command.strip_prefix(&format!("{run} {program} --")) {
                return format!("{program}{rest}");
            }
        }
    }
    command.to_owned()
}

/// The program and the arguments of a command of ours.
fn ours(command: &str) -> Option<(PathBuf, Vec<&str>)> {
    let mut words = command.split(' ').filter(|word| !word.is_empty());
    let program = match words.next()? {
        "loadgen" => programs::loadgen().to_owned(),
        "tare" => programs::tare(),
        "cargo" if command.starts_with("cargo run --example ") => {
            programs::example(command.split(' ').nth(3)?)?
        }
        _ => return None,
    };
    let example = command.starts_with("cargo");
    let arguments = words
        .skip_while(|word| example && *word != "--")
        .skip(usize::from(example));
    Some((program, arguments.collect()))
}

/// Whether what the command names exists.
fn accepted(command: &str) -> Result<(), String> {
    if let Some((program, arguments)) = ours(command) {
        let tour = program.ends_with("examples/pods");
        return match tour {
            true => Ok(()),
            false => programs::accepts(&program, &arguments),
        };
    }
    let words: Vec<&str> = command.split(' ').collect();
    let root = tree::root();
    let exists = |path: &str| match root.join(path).exists() {
        true => Ok(()),
        false => Err(format!("there is no {path}")),
    };
    match words[..] {
        ["just", recipe, ..] => match recipes().contains(recipe) {
            true => Ok(()),
            false => Err(format!("the justfile has no recipe {recipe}")),
        },
        ["cargo", "run", "--example", name, ..] => {
            let found = root.join(format!("examples/{name}.rs")).exists();
            if found {
                Ok(())
            } else {
                exists(&format!("examples/{name}/main.rs"))
            }
        }
        ["cargo", ..] => named(&words),
        ["dist/check.sh" | "./check.sh", ..] => exists("deploy/check.sh"),
        [script, ..] if script.starts_with("scripts/") => exists(script),
        _ => Ok(()),
    }
}

/// Packages, tests and benches after `-p`, `--test` and `--bench`.
fn named(words: &[&str]) -> Result<(), String> {
    let after = |option: &str| {
        let place = words.iter().position(|word| *word == option)?;
        words.get(place + 1).copied()
    };
    let package = after("-p").unwrap_or("tare");
    let manifests = tree::files("", "toml").into_iter();
    let folder = manifests
        .filter(|path| path.ends_with("Cargo.toml"))
        .find(|path| tree::text(path).contains(&format!("name = \"{package}\"")))
        .and_then(|path| path.parent().map(|folder| tree::root().join(folder)))
        .ok_or_else(|| format!("there is no package {package}"))?;
    for (option, below) in [("--test", "tests"), ("--bench", "benches")] {
        let Some(name) = after(option) else { continue };
        let manifest = std::fs::read_to_string(folder.join("Cargo.toml")).unwrap_or_default();
        let file = folder.join(below).join(format!("{name}.rs")).exists();
        let main = folder.join(below).join(name).join("main.rs").exists();
        if !file && !main && !manifest.contains(&format!("name = \"{name}\"")) {
            return Err(format!("{package} has no {option} {name}"));
        }
    }
    Ok(())
}

fn recipes() -> BTreeSet<String> {
    let text = tree::text(Path::new("justfile"));
    let heads = text
        .lines()
        .filter(|line| line.starts_with(|c: char| c.is_ascii_lowercase()));
    let names = heads.filter_map(|line| line.split([' ', ':']).next());
    names.map(str::to_owned).collect()
}

/// `loadgen COMMAND --help` stands for every command; upper-case words for values.
fn placeholders(code: &str) -> String {
    let words = code.split(' ').filter(|word| {
        let upper = word
            .chars()
            .all(|c| c.is_ascii_uppercase() || c == '_' || c == '.');
        !upper
    });
    words.collect::<Vec<_>>().join(" ")
}

/// `*` stands for anything.
fn matches(pattern: &str, text: &str) -> bool {
    let mut parts = pattern.split('*');
    let first = parts.next().unwrap_or_default();
    let Some(mut rest) = text.strip_prefix(first) else {
        return false;
    };
    let parts: Vec<&str> = parts.collect();
    let Some((last, middle)) = parts.split_last() else {
        return rest.is_empty();
    };
    for part in middle {
        let Some(found) = rest.find(part) else {
            return false;
        };
        rest = &rest[found + part.len()..];
    }
    rest.ends_with(last)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn patterns() {
        let cases = [
            ("a b", "a b", true),
            ("a b", "a bc", false),
            ("a *", "a bc", true),
            ("a*", "a", true),
            ("*c", "a bc", true),
            ("a*b*c", "a-b-c", true),
            ("a*b*c", "a-c", false),
        ];
        for (pattern, text, want) in cases {
            assert_eq!(matches(pattern, text), want, "{pattern} {text}");
        }
    }

    #[test]
    fn a_block_is_taken_apart() {
        let text =
            "```sh\n# first\nA_B=1 x \\\n    y && z    # why\nwhile read a; do\n    b\ndone\n```\n";
        let document = Document::parse(text);
        let found = commands(Path::new("x.md"), &document.fences[0]);
        let texts: Vec<String> = found.iter().map(|shown| plain(&shown.text)).collect();
        assert_eq!(texts, ["x y", "z", "while read a; do b done"]);
    }
}
