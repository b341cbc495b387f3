//! References of images, as far as the pull policy depends on them.
//!
//! Follows `ParseNormalizedNamed` of distribution/reference v0.6.0: a text that is no reference has no tag.

use std::sync::LazyLock;

use regex::Regex;

/// Domain, path, tag, digest.
static REFERENCE: LazyLock<Option<Regex>> = LazyLock::new(|| {
    let label = "(?:[a-zA-Z0-9]|[a-zA-Z0-9][a-zA-Z0-9-]*[a-zA-Z0-9])";
    let domain = format!("(?:{label}(?:\\.{label})*|\\[[a-fA-F0-9:]+\\])(?::[0-9]+)?");
    let component = "[a-z0-9]+(?:(?:[._]|__|-+)[a-z0-9]+)*";
    let path = format!("{component}(?:/{component})*");
    let tag = "[0-9A-Za-z_][0-9A-Za-z_.-]{0,127}";
    let digest = "[A-Za-z][A-Za-z0-9]*(?:[-_+.][A-Za-z][A-Za-z0-9]*)*:[0-9a-fA-F]{32,}";
    Regex::new(&format!(
        "^(?:{domain}/)?{path}(?::({tag}))?(?:@({digest}))?$"
    ))
    .ok()
});

/// Longer names are refused.
const NAME_BYTES: usize = 255;
const DIGEST_CHARS: usize = 64;

/// Whether the image is pulled each time unless something else is asked for: without a tag and a digest, it is that
/// of the tag `latest`.
pub(crate) fn is_latest(image: &str) -> bool {
    let Some(parts) = REFERENCE
        .as_ref()
        .and_then(|reference| reference.captures(image))
    else {
        return false;
    };
    let is_identifier = image.len() == DIGEST_CHARS && image.bytes().all(|b| b.is_ascii_hexdigit());
    let tag = parts.get(1);
    let name = &image[..tag
        .or(parts.get(2))
        .map_or(image.len(), |end| end.start() - 1)];
    match (tag, parts.get(2)) {
        _ if is_identifier || name.len() > NAME_BYTES => false,
        (Some(tag), _) => tag.as_str() == "latest",
        (None, digest) => digest.is_none(),
    }
}

#[cfg(test)]
mod tests {
    use super::is_latest;

    #[test]
    fn images_by_table() {
        let digest = "sha256:0123456789abcdef0123456789abcdef0123456789abcdef0123456789abcdef";
        for (image, want) in [
            ("web", true),
            ("web:latest", true),
            ("web:1.4", false),
            ("localhost:5000/web", true),
            ("localhost:5000/web:1", false),
            ("registry.local/a/b_c/d-e:latest", true),
            ("</script>", false),
            ("Web", false),
            ("a b", false),
            ("", false),
            (&format!("web@{digest}"), false),
            (&format!("web:latest@{digest}"), true),
            (&digest[7..], false),
        ] {
            assert_eq!(is_latest(image), want, "{image}");
        }
    }
}
