//! The values of the labels that name an owner.
//!
//! Guarantees: valid label values, the same in every version; two owners of one namespace do not share one.

use std::borrow::Cow;

use crate::model::hash::{hash32, hash64};
use crate::model::{ObjectKey, Uid};

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

/// The value of the label with the uid: sealed with a digest of the owner's key. The three labels are true together or not at
/// all, so that whoever changes one of them is found out by that one event.
pub(crate) fn sealed_uid(uid: Uid, key: &ObjectKey) -> String {
    format!("{uid}.{:08x}", hash32(key.as_str()))
}

/// The uid in such a value, whatever owner it is sealed for.
pub(crate) fn uid_in(sealed: &str) -> Option<Uid> {
    Uid::parse(sealed.split_once('.')?.0)
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
