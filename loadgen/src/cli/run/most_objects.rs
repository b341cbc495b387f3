//! How many objects a run would create, and the bound that its user sets.
//!
//! Guarantees: pure; what a step creates anew counts once. Leaves to others: what operators create.

use crate::error::Usage;
use crate::report::table::grouped;
use crate::spec::bystanders::Bystanders;
use crate::spec::step::Step;
use crate::spec::workload::Workload;

/// What a run would create, of all shards; namespaces that it makes for itself are not among them.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Objects {
    /// Those of `--count`.
    pub offered: usize,
    /// Objects that do not concern the operator.
    pub bystanders: usize,
    pub fixtures: usize,
}

impl Objects {
    pub fn of(workload: &Workload, count: usize) -> Self {
        Self {
            offered: count,
            bystanders: bystanders(&workload.steps),
            fixtures: workload.fixtures.len(),
        }
    }

    pub fn all(self) -> usize {
        self.offered + self.bystanders + self.fixtures
    }

    /// # Errors
    /// `Usage`: they are more than that.
    pub fn check(self, most: Option<usize>) -> Result<(), Usage> {
        match most {
            Some(most) if self.all() > most => Err(Usage(format!(
                "{self} are more than --max-objects {most}; lower --count, or raise --max-objects to {}",
                self.all()
            ))),
            _ => Ok(()),
        }
    }
}

impl std::fmt::Display for Objects {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(
            f,
            "{} objects (--count {}, bystanders of steps {}, fixtures {})",
            grouped(self.all()),
            self.offered,
            self.bystanders,
            self.fixtures
        )
    }
}

/// A later step adds those of a kind that are not there.
fn bystanders(steps: &[Step]) -> usize {
    let mut most: Vec<Bystanders> = Vec::new();
    for one in steps.iter().flat_map(Step::bystanders) {
        match most.iter_mut().find(|known| known.kind == one.kind) {
            Some(known) => known.objects = known.objects.max(one.objects),
            None => most.push(one),
        }
    }
    most.iter().map(|kind| kind.objects).sum()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn step(objects: &str) -> Step {
        Step::Bystanders {
            objects: objects.into(),
            changes: 0,
            per_s: None,
        }
    }

    #[test]
    fn bystanders_of_a_kind_that_are_there_are_not_created_again() {
        let steps = [
            step("secrets=100,configmaps=5"),
            Step::Idle { seconds: 1 },
            step("secrets=300"),
            step("secrets=200"),
        ];
        assert_eq!(bystanders(&steps), 305);
        assert_eq!(bystanders(&[]), 0);
    }

    #[test]
    fn more_objects_than_the_bound_are_refused_with_the_way_out() {
        let objects = Objects {
            offered: 1_000,
            bystanders: 300,
            fixtures: 2,
        };
        for most in [None, Some(1_302), Some(5_000)] {
            assert!(objects.check(most).is_ok(), "{most:?}");
        }
        let refused = objects.check(Some(1_301)).expect_err("one too many");
        assert_eq!(
            refused.to_string(),
            "1,302 objects (--count 1000, bystanders of steps 300, fixtures 2) are more than --max-objects 1301; lower --count, or raise --max-objects to 1302"
        );
    }
}
