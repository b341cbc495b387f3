//! Kubeconfigs that nobody wrote: any text, and files that were damaged.

use proptest::prelude::*;
use proptest::sample::Index;

use crate::http::client::kubeconfig::Kubeconfig;
use crate::http::client::yaml;

const SECRET: &str = "hunter2-is-the-secret";

fn file() -> String {
    format!(
        "apiVersion: v1\ncurrent-context: x\ncontexts:\n- name: x\n  context: {{cluster: c, user: u, namespace: shop}}\n\
         clusters:\n- name: c\n  cluster: {{server: \"https://127.0.0.1:6443\", insecure-skip-tls-verify: true}}\n\
         users:\n- name: u\n  user:\n    token: {SECRET}\n"
    )
}

/// Any text, deep nesting, and a file in which characters were changed, left out or put in.
fn hostile() -> impl Strategy<Value = String> {
    let change = (
        any::<Index>(),
        prop_oneof![
            Just(None),
            any::<char>().prop_map(Some),
            proptest::sample::select(vec![
                '\n', '\t', ' ', ':', '{', '}', '[', ']', '-', '"', '&', '*', '!', '|', '%', '#',
                '\0'
            ])
            .prop_map(Some)
        ],
    );
    let damaged = proptest::collection::vec(change, 1..5).prop_map(|changes| {
        let mut text: Vec<char> = file().chars().collect();
        for (at, change) in changes {
            let at = at.index(text.len());
            match change {
                None => drop(text.remove(at)),
                Some(other) => text[at] = other,
            }
        }
        text.into_iter().collect::<String>()
    });
    let deep = (
        1..3_000usize,
        prop_oneof![Just("["), Just("{a: "), Just("- "), Just("? ")],
    )
        .prop_map(|(depth, open)| open.repeat(depth));
    prop_oneof![6 => damaged, 2 => any::<String>(), 1 => "[ -~\n]{0,120}", 1 => deep]
}

proptest! {
    #[test]
    fn any_text_is_read_or_refused_without_its_secrets(text in hostile()) {
        if let Err(error) = yaml::parse(&text) {
            prop_assert!(error.to_string().starts_with("line "), "{error}");
        }
        let path = std::path::Path::new("/home/ada/.kube/config");
        let read = Kubeconfig::read(&text, path);
        let refused = match &read {
            Ok(kubeconfig) => kubeconfig.choose(None).err().map(|flaw| flaw.to_string()),
            Err(flaw) => Some(flaw.to_string()),
        };
        if let Some(refused) = refused {
            prop_assert!(!refused.is_empty());
            prop_assert!(!refused.contains(SECRET), "{refused}");
            prop_assert!(refused.len() < 1_000, "{} bytes", refused.len());
        }
    }
}
