//! Lists whose items are told apart: by keys, or by their value.
//!
//! Guarantees: pure. Our items have the order of the plan; the items of others keep their place between them.
//! Leaves to others: what becomes of one item (`merge`).

use serde_json::Value;

use crate::reconcile::fields::merge::{At, Basis, Merge, Others};
use crate::reconcile::fields::patch::without_nulls;
use crate::reconcile::fields::set::Set;

impl Merge<'_> {
    /// `None`: the plan does not tell its items apart by these keys.
    pub(super) fn keyed(
        &mut self,
        names: &[String],
        plan: &[Value],
        found: &[Value],
        at: At<'_>,
    ) -> Option<Vec<Value>> {
        let claims = claims(names, plan, found, at.ours)?;
        let mut merged = Vec::with_capacity(plan.len());
        for (index, (planned, claim)) in plan.iter().zip(&claims).enumerate() {
            let item = self.descend(&index.to_string(), |merge| match *claim {
                Some(place) => {
                    let item = &found[place];
                    merge.value(planned, Some(item), at.item(item))
                }
                None => merge.missing_item(planned, at),
            });
            merged.push(item);
        }
        Some(self.arrange(merged, &claims, found, at))
    }

    pub(super) fn set(&mut self, plan: &[Value], found: &[Value], at: At<'_>) -> Vec<Value> {
        let place = |planned: &Value| found.iter().position(|item| item == planned);
        let claims: Vec<Option<usize>> = plan.iter().map(place).collect();
        let mut merged = Vec::with_capacity(plan.len());
        for (index, (planned, claim)) in plan.iter().zip(&claims).enumerate() {
            let kept = claim.is_some() || self.keeps(at.item(planned));
            if !kept {
                self.descend(&index.to_string(), Merge::differs);
            }
            merged.push((claim.is_some() || !kept).then(|| planned.clone()));
        }
        self.arrange(merged, &claims, found, at)
    }

    fn missing_item(&mut self, planned: &Value, at: At<'_>) -> Option<Value> {
        let ours = at.ours.and_then(|set| set.item(planned, true));
        if matches!(self.basis, Basis::This { .. }) && ours.is_some_and(Set::is_own) {
            return None;
        }
        self.differs();
        Some(without_nulls(planned))
    }

    /// The planned items, `merged`, in the places that `claims` has of them, in the order of the plan; what is left of
    /// the others between them; what is new after the planned item before it.
    fn arrange(
        &mut self,
        merged: Vec<Option<Value>>,
        claims: &[Option<usize>],
        found: &[Value],
        at: At<'_>,
    ) -> Vec<Value> {
        let is_new =
            |(item, claim): (&Option<Value>, &Option<usize>)| item.is_some() && claim.is_none();
        let is_missing = merged.iter().zip(claims).any(is_new);
        let yields = is_missing && self.others == Others::Yield;
        let mut planned = merged.into_iter().zip(claims).peekable();
        let mut list = Vec::with_capacity(found.len());
        for (place, item) in found.iter().enumerate() {
            if !claims.contains(&Some(place)) {
                let left = if yields {
                    None
                } else {
                    self.left_item(item, at)
                };
                list.extend(left);
                continue;
            }
            // The next planned item that has a place, and what is new before it.
            for (item, claim) in planned.by_ref() {
                list.extend(item);
                if claim.is_some() {
                    break;
                }
            }
            while let Some((item, _)) = planned.next_if(|(_, claim)| claim.is_none()) {
                list.extend(item);
            }
        }
        list.extend(planned.filter_map(|(item, _)| item));
        if list != found {
            self.differs();
        }
        list
    }
}

/// The place of each planned item. One that lacks a key, which the server fills in, is the one of ours that has the
/// others. `None`: two planned items have the same keys, or one has none.
fn claims(
    names: &[String],
    plan: &[Value],
    found: &[Value],
    ours: Option<&Set<'_>>,
) -> Option<Vec<Option<usize>>> {
    let keys = |item: &Value| -> Vec<Option<Value>> {
        names.iter().map(|name| item.get(name).cloned()).collect()
    };
    let planned: Vec<Vec<Option<Value>>> = plan.iter().map(keys).collect();
    for (index, item) in planned.iter().enumerate() {
        if item.iter().all(Option::is_none) || planned[..index].contains(item) {
            return None;
        }
    }
    let present: Vec<Vec<Option<Value>>> = found.iter().map(keys).collect();
    let mut claims: Vec<Option<usize>> = planned
        .iter()
        .map(|item| present.iter().position(|other| other == item))
        .collect();
    for (index, item) in planned.iter().enumerate() {
        if claims[index].is_some() {
            continue;
        }
        let agrees = |other: &Vec<Option<Value>>| {
            let mut both = item.iter().zip(other);
            both.all(|(planned, found)| planned.is_none() || planned == found)
        };
        let mut places = 0..found.len();
        claims[index] = places.find(|place| {
            let is_ours = ours.is_some_and(|set| set.item(&found[*place], false).is_some());
            is_ours && agrees(&present[*place]) && !claims.contains(&Some(*place))
        });
    }
    Some(claims)
}
