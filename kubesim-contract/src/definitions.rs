//! CustomResourceDefinitions with several versions, and patterns in their schemas.

use serde_json::{Value, json};

use crate::expect::{Check, Expect, Failure, blames, equal, eventually, field, holds, mentions};
use crate::fixture::has_condition;
use crate::rest::{Collection, Patch};
use crate::{Context, theme};

theme! { "definitions":
    a_definition_whose_first_version_is_not_served_is_established,
    served_versions_show_the_same_objects,
    a_version_knows_its_own_fields,
    a_watch_shows_the_version_that_is_asked_for,
    a_group_names_its_versions_by_priority,
    a_definition_has_one_storage_version,
    patterns_match_by_the_rules_of_re2,
    patterns_that_re2_does_not_have_are_refused,
}

/// A definition in a group of the case's own.
struct Gauges<'a> {
    context: &'a Context,
    group: String,
}

impl<'a> Gauges<'a> {
    /// Installs it, and waits until the version is served.
    async fn install(
        context: &'a Context,
        versions: Value,
        served: &str,
    ) -> Result<Gauges<'a>, Failure> {
        let gauges = Gauges::of(context);
        let created = gauges
            .definitions()
            .create(gauges.definition(versions))
            .await;
        created.succeeds("creating the definition")?;
        let name = gauges.name();
        let definitions = gauges.definitions();
        eventually("the definition is established", || async {
            let read = definitions
                .get(&name)
                .await
                .succeeds("reading the definition")?;
            Ok(has_condition(&read, "Established"))
        })
        .await?;
        let version = gauges.version(served);
        let is_served = || async { Ok(version.list("limit=1").await.is_ok()) };
        eventually("the version is served", is_served).await?;
        Ok(gauges)
    }

    fn of(context: &'a Context) -> Gauges<'a> {
        let group = format!("{}.tare.dev", context.namespace);
        Gauges { context, group }
    }

    fn name(&self) -> String {
        format!("gauges.{}", self.group)
    }

    fn definitions(&self) -> Collection {
        self.context
            .at("/apis/apiextensions.k8s.io/v1/customresourcedefinitions")
    }

    fn definition(&self, versions: Value) -> Value {
        json!({
            "apiVersion": "apiextensions.k8s.io/v1",
            "kind": "CustomResourceDefinition",
            "metadata": { "name": self.name() },
            "spec": {
                "group": self.group, "scope": "Namespaced", "versions": versions,
                "names": { "plural": "gauges", "kind": "Gauge" },
            },
        })
    }

    fn version(&self, version: &str) -> Collection {
        self.context
            .kind(&format!("apis/{}/{version}", self.group), "gauges")
    }

    fn api_version(&self, version: &str) -> Value {
        format!("{}/{version}", self.group).into()
    }

    fn gauge(&self, version: &str, spec: Value) -> Value {
        json!({
            "apiVersion": self.api_version(version), "kind": "Gauge",
            "metadata": { "name": "a" }, "spec": spec,
        })
    }

    async fn remove(self) -> Check {
        let removed = self.definitions().delete(&self.name()).await;
        removed.succeeds("deleting the definition").map(|_| ())
    }
}

fn version(name: &str, fields: Value) -> Value {
    let spec = json!({ "type": "object", "properties": fields });
    let schema = json!({ "type": "object", "properties": { "spec": spec } });
    json!({
        "name": name, "served": true, "storage": false, "schema": { "openAPIV3Schema": schema },
        "subresources": { "status": {} },
    })
}

fn stored(mut version: Value) -> Value {
    version["storage"] = true.into();
    version
}

fn size() -> Value {
    json!({ "size": { "type": "integer" } })
}

/// An old version that is not served, one in which objects are stored, and a new one with another field.
fn three() -> Value {
    let mut first = version("v1alpha1", size());
    first["served"] = false.into();
    let mut second = size();
    second["both"] = json!({ "type": "string", "default": "one" });
    let mut third = size();
    third["limit"] = json!({ "type": "integer", "maximum": 3 });
    json!([first, stored(version("v1", second)), version("v2", third)])
}

async fn a_definition_whose_first_version_is_not_served_is_established(context: Context) -> Check {
    let gauges = Gauges::install(&context, three(), "v1").await?;
    let read = gauges.definitions().get(&gauges.name()).await;
    let read = read.succeeds("reading the definition")?;
    field(&read, "/status/storedVersions", json!(["v1"]))?;
    for (version, is_served) in [("v1alpha1", false), ("v1", true), ("v2", true)] {
        let list = gauges.version(version).list("limit=1").await;
        holds(list.is_ok() == is_served, version, list.is_ok())?;
    }
    gauges.remove().await
}

async fn served_versions_show_the_same_objects(context: Context) -> Check {
    let gauges = Gauges::install(&context, three(), "v1").await?;
    let (v1, v2) = (gauges.version("v1"), gauges.version("v2"));
    let sent = gauges.gauge("v2", json!({ "size": 1 }));
    let created = v2.create(sent).await.succeeds("creating in v2")?;
    field(&created, "/apiVersion", gauges.api_version("v2"))?;
    let read = v1.get("a").await.succeeds("reading in v1")?;
    field(&read, "/apiVersion", gauges.api_version("v1"))?;
    equal(
        "the uid",
        &read["metadata"]["uid"],
        &created["metadata"]["uid"],
    )?;
    let managed = &read["metadata"]["managedFields"][0]["apiVersion"];
    equal(
        "the version of its manager",
        managed,
        &gauges.api_version("v2"),
    )?;
    let change = json!({ "spec": { "size": 2 } });
    let patched = v1.patch("a", Patch::Merge, change).await;
    field(
        &patched.succeeds("patching in v1")?,
        "/metadata/generation",
        2,
    )?;
    let list = v2.list("").await.succeeds("listing in v2")?;
    field(&list, "/apiVersion", gauges.api_version("v2"))?;
    field(&list, "/items/0/apiVersion", gauges.api_version("v2"))?;
    field(&list, "/items/0/spec/size", 2)?;
    let other = gauges.gauge("v1", json!({}));
    let refused = v2.create(other).await;
    refused.refused(400, "BadRequest", "creating another version")?;
    let deleted = v2.delete("a").await;
    deleted.succeeds("deleting in v2")?;
    holds(!v1.exists("a").await?, "it is gone from v1", "it is there")?;
    gauges.remove().await
}

/// Fields that a version does not know are pruned; defaults are those of the version that is stored.
async fn a_version_knows_its_own_fields(context: Context) -> Check {
    let gauges = Gauges::install(&context, three(), "v1").await?;
    let (v1, v2) = (gauges.version("v1"), gauges.version("v2"));
    let too_large = gauges.gauge("v2", json!({ "limit": 4 }));
    let refused = v2.create(too_large).await;
    blames(
        &refused.refused(422, "Invalid", "a limit of 4")?,
        "spec.limit",
    )?;
    let sent = gauges.gauge("v1", json!({ "size": 1, "limit": 4 }));
    let created = v1.create(sent).await.succeeds("creating in v1")?;
    field(&created, "/spec", json!({ "size": 1, "both": "one" }))?;
    let read = v2.get("a").await.succeeds("reading in v2")?;
    field(&read, "/spec", json!({ "size": 1 }))?;
    gauges.remove().await
}

async fn a_watch_shows_the_version_that_is_asked_for(context: Context) -> Check {
    let gauges = Gauges::install(&context, three(), "v1").await?;
    let v2 = gauges.version("v2");
    let is_served = || async { Ok(v2.list("limit=1").await.is_ok()) };
    eventually("v2 is served", is_served).await?;
    let mut watch = v2.watch("").await.succeeds("watching")?;
    let v1 = gauges.version("v1");
    let created = v1.create(gauges.gauge("v1", json!({ "size": 1 }))).await;
    created.succeeds("creating in v1")?;
    let added = watch.expect("ADDED", "a").await?;
    field(&added, "/apiVersion", gauges.api_version("v2"))?;
    field(&added, "/spec", json!({ "size": 1 }))?;
    v1.delete("a").await.succeeds("deleting in v1")?;
    let deleted = watch.expect("DELETED", "a").await?;
    field(&deleted, "/apiVersion", gauges.api_version("v2"))?;
    gauges.remove().await
}

async fn a_group_names_its_versions_by_priority(context: Context) -> Check {
    let gauges = Gauges::install(&context, three(), "v1").await?;
    let group = context.at(&format!("/apis/{}", gauges.group));
    let named =
        |version: &str| json!({ "groupVersion": gauges.api_version(version), "version": version });
    let want = json!([named("v2"), named("v1")]);
    eventually("the group has its versions", || async {
        let read = group.list("").await;
        Ok(read.is_ok_and(|read| read["versions"] == want && read["preferredVersion"] == want[0]))
    })
    .await?;
    gauges.remove().await
}

async fn a_definition_has_one_storage_version(context: Context) -> Check {
    let gauges = Gauges::of(&context);
    let one = || version("v1", size());
    for versions in [
        json!([one()]),
        json!([stored(one()), stored(version("v2", size()))]),
        json!([stored(one()), one()]),
    ] {
        let definition = gauges.definition(versions);
        let refused = gauges
            .definitions()
            .create_with("dryRun=All", definition)
            .await;
        blames(
            &refused.refused(422, "Invalid", "creating")?,
            "spec.versions",
        )?;
    }
    let mut none = stored(one());
    none["served"] = false.into();
    let definition = gauges.definition(json!([none]));
    let created = gauges
        .definitions()
        .create_with("dryRun=All", definition)
        .await;
    created
        .succeeds("creating one without a served version")
        .map(|_| ())
}

/// Pattern, texts that match, texts that do not.
const PATTERNS: [(&str, &[&str], &[&str]); 14] = [
    (r"^\w{0,253}$", &["", "a_9"], &["é", "a-b"]),
    (r"^\d+$", &["019"], &["٣", ""]),
    (r"^\s$", &[" ", "\t"], &["\u{a0}", "\u{b}"]),
    (r"^\W$", &["é", "-"], &["a"]),
    (r"^[^\d]$", &["٣", "a"], &["1"]),
    (r"\bx\b", &["x", "éxé"], &["axa"]),
    (r"^.{3}$", &["äöü"], &["ab", "a\nb"]),
    (r"(?m)^b$", &["a\nb"], &["a\nbc"]),
    (r"^a$", &["a"], &["a\n"]),
    (r"^a{,3}$", &["a{,3}"], &["aaa"]),
    (r"^[a&&b[]$", &["a", "&", "["], &["c"]),
    (r"^\Qa.b\E\<\_$", &["a.b<_"], &["axb<_"]),
    (r"^\p{^Greek}\x{41}\101$", &["aAA"], &["αAA"]),
    (r"^(?:a{50}){20}$", &[], &["a"]),
];

async fn patterns_match_by_the_rules_of_re2(context: Context) -> Check {
    let fields: Value = PATTERNS
        .iter()
        .enumerate()
        .map(|(i, (pattern, ..))| {
            (
                format!("f{i}"),
                json!({ "type": "string", "pattern": pattern }),
            )
        })
        .collect::<serde_json::Map<_, _>>()
        .into();
    let versions = json!([stored(version("v1", fields))]);
    let gauges = Gauges::install(&context, versions, "v1").await?;
    let v1 = gauges.version("v1");
    for (i, (pattern, matching, others)) in PATTERNS.iter().enumerate() {
        let name = format!("f{i}");
        for (text, matches) in matching
            .iter()
            .map(|text| (text, true))
            .chain(others.iter().map(|text| (text, false)))
        {
            let mut spec = json!({});
            spec[name.as_str()] = (*text).into();
            let created = v1.create_with("dryRun=All", gauges.gauge("v1", spec)).await;
            let what = format!("{pattern} on {text:?}");
            if matches {
                created.succeeds(&what)?;
            } else {
                let status = created.refused(422, "Invalid", &what)?;
                blames(&status, &format!("spec.{name}"))?;
                let told = format!("spec.{name} in body should match '{pattern}'");
                mentions("the message", &status.message, &told)?;
            }
        }
    }
    gauges.remove().await
}

async fn patterns_that_re2_does_not_have_are_refused(context: Context) -> Check {
    let gauges = Gauges::of(&context);
    for (pattern, why) in [
        ("^a{1001}$", "invalid repeat count: `{1001}`"),
        ("^(a{100}){11}$", "invalid repeat count: `{11}`"),
        ("^(?=a)a$", "invalid or unsupported Perl syntax: `(?=`"),
        ("^(?!a)b$", "invalid or unsupported Perl syntax: `(?!`"),
        ("(?x)a b", "invalid or unsupported Perl syntax: `(?x`"),
        ("^a**$", "invalid nested repetition operator: `**`"),
        ("*a", "missing argument to repetition operator: `*`"),
        ("[b-a]", "invalid character class range: `b-a`"),
        (r"^\h$", r"invalid escape sequence: `\h`"),
        ("(", "missing closing ): `(`"),
        ("[a", "missing closing ]: `[a`"),
    ] {
        let fields = json!({ "a": { "type": "string", "pattern": pattern } });
        let versions = json!([stored(version("v1", fields))]);
        let definition = gauges.definition(versions);
        let refused = gauges
            .definitions()
            .create_with("dryRun=All", definition)
            .await;
        let status = refused.refused(422, "Invalid", pattern)?;
        mentions(
            pattern,
            &status.message,
            "must be a valid regular expression, but isn't",
        )?;
        mentions(pattern, &status.message, why)?;
    }
    Ok(())
}
