//! Where subjects are built, and with which commands.
//!
//! Guarantees: a checkout of Tare that the current folder is in, or else a folder of the user's cache, where
//! everything can be built but what needs Tare's sources. Leaves to others: running the commands (`build`).

use std::path::{Path, PathBuf};

use sha2::{Digest, Sha256};

use crate::record::evidence::sums::hex;
use crate::spec::subject::{GoModule, Subject};

/// Where subjects are built: a checkout of Tare, or a folder of the user's cache.
#[derive(Debug, Clone)]
pub struct Workspace {
    pub root: PathBuf,
    /// Whether `root` has Tare's sources.
    checkout: bool,
    target: PathBuf,
    /// The target triple that subjects are built for by `scripts/dist.sh`; that of the host without.
    triple: Option<String>,
}

/// Why nothing can be built.
#[derive(Debug, thiserror::Error)]
pub enum Error {
    #[error(
        "{subjects}: built from the sources of Tare, and {} is not in a checkout of it; run this in one, name a folder with the programs in TARE_SUBJECT_DIR and add --no-build, or measure an operator of your own with --subject FILE --subjects NAME/VARIANT",
        current.display()
    )]
    NoSources { subjects: String, current: PathBuf },
    #[error("no folder for programs that are built outside a checkout; set HOME or XDG_CACHE_HOME")]
    NoCache,
    #[error(
        "--target {triple}: this machine is {}; choose a target of its own",
        std::env::consts::ARCH
    )]
    Foreign { triple: String },
}

impl Workspace {
    /// The checkout that the current folder is in, or else a folder in `$XDG_CACHE_HOME` or `~/.cache`.
    ///
    /// # Errors
    /// `NoCache` where neither is there.
    pub fn find() -> Result<Self, Error> {
        let current = current();
        let checkout = current.ancestors().find(|folder| is_workspace(folder));
        let root = match checkout {
            Some(root) => root.to_owned(),
            // It outlives a bench: a Go program takes minutes to build.
            None => tare_procstat::cache_dir()
                .ok_or(Error::NoCache)?
                .join("tare/subjects"),
        };
        let target = match std::env::var_os("CARGO_TARGET_DIR") {
            Some(target) if checkout.is_some() => current.join(target),
            _ => root.join("target"),
        };
        Ok(Self {
            checkout: checkout.is_some(),
            root,
            target,
            triple: None,
        })
    }

    /// # Errors
    /// `NoSources` names the subjects that only a checkout can make.
    pub fn can_build(&self, subjects: &[Subject]) -> Result<(), Error> {
        let of_tare = |subject: &&Subject| {
            let build = subject.build.as_ref();
            let is_here = |go: bool| go && subject.base.is_none();
            build.is_some_and(|it| !it.cargo_packages.is_empty() || is_here(it.go.is_some()))
        };
        let missing: Vec<String> = subjects.iter().filter(of_tare).map(Subject::id).collect();
        match self.checkout || missing.is_empty() {
            true => Ok(()),
            false => Err(Error::NoSources {
                subjects: missing.join(", "),
                current: current(),
            }),
        }
    }

    /// A checkout, of which no file is there.
    #[cfg(test)]
    pub(super) fn of_tests() -> Self {
        Self {
            root: "/w".into(),
            checkout: true,
            target: "/w/target".into(),
            triple: None,
        }
    }

    /// The same, with subjects for a static target.
    ///
    /// # Errors
    /// `Foreign`: what cannot run here cannot be measured.
    pub fn for_target(self, triple: Option<&str>) -> Result<Self, Error> {
        let triple = triple.map(str::to_owned);
        if let Some(triple) = &triple
            && triple.split('-').next() != Some(std::env::consts::ARCH)
        {
            let triple = triple.clone();
            return Err(Error::Foreign { triple });
        }
        Ok(Self { triple, ..self })
    }

    /// Where a build leaves them.
    pub(super) fn made(&self) -> PathBuf {
        match &self.triple {
            Some(triple) => self.target.join("static").join(triple).join("dist"),
            None => self.target.join("dist"),
        }
    }

    /// What `{bin}` stands for in `subject`: `TARE_SUBJECT_DIR`, where programs lie as whoever made them wants, or where
    /// its program is made.
    pub fn bin_of(&self, subject: &Subject) -> PathBuf {
        match std::env::var_os("TARE_SUBJECT_DIR") {
            Some(dir) => PathBuf::from(dir),
            None => self.made_of(subject),
        }
    }

    /// Where the program of `subject` is made. Two modules may have a program of the same name, such as `controller`: each
    /// that is not of this workspace has a folder of its own, named by how it is built.
    fn made_of(&self, subject: &Subject) -> PathBuf {
        let (made, build) = (self.made(), subject.build.as_ref());
        let program = match build.map(|build| (&build.go, &build.go_module)) {
            Some((Some(go), _)) if subject.base.is_some() => go.program(),
            Some((_, Some(module))) => module.program().to_owned(),
            _ => return made,
        };
        // The folder of a file is a part of how its own sources are built.
        let base = build.and_then(|build| build.go.as_ref());
        let base = base.and(subject.base.as_ref());
        let how = serde_json::to_vec(&(build, base)).unwrap_or_default();
        let digest = hex(&Sha256::digest(how)[..4]);
        made.join("go").join(format!("{program}-{digest}"))
    }

    /// The program of `subject`, where a build leaves it.
    pub(super) fn program(&self, subject: &Subject, name: &str) -> PathBuf {
        self.made_of(subject).join(name)
    }

    /// The folder for a copy of a module, in which it is built as the main module.
    pub(super) fn sources(&self, build: &GoModule) -> PathBuf {
        let name = build.query().replace('/', "-");
        self.target.join("go-modules").join(name)
    }

    /// The command that builds a package of this workspace; its name follows.
    pub(super) fn cargo(&self, profile: &str) -> Vec<String> {
        let words = match &self.triple {
            Some(triple) => vec!["scripts/dist.sh", triple],
            None => vec!["cargo", "build", "--profile", profile, "-p"],
        };
        words.into_iter().map(str::to_owned).collect()
    }
}

fn current() -> PathBuf {
    std::env::current_dir().unwrap_or_else(|_| PathBuf::from("."))
}

fn is_workspace(folder: &Path) -> bool {
    folder.join("loadgen/Cargo.toml").is_file() && folder.join("Cargo.toml").is_file()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::spec::subject::built_in;

    #[test]
    fn static_subjects_are_built_by_the_script() {
        let triple = format!("{}-unknown-linux-musl", std::env::consts::ARCH);
        let musl = Workspace::of_tests()
            .for_target(Some(&triple))
            .expect("our own");
        assert_eq!(
            musl.cargo("dist"),
            ["scripts/dist.sh", triple.as_str()],
            "the profile is the script's"
        );
        assert!(musl.made().ends_with(format!("static/{triple}/dist")));
        let error = Workspace::of_tests()
            .for_target(Some("sparc-x"))
            .expect_err("foreign");
        assert!(
            error
                .to_string()
                .contains("--target sparc-x: this machine is")
        );
    }

    #[test]
    fn outside_a_checkout_only_what_needs_the_sources_is_refused() {
        let mut outside = Workspace::of_tests();
        outside.checkout = false;
        let subjects = built_in().expect("valid");
        let named = |names: &[&str]| -> Vec<Subject> {
            let named = subjects.iter().filter(|s| names.contains(&s.id().as_str()));
            named.cloned().collect()
        };
        let foreign = named(&["helm-controller/default", "nobody/idle"]);
        assert!(foreign.len() == 2 && outside.can_build(&foreign).is_ok());
        let ours = named(&["tare/none", "controller-runtime/tuned", "nobody/idle"]);
        let error = outside
            .can_build(&ours)
            .expect_err("no sources")
            .to_string();
        let want = "tare/none, controller-runtime/tuned: built from the sources of Tare, and ";
        assert!(error.starts_with(want), "{error}");
        assert!(Workspace::of_tests().can_build(&ours).is_ok());
    }

    #[test]
    fn two_programs_of_the_same_name_have_two_places() {
        let text = |module: &str| {
            format!(
                "name = \"a\"\nvariant = \"x\"\n[run]\ncommand = \"{{bin}}/controller\"\ncrd = \"crd.yaml\"\n\
                 [build.go_module]\nmodule = \"example.com/{module}\"\nversion = \"v1.0.0\"\n\
                 package = \"./cmd/controller\"\n"
            )
        };
        let subject = |module: &str| Subject::parse("a.toml", &text(module)).expect("valid");
        let place = |module: &str| Workspace::of_tests().made_of(&subject(module));
        assert_ne!(place("one"), place("other"));
        assert_eq!(place("one"), place("one"), "variants share a program");
        let one = subject("one");
        let Some(module) = one
            .build
            .as_ref()
            .and_then(|build| build.go_module.as_ref())
        else {
            panic!("it has a module");
        };
        let run = Workspace::of_tests().program(&one, module.program());
        let built = module.command(&run).join(" ");
        assert!(built.contains(&format!("-o {} ", run.display())), "{built}");
    }
}
