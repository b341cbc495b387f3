//! The kind of the objects, and their names, as a `workload.toml` says them.
//!
//! Guarantees: pure; a name that is too long for a child is refused here. Leaves to others: whether a server
//! serves the kind.

use crate::spec::shard::Shard;
use crate::spec::workload::file::format::ObjectFile;
use crate::spec::workload::{Error, Resource, Source, group_and_version};

/// # Errors
/// The first field that no server would take.
pub fn of(source: &Source, object: &ObjectFile, namespace: &str) -> Result<Resource, Error> {
    let wrong = |field: &str, value: &str, rule: &str| {
        Err(source.error(&format!("object.{field}"), format!("{value:?}: {rule}")))
    };
    let (group, version) = group_and_version(&object.api_version);
    let plain = |c: char| c.is_ascii_lowercase() || c.is_ascii_digit();
    let is_version = version.starts_with('v') && version.chars().all(plain);
    let is_group = group.chars().all(|c| plain(c) || "-.".contains(c));
    let has_group = !group.is_empty() || !object.api_version.contains('/');
    if !is_version || !is_group || !has_group {
        let rule = "write it as group/version, such as example.com/v1, or v1 for the core group";
        return wrong("api_version", &object.api_version, rule);
    }
    if !object.kind.starts_with(|c: char| c.is_ascii_uppercase())
        || !object.kind.chars().all(|c| c.is_ascii_alphanumeric())
    {
        return wrong(
            "kind",
            &object.kind,
            "write it as in a manifest, such as ConfigMap",
        );
    }
    if object.plural.is_empty() || !object.plural.chars().all(plain) {
        let rule = "write it as in the path of the API, such as configmaps";
        return wrong("plural", &object.plural, rule);
    }
    // What follows a name is the run and the index, 15 characters: many kinds allow 63 in all, and
    // children get longer ones.
    for (field, value, most) in [
        ("name", object.name.as_str(), 30),
        ("namespace", namespace, 63),
    ] {
        let inside = value.chars().all(|c| plain(c) || c == '-');
        let ends = value.starts_with(plain) && value.ends_with(plain);
        if value.len() > most || !inside || !ends {
            let rule = format!("use 1 to {most} of a-z, 0-9 and, inside, '-'");
            return wrong(field, value, &rule);
        }
    }
    if object
        .namespace
        .as_deref()
        .is_some_and(|own| own != namespace)
    {
        let rule =
            format!("the objects of a workload are in one namespace, {namespace}; leave it out");
        return wrong(
            "namespace",
            object.namespace.as_deref().unwrap_or_default(),
            &rule,
        );
    }
    Ok(Resource {
        group: group.to_owned(),
        version: version.to_owned(),
        kind: object.kind.clone(),
        plural: object.plural.clone(),
        namespace: namespace.to_owned(),
        run: None,
        prefix: object.name.clone(),
        namespaced: object.namespaced,
        shard: Shard::default(),
    })
}
