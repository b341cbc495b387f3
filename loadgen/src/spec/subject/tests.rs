//! What a subject file may say, and how a wrong one is refused.

use tare_procstat::temp_dir::TempDir;

use crate::spec::subject::*;

pub const LEAST: &str =
    "name = \"mine\"\nvariant = \"x\"\n[run]\ncommand = \"./op\"\ncrd = \"crd.yaml\"\n";

#[test]
fn the_built_in_subjects_parse() {
    let ids: Vec<_> = built_in().expect("valid").iter().map(Subject::id).collect();
    // Those of this repository in the order of tables, then operators of others.
    assert_eq!(
        ids[..12],
        [
            "tare/none",
            "tare/metadata",
            "tare/pruned",
            "tare/controller",
            "tare/controller-tuned",
            "kube-rs/stock",
            "kube-rs/predicate",
            "kube-rs/tuned",
            "controller-runtime/vanilla",
            "controller-runtime/tuned",
            "controller-runtime/storeless",
            "controller-runtime/storeless-tuned",
        ]
    );
    let different: std::collections::BTreeSet<&String> = ids.iter().collect();
    assert_eq!(different.len(), ids.len(), "{ids:?}");
}

#[test]
fn the_settings_of_the_go_collector_differ_in_nothing_else() {
    for (folder, id) in [
        ("go-front", "controller-runtime/tuned"),
        ("storeless-front", "controller-runtime/storeless-tuned"),
    ] {
        let front = Path::new(env!("CARGO_MANIFEST_DIR"))
            .join("subjects")
            .join(folder);
        let mut built_in = built_in().expect("valid").into_iter();
        let base = built_in.find(|subject| subject.id() == id);
        let mut base = base.expect("it is built in");
        let chosen = settings(&mut base);
        in_full(&mut base, front.parent().expect("subjects"));
        let mut front_settings = std::collections::BTreeSet::new();
        for file in std::fs::read_dir(&front).expect("a folder") {
            let mut one = Subject::from_file(&file.expect("a file").path()).expect("valid");
            let id = one.id();
            front_settings.insert(settings(&mut one));
            in_full(&mut one, &front);
            assert_eq!(one.build, base.build, "{id}");
            assert_eq!(one.run.env, base.run.env, "{id}");
            assert_eq!(one.run.command, base.run.command, "{id}");
            assert_eq!(one.run.args, base.run.args, "{id}");
        }
        assert_eq!(front_settings.len(), 6, "{front_settings:?}");
        assert!(front_settings.contains(&chosen), "{id}: {chosen:?}");
    }
}

/// With the folder of its sources as it is, and not as it is seen from the file.
fn in_full(subject: &mut Subject, from: &Path) {
    let go = subject.build.as_mut().and_then(|build| build.go.as_mut());
    let go = go.expect("a Go program");
    go.folder = from.join(&go.folder).canonicalize().expect("there");
}

#[test]
fn a_subject_built_for_speed_differs_from_its_own_in_the_build_alone() {
    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("subjects/speed");
    let built_in = built_in().expect("valid");
    let mut seen = Vec::new();
    for file in std::fs::read_dir(&folder).expect("a folder") {
        let fast = Subject::from_file(&file.expect("a file").path()).expect("valid");
        let id = fast.id();
        let of = id.trim_end_matches("-opt-3").trim_end_matches("-pgo");
        let own = built_in.iter().find(|subject| subject.id() == of);
        let own = own.unwrap_or_else(|| panic!("{id}: {of} is not built in"));
        assert_ne!(fast.build, own.build, "{id}");
        assert_eq!(fast.run.args, own.run.args, "{id}");
        assert_eq!(fast.run.env, own.run.env, "{id}");
        seen.push(id);
    }
    assert_eq!(seen.len(), 3, "{seen:?}");
}

/// Takes what sets Go's runtime out of a subject.
fn settings(subject: &mut Subject) -> [Option<String>; 3] {
    ["GOGC", "GOMEMLIMIT", "GOMAXPROCS"].map(|name| subject.run.env.remove(name))
}

#[test]
fn a_bench_that_names_no_subject_takes_those_that_are_so_by_default() {
    let ids = |names: Option<&[String]>, on_real_servers| -> Vec<String> {
        let chosen = select(names, &[], on_real_servers).expect("known");
        chosen.iter().map(Subject::id).collect()
    };
    assert_eq!(ids(None, false), ["tare/none", "kube-rs/stock"]);
    assert_eq!(
        ids(None, true),
        [
            "tare/none",
            "kube-rs/stock",
            "kube-rs/predicate",
            "kube-rs/tuned",
            "controller-runtime/vanilla",
            "controller-runtime/tuned",
            "controller-runtime/storeless-tuned"
        ]
    );
    assert_eq!(ids(Some(&["tare/pruned".into()]), false), ["tare/pruned"]);
}

#[test]
fn bad_files_are_refused_with_the_place() {
    struct Case {
        name: &'static str,
        text: String,
        want: &'static str,
    }
    let cases = [
        Case {
            name: "unknown key",
            text: LEAST.replace("variant", "varient"),
            want: "f.toml:2: unknown field `varient`",
        },
        Case {
            name: "unknown key in a table",
            text: format!("{LEAST}cmd = 3\n"),
            want: "f.toml:6: unknown field `cmd`",
        },
        Case {
            name: "not TOML",
            text: "name = ".into(),
            want: "f.toml:1: ",
        },
        Case {
            name: "missing key",
            text: "name = \"a\"\n".into(),
            want: "missing field",
        },
        Case {
            name: "placeholder",
            text: LEAST.replace("./op", "{home}/op"),
            want: "known: {admin} {port} {second_port} {kubeconfig} {dir} {bin} {folder}",
        },
        Case {
            name: "slash in the name",
            text: LEAST.replace("mine", "a/b"),
            want: "f.toml: name \"a/b\"",
        },
        Case {
            name: "empty build",
            text: format!("{LEAST}[build]\n"),
            want: "one of cargo_packages, go, go_module and command",
        },
        Case {
            name: "version of a Go program",
            text: format!(
                "{LEAST}[build.go_module]\nmodule = \"example.com/op\"\nversion = \"latest\"\n"
            ),
            want: "[build.go_module] \"latest\": name one version, such as v1.2.3",
        },
        Case {
            name: "folder of a Go module",
            text: format!(
                "{LEAST}[build.go_module]\nmodule = \"example.com/op\"\nversion = \"v1.2.3\"\npackage = \"./../x\"\n"
            ),
            want: "[build.go_module] package \"./../x\": write the folder of a main package, such as ./cmd/operator",
        },
        Case {
            name: "go_install, as it was called",
            text: format!(
                "{LEAST}[build.go_install]\npackage = \"example.com/op\"\nversion = \"v1.2.3\"\n"
            ),
            want: "unknown field `go_install`, expected one of ",
        },
        Case {
            name: "program of a folder",
            text: format!("{LEAST}[build.go]\nfolder = \"wrapper\"\noutput = \"../op\"\n"),
            want: "[build.go] output \"../op\": write the name of a file",
        },
        Case {
            name: "package of a folder",
            text: format!(
                "{LEAST}[build.go]\nfolder = \"wrapper\"\noutput = \"op\"\npackage = \"cmd\"\n"
            ),
            want: "[build.go] package \"cmd\": write the folder of a main package, such as ./cmd/operator",
        },
        Case {
            name: "two builds",
            text: format!(
                "{LEAST}[build]\ncommand = [\"make\"]\n[build.go_module]\nmodule = \"example.com/op\"\nversion = \"v1.2.3\"\npackage = \"./op\"\n"
            ),
            want: "give one of",
        },
        Case {
            name: "no CEL",
            text: format!("{LEAST}[convergence]\nready = \"self.status =\"\n"),
            want: "[convergence] \"self.status =\" is not CEL",
        },
        Case {
            name: "pointer elsewhere",
            text: format!("{LEAST}[convergence]\nobserved_generation = \"/spec/x\"\n"),
            want: "only pointers into /status/",
        },
    ];
    for case in cases {
        let error = Subject::parse("f.toml", &case.text)
            .expect_err(case.name)
            .to_string();
        assert!(error.contains(case.want), "{}: {error}", case.name);
        assert!(!error.contains('\n'), "{}: {error}", case.name);
    }
}

#[test]
fn a_file_is_meant_where_one_of_its_name_comes_with_loadgen() {
    let folder = TempDir::create(&std::env::temp_dir(), "loadgen-subjects").expect("a folder");
    let file = folder.path().join("none.toml");
    let text = LEAST
        .replace("\"mine\"", "\"tare\"")
        .replace("\"x\"", "\"none\"");
    std::fs::write(&file, text).expect("written");
    let name = ["tare/none".to_owned()];
    let chosen = select(Some(&name), std::slice::from_ref(&file), false).expect("known");
    assert_eq!(chosen.len(), 1);
    assert_eq!(chosen[0].run.command, "./op");
    let error = select(Some(&name), &[file.clone(), file], false).expect_err("given twice");
    assert!(error.to_string().contains("is given twice"), "{error}");
}

#[test]
fn an_unknown_name_lists_the_known_ones() {
    let error = select(Some(&["tare/nome".into()]), &[], false)
        .expect_err("unknown")
        .to_string();
    assert!(
        error.contains("tare/none, tare/metadata, tare/pruned"),
        "{error}"
    );
    assert_eq!(
        select(Some(&["kube-rs/stock".into()]), &[], false)
            .expect("known")
            .len(),
        1
    );
    assert!(matches!(
        select(Some(&[]), &[], false),
        Err(Error::Nothing(_))
    ));
}

#[test]
fn fixtures_of_every_built_in_subject_can_be_read() {
    let subjects = built_in().expect("valid");
    let fixtures = subjects.iter().map(|subject| {
        let read = subject.read_fixtures();
        read.unwrap_or_else(|error| panic!("{}: {error}", subject.id()))
            .len()
    });
    assert!(fixtures.sum::<usize>() > 0);
}

#[test]
fn a_folder_without_a_module_is_one_line_with_the_way_out() {
    let temp = TempDir::create(&std::env::temp_dir(), "loadgen-wrapper").expect("a folder");
    let file = temp.path().join("subject.toml");
    let text = format!("{LEAST}[build.go]\nfolder = \"wrapper\"\noutput = \"my-operator\"\n");
    std::fs::write(&file, text).expect("writable");
    let error = Subject::from_file(&file)
        .expect_err("no module")
        .to_string();
    assert!(
        error.contains("subject.toml: [build.go] folder "),
        "{error}"
    );
    assert!(
        error.contains("it has no go.mod; make one there with: go mod init"),
        "{error}"
    );
    std::fs::create_dir(temp.path().join("wrapper")).expect("a folder");
    std::fs::write(temp.path().join("wrapper/go.mod"), "module wrapper\n").expect("writable");
    assert!(Subject::from_file(&file).is_ok());
}
