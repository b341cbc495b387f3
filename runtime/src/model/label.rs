//! The value of the label that names an owner.
//!
//! Guarantees: a valid label value, the same in every version; two owners of one namespace do not share one.

use std::borrow::Cow;

use crate::model::hash::hash64;

/// The longest value of a label:
/// <https://kubernetes.io/docs/concepts/overview/working-with-objects/labels/#syntax-and-character-set>.
const LONGEST: usize = 63;

/// The value of a label for the owner `name`: its name, or, where a label cannot hold that (a name has up to 253
/// characters), the beginning of the name and a digest of all of it.
pub fn owner_label_value(name: &str) -> Cow<'_, str> {
    if name.len() <= LONGEST {
        return name.into();
    }
    let digest = format!("-{:016x}", hash64(name.as_bytes()));
    let beginning: String = name.chars().take(LONGEST - digest.len()).collect();
    (beginning + &digest).into()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_name_that_a_label_cannot_hold_is_shortened_and_stays_its_own() {
        let longest = "a".repeat(63);
        assert_eq!(owner_label_value(&longest), longest);
        let [one, other] = ["-one", "-other"].map(|end| "a.b-".repeat(50) + end);
        let [one, other] = [&one, &other].map(|name| owner_label_value(name));
        assert_eq!((one.len(), other.len()), (63, 63));
        assert_ne!(one, other);
        // Children of earlier versions are found by it: it must not change.
        let stored = format!("{}-db007849f35ebbe5", "a".repeat(46));
        assert_eq!(owner_label_value(&"a".repeat(64)), stored);
    }
}
