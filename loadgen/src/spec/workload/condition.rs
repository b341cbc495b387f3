//! A condition on an object, in CEL: `self` is the object, as in the rules of a CRD.
//!
//! Guarantees: what cannot hold is found when it is compiled: another variable than `self`, another result
//! than true or false. A field that is absent makes a condition false. Leaves to others: where the
//! object comes from.

use std::sync::Arc;

use cel::common::ast::{EntryExpr, Expr, IdedExpr};
use cel::{Context, Program};
use serde::{Serialize, Serializer};
use serde_json::{Value, json};

use crate::spec::subject::Convergence;

/// What an expression calls the object.
pub const OBJECT: &str = "self";

/// A compiled condition.
#[derive(Clone)]
pub struct Condition(Expression);

/// A compiled expression of some variables.
#[derive(Clone)]
pub struct Expression(Arc<Program>);

/// JSON whose whole numbers are `int` in CEL, as in the rules of a CRD. Those above 0 would be `uint`, which equals no
/// `int` and cannot be added to one.
struct Signed<'a>(&'a Value);

impl Serialize for Signed<'_> {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        match self.0 {
            Value::Array(items) => serializer.collect_seq(items.iter().map(Signed)),
            Value::Object(fields) => {
                let fields = fields.iter().map(|(name, value)| (name, Signed(value)));
                serializer.collect_map(fields)
            }
            Value::Number(number) => match number.as_i64() {
                Some(whole) => serializer.serialize_i64(whole),
                None => number.serialize(serializer),
            },
            other => other.serialize(serializer),
        }
    }
}

impl Expression {
    /// # Errors
    /// One line that says what is wrong with it.
    pub fn compile(source: &str, variables: &[&'static str]) -> Result<Self, String> {
        // The parser panics on some texts that are no CEL.
        let compiled = std::panic::catch_unwind(|| Program::compile(source));
        let no_cel = |why: &str| {
            format!(
                "{source:?} is not CEL: {why}; write one such as {OBJECT}.status.phase == 'Ready'"
            )
        };
        let program = match compiled {
            Ok(Ok(program)) => program,
            Ok(Err(errors)) => {
                let first = errors.errors.first();
                let place = first.map(|first| format!("column {}: {}", first.pos.1, first.msg));
                return Err(no_cel(&place.unwrap_or_default()));
            }
            Err(_) => return Err(no_cel("it cannot be parsed")),
        };
        let mut bound: Vec<&str> = variables.to_vec();
        if let Some(name) = unknown(program.expression(), &mut bound) {
            return Err(format!(
                "unknown variable `{name}`; the object is `{OBJECT}`, as in {OBJECT}.status.phase == 'Ready'"
            ));
        }
        Ok(Self(Arc::new(program)))
    }

    /// # Errors
    /// A field that is absent, or an operation that the values do not have.
    pub fn value(&self, variables: &[(&str, &Value)]) -> Result<cel::Value, cel::ExecutionError> {
        let mut context = Context::default();
        for (name, value) in variables {
            let value = cel::to_value(Signed(value))
                .map_err(|error| cel::ExecutionError::function_error("variable", error))?;
            context.add_variable_from_value(*name, value);
        }
        self.0.execute(&context)
    }
}

impl Condition {
    /// # Errors
    /// One line that says what is wrong with it.
    pub fn compile(source: &str) -> Result<Self, String> {
        let condition = Self(Expression::compile(source, &[OBJECT])?);
        condition.check(source)?;
        Ok(condition)
    }

    /// Tries it on an object that has a little of everything.
    fn check(&self, source: &str) -> Result<(), String> {
        let object = json!({
            "apiVersion": "v1", "kind": "Sample", "spec": {}, "data": {},
            "metadata": {"name": "sample", "namespace": "sample", "generation": 1, "labels": {}},
            "status": {"observedGeneration": 1, "conditions": [
                {"type": "Ready", "status": "True", "reason": "Sample", "observedGeneration": 1},
            ]},
        });
        match self.value(&object) {
            Ok(cel::Value::Bool(_)) => Ok(()),
            Ok(other) => Err(format!(
                "{source:?} gives a {}, not true or false; compare it, as in {OBJECT}.status.phase == 'Ready'",
                other.type_of()
            )),
            Err(cel::ExecutionError::UndeclaredReference(name)) => Err(format!(
                "{source:?}: there is no function `{name}`; use one of CEL, such as has, size or exists"
            )),
            // It asks for what this object does not have.
            Err(_) => Ok(()),
        }
    }

    /// The field that it is, where it compares nothing: its value has to be true or false.
    pub fn field(&self) -> Option<Vec<String>> {
        let mut path = Vec::new();
        let mut at = self.0.0.expression();
        while let Expr::Select(select) = &at.expr {
            if select.test {
                return None;
            }
            path.insert(0, select.field.clone());
            at = &select.operand;
        }
        (matches!(at.expr, Expr::Ident(_)) && !path.is_empty()).then_some(path)
    }

    /// Whether it holds for an object; one that it cannot be asked of does not fulfil it.
    pub fn holds(&self, object: &Value) -> bool {
        matches!(self.value(object), Ok(cel::Value::Bool(true)))
    }

    fn value(&self, object: &Value) -> Result<cel::Value, cel::ExecutionError> {
        self.0.value(&[(OBJECT, object)])
    }
}

/// How an object is read: by conditions where there are some, else by pointers into its status.
#[derive(Debug, Clone, Default)]
pub struct Reading {
    pub observed: Option<Condition>,
    pub ready: Option<Condition>,
}

impl Reading {
    /// # Errors
    /// A condition is no CEL.
    pub fn of(convergence: &Convergence) -> Result<Self, String> {
        let compiled = |source: &Option<String>| {
            let source = source.as_deref();
            source.map(Condition::compile).transpose()
        };
        Ok(Self {
            observed: compiled(&convergence.observed)?,
            ready: compiled(&convergence.ready)?,
        })
    }

    /// Whether more than the status of an object has to be decoded.
    pub fn needs_whole_objects(&self) -> bool {
        self.observed.is_some() || self.ready.is_some()
    }
}

impl std::fmt::Debug for Condition {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str("Condition")
    }
}

/// The first variable that is neither known nor bound by a macro such as `exists`.
fn unknown<'a>(expression: &'a IdedExpr, bound: &mut Vec<&'a str>) -> Option<&'a str> {
    match &expression.expr {
        Expr::Ident(name) => {
            let known = name.starts_with('@') || bound.contains(&name.as_str());
            (!known).then_some(name)
        }
        Expr::Call(call) => {
            let target = call.target.iter().map(|target| &**target);
            target
                .chain(&call.args)
                .find_map(|inner| unknown(inner, bound))
        }
        Expr::Comprehension(comprehension) => {
            if let Some(name) = unknown(&comprehension.iter_range, bound) {
                return Some(name);
            }
            let outside = bound.len();
            bound.push(&comprehension.iter_var);
            bound.push(&comprehension.accu_var);
            bound.extend(comprehension.iter_var2.as_deref());
            let inner = [
                &comprehension.accu_init,
                &comprehension.loop_cond,
                &comprehension.loop_step,
                &comprehension.result,
            ];
            let found = inner.into_iter().find_map(|inner| unknown(inner, bound));
            bound.truncate(outside);
            found
        }
        Expr::List(list) => list.elements.iter().find_map(|inner| unknown(inner, bound)),
        Expr::Map(map) => map.entries.iter().find_map(|entry| match &entry.expr {
            EntryExpr::MapEntry(entry) => {
                unknown(&entry.key, bound).or_else(|| unknown(&entry.value, bound))
            }
            EntryExpr::StructField(field) => unknown(&field.value, bound),
        }),
        Expr::Select(select) => unknown(&select.operand, bound),
        _ => None,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_condition_holds_or_not() {
        let object = json!({
            "metadata": {"generation": 3},
            "status": {"observedGeneration": "3", "phase": "Healthy", "readyReplicas": 2,
                       "conditions": [{"type": "JobCreated", "status": "True"}]},
        });
        for (source, want) in [
            ("self.status.phase == 'Healthy'", true),
            ("self.status.phase == 'Degraded'", false),
            ("self.status.absent.field == 1", false),
            ("has(self.status.phase)", true),
            ("has(self.spec) && self.spec.a == 1", false),
            (
                "int(self.status.observedGeneration) >= self.metadata.generation",
                true,
            ),
            (
                "self.status.conditions.exists(c, c.type == 'JobCreated' && c.status == 'True')",
                true,
            ),
            ("true", true),
            ("self.status.readyReplicas == 2", true),
            (
                "self.metadata.generation - 1 == self.status.readyReplicas",
                true,
            ),
        ] {
            let condition = Condition::compile(source).expect(source);
            assert_eq!(condition.holds(&object), want, "{source}");
        }
        let condition = Condition::compile("self.status.phase == 'Healthy'").expect("valid");
        assert!(!condition.holds(&json!({})));
    }

    #[test]
    fn what_can_never_hold_is_refused() {
        for (source, want) in [
            ("self.status.", "is not CEL"),
            ("self.status ==", "is not CEL"),
            ("", "is not CEL"),
            ("((", "is not CEL"),
            (
                "object.status.phase == 'x'",
                "unknown variable `object`; the object is `self`",
            ),
            ("self.a.exists(c, d.type == 'x')", "unknown variable `d`"),
            ("self.metadata.name", "not true or false"),
            ("size(self.metadata.name)", "not true or false"),
            ("ready(self)", "there is no function `ready`"),
        ] {
            let error = Condition::compile(source).expect_err(source);
            assert!(error.contains(want), "{source}: {error}");
        }
    }
}
