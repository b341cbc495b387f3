//! Where in which file a workload cannot be used, in one line.

/// Prints as `FILE:LINE: FIELD: what is wrong; what to do`.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub struct Error {
    /// As the user would open it.
    pub file: String,
    pub line: Option<usize>,
    /// `object.template`; empty where the message names it.
    pub field: String,
    pub message: String,
}

impl Error {
    /// Of a whole file, or of a line of it.
    pub fn of_file(file: impl Into<String>, line: Option<usize>, message: String) -> Self {
        Self {
            file: file.into(),
            line,
            field: String::new(),
            message,
        }
    }
}

impl std::fmt::Display for Error {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str(&self.file)?;
        if let Some(line) = self.line {
            write!(f, ":{line}")?;
        }
        f.write_str(": ")?;
        if !self.field.is_empty() {
            write!(f, "{}: ", self.field)?;
        }
        // Whatever a parser said: an error is one line.
        let lines = self.message.lines().map(str::trim);
        f.write_str(&lines.collect::<Vec<_>>().join(" "))
    }
}

/// A `workload.toml`, or the part of one that begins with a table of several.
#[derive(Debug, Clone, Default)]
pub struct Source {
    /// As the user would open it.
    pub file: String,
    text: String,
    /// Lines before the part.
    before: usize,
    /// What stands before the fields of the part, such as `also.`.
    prefix: String,
}

impl Source {
    pub fn of(file: String, text: &str) -> Self {
        Self {
            file,
            text: text.to_owned(),
            ..Self::default()
        }
    }

    /// The part that begins with the table `number` of those that are called so, such as `[[also]]`.
    pub fn part(&self, table: &str, number: usize) -> Self {
        let header = format!("[[{table}]]");
        let headers = self.text.lines().enumerate();
        let mut headers = headers.filter(|(_, line)| line.trim() == header);
        let before = headers.nth(number).map_or(0, |(before, _)| before);
        Self {
            before,
            prefix: format!("{table}."),
            ..self.clone()
        }
    }

    /// An error of a field, as `object.template`.
    pub fn error(&self, field: &str, message: impl Into<String>) -> Error {
        let field = format!("{}{field}", self.prefix);
        let part: Vec<&str> = self.text.lines().skip(self.before).collect();
        let line = line_of_field(&part.join("\n"), &field);
        Error {
            file: self.file.clone(),
            line: line.map(|line| line + self.before),
            field,
            message: message.into(),
        }
    }
}

/// The line, from 1 on, of a field of a TOML file, as `object.template`; that of its table where the field
/// itself is not there.
pub fn line_of_field(text: &str, field: &str) -> Option<usize> {
    let (table, key) = field.rsplit_once('.').unwrap_or(("", field));
    let mut current = String::new();
    let mut of_table = None;
    for (line, content) in (1..).zip(text.lines()) {
        let content = content.trim();
        if let Some(header) = content.strip_prefix('[') {
            current = header.trim_matches(['[', ']', ' ']).to_owned();
            if current == field {
                return Some(line);
            }
            if current == table {
                of_table.get_or_insert(line);
            }
        } else if current == table
            && let Some(rest) = content.strip_prefix(key)
            && rest.trim_start().starts_with('=')
        {
            return Some(line);
        }
    }
    of_table
}

/// The first line, from 1 on, that holds the first line of a text.
pub fn line_of_text(content: &str, text: &str) -> Option<usize> {
    let wanted = text.lines().next()?.trim();
    let mut lines = (1..).zip(content.lines());
    lines.find_map(|(line, content)| content.contains(wanted).then_some(line))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_field_is_found_in_its_table() {
        let text = "name = \"a\"\n[object]\nkind = \"X\"\nname = \"b\"\n[other]\nname = \"c\"\n";
        for (field, want) in [
            ("name", Some(1)),
            ("object.name", Some(4)),
            ("object", Some(2)),
            ("other.name", Some(6)),
            ("object.absent", Some(2)),
            ("absent", None),
        ] {
            assert_eq!(line_of_field(text, field), want, "{field}");
        }
        assert_eq!(line_of_text("a\nb: {{ x }}\n", "{{ x }}"), Some(2));
    }

    #[test]
    fn a_field_is_found_in_the_part_that_it_is_of() {
        let text = "share = 2\n[[also]]\nshare = 0\n[also.object]\nkind = \"x\"\n[[also]]\n[also.object]\nkind = \"y\"\n";
        let source = Source::of("w.toml".into(), text);
        let places = [
            source.error("share", "").to_string(),
            source.part("also", 0).error("share", "").to_string(),
            source.part("also", 0).error("object.kind", "").to_string(),
            source.part("also", 1).error("object.kind", "").to_string(),
        ];
        let want = [
            "w.toml:1: share: ",
            "w.toml:3: also.share: ",
            "w.toml:5: also.object.kind: ",
            "w.toml:8: also.object.kind: ",
        ];
        assert_eq!(places, want);
    }

    #[test]
    fn an_error_is_one_line() {
        let error = Error {
            file: "w.toml".into(),
            line: Some(3),
            field: "object.kind".into(),
            message: "no\n  such".into(),
        };
        assert_eq!(error.to_string(), "w.toml:3: object.kind: no such");
    }
}
