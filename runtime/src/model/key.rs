//! The key of an object: its namespace and its name.

use std::cmp::Ordering;
use std::fmt;
use std::sync::Arc;

/// `namespace/name`. Clones share the text.
#[derive(Clone, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct ObjectKey(Arc<str>);

impl ObjectKey {
    /// The key of `name` in `namespace`.
    pub fn new(namespace: &str, name: &str) -> Self {
        let mut text = String::with_capacity(namespace.len() + 1 + name.len());
        text.push_str(namespace);
        text.push('/');
        text.push_str(name);
        Self(text.into())
    }

    /// The namespace.
    pub fn namespace(&self) -> &str {
        self.parts().0
    }

    /// The name.
    pub fn name(&self) -> &str {
        self.parts().1
    }

    /// `namespace/name`.
    pub fn as_str(&self) -> &str {
        &self.0
    }

    /// How `namespace/name` compares with this key in byte order, which is the order of the server's
    /// lists.
    pub fn cmp_to(namespace: &str, name: &str, key: &Self) -> Ordering {
        let bytes = namespace.bytes().chain([b'/']).chain(name.bytes());
        bytes.cmp(key.0.bytes())
    }

    /// Namespace and name.
    pub fn parts(&self) -> (&str, &str) {
        // A namespace holds no slash: it is a DNS label.
        self.0.split_once('/').unwrap_or(("", &self.0))
    }
}

/// From `namespace/name`.
impl From<&str> for ObjectKey {
    fn from(text: &str) -> Self {
        Self(text.into())
    }
}

/// `namespace/name`, or the name alone where there is no namespace.
impl fmt::Display for ObjectKey {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.0.trim_start_matches('/'))
    }
}

impl fmt::Debug for ObjectKey {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.0)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_key_has_its_parts_and_sorts_as_lists_do() {
        let key = ObjectKey::new("shop", "web");
        assert_eq!((key.namespace(), key.name()), ("shop", "web"));
        assert!(key.parts() == ("shop", "web") && key.parts() != ("shop", "we"));
        // `-` sorts before `/`.
        assert_eq!(ObjectKey::cmp_to("shop-a", "web", &key), Ordering::Less);
        assert_eq!(ObjectKey::cmp_to("shop", "web", &key), Ordering::Equal);
        assert_eq!(ObjectKey::cmp_to("shop", "web-a", &key), Ordering::Greater);
    }
}
