//! Templates of objects: plain data whose texts hold minijinja expressions.
//!
//! Guarantees: only texts are templates, so that what is rendered has the structure of the file; a
//! text that is one `{{= expression }}` gives the expression's own type (a number, a list). The same
//! seed and index give the same object. An unknown variable is found before anything is rendered.
//! Leaves to others: reading the file, and how large an object is (`fill`).

use std::sync::LazyLock;

use minijinja::{Environment, Expression, State, context};
use serde_json::Value;

use crate::rng::SplitMix64;
use crate::spec::workload::fill::random_words;

/// What a text may name.
pub const VARIABLES: [&str; 7] = [
    "name",
    "namespace",
    "index",
    "seed",
    "digest",
    "words",
    "part",
];

static ENVIRONMENT: LazyLock<Environment<'static>> = LazyLock::new(|| {
    let mut environment = Environment::new();
    environment.set_undefined_behavior(minijinja::UndefinedBehavior::Strict);
    environment.add_function("random_words", |state: &State, count: usize| {
        random_words(&mut draws(state), count)
    });
    environment.add_function("random_hex", |state: &State, digits: usize| {
        draws(state).hex(digits)
    });
    environment
});

/// The random numbers of the object that is rendered.
fn draws(state: &State) -> SplitMix64 {
    let number = |name: &str| {
        let value = state.lookup(name);
        value.and_then(|value| u64::try_from(value).ok())
    };
    let (seed, index) = (number("seed"), number("index"));
    SplitMix64::of(seed.unwrap_or_default(), !index.unwrap_or_default())
}

/// A text of a template that cannot be used.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("{field}: {message}")]
pub struct Error {
    /// Where the text is, as `spec.env[0].value`.
    pub field: String,
    /// The text itself, by which its line is found.
    pub text: String,
    pub message: String,
}

/// What is put into a template for one object.
#[derive(Debug, Clone)]
pub struct Fill<'a> {
    name: &'a str,
    namespace: &'a str,
    index: usize,
    seed: u64,
    digest: String,
    words: &'a str,
    part: usize,
}

impl<'a> Fill<'a> {
    /// Of object `index` of a seed.
    pub fn of(name: &'a str, namespace: &'a str, index: usize, seed: u64) -> Self {
        Self {
            name,
            namespace,
            index,
            seed,
            digest: SplitMix64::of(seed, !(index as u64)).hex(64),
            words: "",
            part: 0,
        }
    }

    /// The same with the words that make it as large as it should be.
    pub fn with_words(&self, words: &'a str) -> Self {
        Self {
            words,
            ..self.clone()
        }
    }

    /// The same for one of the parts by which an object grows.
    pub fn with_part(&self, part: usize, words: &'a str) -> Self {
        Self {
            words,
            part,
            ..self.clone()
        }
    }

    /// The commonest variables do without minijinja: a generator renders thousands of objects a second
    /// beside what it measures.
    fn push(&self, variable: &str, to: &mut String) {
        match variable {
            "name" => to.push_str(self.name),
            "namespace" => to.push_str(self.namespace),
            "index" => to.push_str(&self.index.to_string()),
            "seed" => to.push_str(&self.seed.to_string()),
            "digest" => to.push_str(&self.digest),
            "words" => to.push_str(self.words),
            "part" => to.push_str(&self.part.to_string()),
            // Nothing else becomes a `Piece::Variable`.
            _ => {}
        }
    }

    fn context(&self) -> minijinja::Value {
        context! {
            name => self.name, namespace => self.namespace, index => self.index, seed => self.seed,
            digest => self.digest.as_str(), words => self.words, part => self.part,
        }
    }
}

/// A template that can be rendered.
#[derive(Debug)]
pub struct Template(Node);

#[derive(Debug)]
enum Node {
    Fixed(Value),
    Text(String, Vec<Piece>),
    /// `{{= expression }}`
    Typed(String, Expression<'static, 'static>),
    List(Vec<Node>),
    Map(Vec<(String, Node)>),
}

#[derive(Debug)]
enum Piece {
    Literal(String),
    Variable(String),
    Computed(Expression<'static, 'static>),
}

impl Template {
    /// # Errors
    /// The first text that is no template, or names what nobody knows.
    pub fn compile(value: &Value) -> Result<Self, Error> {
        node(value, "").map(Self)
    }

    /// # Errors
    /// An expression fails for this object, such as a division by zero.
    pub fn render(&self, fill: &Fill<'_>) -> Result<Value, Error> {
        rendered(&self.0, fill)
    }

    /// Whether a text of it names a variable.
    pub fn uses(&self, variable: &str) -> bool {
        uses(&self.0, variable)
    }
}

fn uses(node: &Node, variable: &str) -> bool {
    let named =
        |expression: &Expression<'_, '_>| expression.undeclared_variables(false).contains(variable);
    match node {
        Node::Fixed(_) => false,
        Node::Typed(_, expression) => named(expression),
        Node::Text(_, pieces) => pieces.iter().any(|piece| match piece {
            Piece::Literal(_) => false,
            Piece::Variable(name) => name == variable,
            Piece::Computed(expression) => named(expression),
        }),
        Node::List(items) => items.iter().any(|item| uses(item, variable)),
        Node::Map(fields) => fields.iter().any(|(_, field)| uses(field, variable)),
    }
}

fn node(value: &Value, field: &str) -> Result<Node, Error> {
    Ok(match value {
        Value::String(text) if text.contains("{{") || text.contains("{%") => text_node(text)
            .map_err(|message| Error {
                field: field.to_owned(),
                text: text.clone(),
                message,
            })?,
        Value::Array(items) => {
            let items = items.iter().enumerate();
            let items = items.map(|(n, item)| node(item, &format!("{field}[{n}]")));
            Node::List(items.collect::<Result<_, _>>()?)
        }
        Value::Object(fields) => {
            let fields = fields.iter();
            let fields =
                fields.map(|(key, value)| Ok((key.clone(), node(value, &below(field, key))?)));
            Node::Map(fields.collect::<Result<_, Error>>()?)
        }
        other => Node::Fixed(other.clone()),
    })
}

/// The path of a field or an item of `parent`.
fn below(parent: &str, key: &str) -> String {
    match (parent, key) {
        ("", key) => key.to_owned(),
        (parent, "") => parent.to_owned(),
        (parent, key) if key.starts_with('[') => format!("{parent}{key}"),
        (parent, key) => format!("{parent}.{key}"),
    }
}

fn text_node(text: &str) -> Result<Node, String> {
    if text.contains("{%") {
        return Err(
            "statements ({% %}) are not supported; use an expression, such as {{ a if b else c }}"
                .into(),
        );
    }
    let typed = text.trim().strip_prefix("{{=");
    if let Some(source) = typed.and_then(|rest| rest.strip_suffix("}}")) {
        return Ok(Node::Typed(text.to_owned(), expression(source)?));
    }
    let mut pieces = Vec::new();
    let mut rest = text;
    while let Some((literal, from)) = rest.split_once("{{") {
        let Some((source, after)) = from.split_once("}}") else {
            return Err("{{ without }}".into());
        };
        if !literal.is_empty() {
            pieces.push(Piece::Literal(literal.to_owned()));
        }
        let source = source.trim();
        pieces.push(match VARIABLES.contains(&source) {
            true => Piece::Variable(source.to_owned()),
            false => Piece::Computed(expression(source)?),
        });
        rest = after;
    }
    if !rest.is_empty() {
        pieces.push(Piece::Literal(rest.to_owned()));
    }
    Ok(Node::Text(text.to_owned(), pieces))
}

fn expression(source: &str) -> Result<Expression<'static, 'static>, String> {
    let source = source.trim();
    if source.is_empty() {
        return Err(format!(
            "{{{{ }}}} is empty; known: {}",
            VARIABLES.join(", ")
        ));
    }
    let compiled = ENVIRONMENT.compile_expression_owned(source.to_owned());
    let compiled = compiled.map_err(|error| said(&error))?;
    let mut named: Vec<String> = compiled.undeclared_variables(false).into_iter().collect();
    named.sort();
    let functions = ["random_words", "random_hex", "range", "dict"];
    let known = |name: &str| VARIABLES.contains(&name) || functions.contains(&name);
    match named.iter().find(|name| !known(name)) {
        Some(name) => Err(format!(
            "unknown variable `{name}`; known: {}, random_words(count), random_hex(digits)",
            VARIABLES.join(", ")
        )),
        None => Ok(compiled),
    }
}

/// minijinja's words without its place, which is that within one expression.
fn said(error: &minijinja::Error) -> String {
    match error.detail() {
        Some(detail) => format!("{}: {detail}", error.kind()),
        None => error.kind().to_string(),
    }
}

fn rendered(node: &Node, fill: &Fill<'_>) -> Result<Value, Error> {
    let failed = |text: &str, message: String| Error {
        field: String::new(),
        text: text.to_owned(),
        message: format!("for object {}: {message}", fill.name),
    };
    // The path of a field is made for errors only.
    let inside = |outer: &str, error: Error| Error {
        field: below(outer, &error.field),
        ..error
    };
    Ok(match node {
        Node::Fixed(value) => value.clone(),
        Node::Typed(text, expression) => {
            let value = expression.eval(fill.context());
            let value = value.map_err(|error| failed(text, said(&error)))?;
            serde_json::to_value(&value).map_err(|error| failed(text, error.to_string()))?
        }
        Node::Text(text, pieces) => {
            let mut whole = String::with_capacity(text.len() + 64);
            for piece in pieces {
                match piece {
                    Piece::Literal(literal) => whole.push_str(literal),
                    Piece::Variable(variable) => fill.push(variable, &mut whole),
                    Piece::Computed(expression) => {
                        let value = expression.eval(fill.context());
                        let value = value.map_err(|error| failed(text, said(&error)))?;
                        whole.push_str(&value.to_string());
                    }
                }
            }
            Value::String(whole)
        }
        Node::List(items) => {
            let items = items.iter().enumerate().map(|(n, item)| {
                rendered(item, fill).map_err(|error| inside(&format!("[{n}]"), error))
            });
            Value::Array(items.collect::<Result<_, _>>()?)
        }
        Node::Map(fields) => {
            let fields = fields.iter().map(|(key, value)| {
                let value = rendered(value, fill).map_err(|error| inside(key, error))?;
                Ok((key.clone(), value))
            });
            Value::Object(fields.collect::<Result<_, _>>()?)
        }
    })
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    fn render(value: &Value) -> Result<Value, Error> {
        let fill = Fill::of("web-7", "shop", 7, 1);
        Template::compile(value)?.render(&fill.with_words("fix"))
    }

    #[test]
    fn texts_are_filled_and_everything_else_stays() {
        let table = [
            (json!("{{ name }}"), json!("web-7")),
            (json!("a {{name}}/{{ index }}."), json!("a web-7/7.")),
            (json!("{{ index % 3 }}"), json!("1")),
            (json!("{{= index % 3 }}"), json!(1)),
            (json!("{{= [index, name] }}"), json!([7, "web-7"])),
            (json!("{{ 'odd' if index % 2 else 'even' }}"), json!("odd")),
            (
                json!({"a": [{"b": "{{ namespace }}"}], "n": 1, "t": true}),
                json!({"a": [{"b": "shop"}], "n": 1, "t": true}),
            ),
            (json!("{{ words }}{{ part }}"), json!("fix0")),
            (json!("{name}"), json!("{name}")),
        ];
        for (template, want) in table {
            assert_eq!(render(&template), Ok(want), "{template}");
        }
    }

    #[test]
    fn random_text_follows_from_seed_and_index() {
        let template = Template::compile(&json!("{{ random_words(3) }} {{ random_hex(8) }}"));
        let template = template.expect("valid");
        let of = |index| {
            template
                .render(&Fill::of("a", "b", index, 1))
                .expect("text")
        };
        assert_eq!(of(1), of(1));
        assert_ne!(of(1), of(2));
        let text = of(1);
        assert_eq!(text.as_str().map(|text| text.split(' ').count()), Some(4));
    }

    #[test]
    fn what_is_no_template_is_said_with_its_field() {
        let table = [
            (
                json!({"spec": {"a": "{{ nam }}"}}),
                "spec.a: unknown variable `nam`; known: name",
            ),
            (json!({"a": ["x", "{{ name"]}), "a[1]: {{ without }}"),
            (json!({"a": "{{ }}"}), "a: {{ }} is empty"),
            (json!({"a": "{{ 1 + }}"}), "a: syntax error"),
            (
                json!({"a": "{% if x %}"}),
                "a: statements ({% %}) are not supported",
            ),
            (
                json!({"a": {"b": "{{= 1 // (index - 7) }}"}}),
                "a.b: for object web-7: ",
            ),
        ];
        for (template, want) in table {
            let error = render(&template).expect_err(want).to_string();
            assert!(error.starts_with(want), "{want}: {error}");
        }
    }
}
