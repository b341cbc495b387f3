//! A table as text: aligned for a terminal, or in Markdown; and how numbers are written.
//!
//! Guarantees: pure; the same cells in both. Leaves to others: what is in the cells.

use crate::metric::statistics::median;

/// A table; the first column is text. Others are right-aligned, unless they have words only.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Table {
    pub title: String,
    pub header: Vec<String>,
    pub rows: Vec<Vec<String>>,
}

/// A column of a table: its header, and its cell in the row of an item.
pub type Column<'a, T> = (&'a str, &'a dyn Fn(&T) -> String);

impl Table {
    /// A row for each item.
    pub fn of<T>(title: impl Into<String>, items: &[T], columns: &[Column<'_, T>]) -> Self {
        let header: Vec<&str> = columns.iter().map(|(name, _)| *name).collect();
        let row = |item: &T| columns.iter().map(|(_, cell)| cell(item)).collect();
        Self::new(title, &header, items.iter().map(row).collect())
    }

    pub fn new(title: impl Into<String>, header: &[&str], rows: Vec<Vec<String>>) -> Self {
        Self {
            title: title.into(),
            header: header.iter().map(|cell| (*cell).to_owned()).collect(),
            rows,
        }
    }

    /// Aligned columns, two spaces apart.
    pub fn plain(&self) -> String {
        let lines = || std::iter::once(&self.header).chain(&self.rows);
        let width = |column: usize| {
            let cells = lines().filter_map(|row| row.get(column));
            cells.map(|cell| cell.chars().count()).max().unwrap_or(0)
        };
        let columns = lines().map(Vec::len).max().unwrap_or(0);
        let widths: Vec<usize> = (0..columns).map(width).collect();
        let aligned = |row: &Vec<String>| {
            let cells = widths.iter().enumerate().map(|(column, width)| {
                let cell = row.get(column).map_or("", String::as_str);
                match column == 0 || self.is_text(column) {
                    true => format!("{cell:<width$}"),
                    false => format!("{cell:>width$}"),
                }
            });
            cells.collect::<Vec<_>>().join("  ").trim_end().to_owned()
        };
        let rule = "─".repeat(widths.iter().sum::<usize>() + 2 * columns.saturating_sub(1));
        let head = [self.title.clone(), aligned(&self.header), rule];
        let all = head.into_iter().chain(self.rows.iter().map(aligned));
        all.map(|line| line + "\n").collect()
    }

    /// Whether a column has words and no figure.
    pub fn is_text(&self, column: usize) -> bool {
        let mut cells = self.rows.iter().filter_map(|row| row.get(column));
        cells.all(|cell| cell.starts_with(|c: char| c.is_alphabetic() || c == '{'))
    }

    /// The same as Markdown, below a heading.
    pub fn markdown(&self) -> String {
        format!("### {}\n\n{}", self.title, self.markdown_rows())
    }

    /// The same as Markdown, without a heading.
    pub fn markdown_rows(&self) -> String {
        let line = |row: &Vec<String>| {
            let cells = (0..self.header.len())
                .map(|i| row.get(i).map_or("", String::as_str).replace('|', "\\|"));
            format!("| {} |\n", cells.collect::<Vec<_>>().join(" | "))
        };
        let rule = (0..self.header.len()).map(|i| if i == 0 { "---" } else { "---:" });
        let rule = rule.map(str::to_owned).collect();
        let all = [&self.header, &rule].into_iter().chain(&self.rows);
        all.map(line).collect()
    }
}

/// Three significant digits, at most three decimals; what is not known is a dash.
pub fn figure(value: Option<f64>) -> String {
    match value {
        None => "–".into(),
        Some(0.0) => "0".into(),
        Some(value) => {
            let digits = match value.abs() {
                v if v >= 99.95 => 0,
                v if v >= 9.995 => 1,
                v if v >= 0.0995 => 2,
                _ => 3,
            };
            format!("{value:.digits$}")
        }
    }
}

/// Bytes in MB.
pub fn mb(bytes: Option<f64>) -> String {
    figure(bytes.map(|bytes| bytes / 1e6))
}

/// The median; with the lowest and the highest where they differ.
pub fn spread(values: &[f64]) -> String {
    let typical = figure(median(values));
    let least = figure(values.iter().copied().reduce(f64::min));
    let most = figure(values.iter().copied().reduce(f64::max));
    match least == most {
        true => typical,
        false => format!("{typical} ({least} to {most})"),
    }
}

/// Three digits, or all of them before the point.
pub fn amount(value: f64) -> String {
    if value >= 1_000.0 {
        grouped(value.round() as usize)
    } else {
        figure(Some(value))
    }
}

/// 5000 -> "5,000".
pub fn grouped(n: usize) -> String {
    let digits = n.to_string();
    let mut text = String::new();
    for (index, digit) in digits.chars().enumerate() {
        if index > 0 && (digits.len() - index).is_multiple_of(3) {
            text.push(',');
        }
        text.push(digit);
    }
    text
}

/// How often: once, 2 times, 12,000 times.
pub fn often(times: u64) -> String {
    match times {
        1 => "once".to_owned(),
        _ => format!("{} times", grouped(times as usize)),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn table() -> Table {
        let row = |cells: [&str; 3]| cells.map(str::to_owned).to_vec();
        Table {
            title: "Memory".into(),
            header: row(["", "a/b", "c"]),
            rows: vec![row(["RSS, MB", "4.10", "56.1"]), row(["größe", "–", "1|2"])],
        }
    }

    #[test]
    fn a_range_is_shown_where_there_is_one() {
        assert_eq!(spread(&[]), "–");
        assert_eq!(spread(&[4.0, 4.001]), "4.00");
        assert_eq!(spread(&[4.2, 4.0, 4.1]), "4.10 (4.00 to 4.20)");
    }

    #[test]
    fn once_is_not_1_times() {
        assert_eq!(
            [1, 2, 12_000].map(often),
            ["once", "2 times", "12,000 times"]
        );
    }

    #[test]
    fn columns_are_aligned() {
        assert_eq!(
            table().plain(),
            "Memory\n          a/b     c\n───────────────────\nRSS, MB  4.10  56.1\ngröße       –   1|2\n"
        );
    }

    #[test]
    fn markdown_has_the_same_cells() {
        assert_eq!(
            table().markdown(),
            "### Memory\n\n|  | a/b | c |\n| --- | ---: | ---: |\n| RSS, MB | 4.10 | 56.1 |\n| größe | – | 1\\|2 |\n"
        );
    }

    #[test]
    fn figures_have_three_digits() {
        for (value, want) in [
            (None, "–"),
            (Some(0.0), "0"),
            (Some(0.0712), "0.071"),
            (Some(0.1234), "0.12"),
            (Some(4.096), "4.10"),
            (Some(9.996), "10.0"),
            (Some(56.14), "56.1"),
            (Some(1234.5), "1234"),
            (Some(-12.34), "-12.3"),
        ] {
            assert_eq!(figure(value), want, "{value:?}");
        }
        assert_eq!(
            (grouped(0), grouped(500), grouped(5_000), grouped(1_000_000)),
            ("0".into(), "500".into(), "5,000".into(), "1,000,000".into())
        );
    }
}
