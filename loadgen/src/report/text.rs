//! A report as text: Markdown for a repository, and plain for a terminal.
//!
//! Guarantees: both have every section but for its charts; a terminal has the answer at its end, and leaves out how the
//! figures came out. Leaves to others: what is said (`report`), tables (`table`).

use crate::report::{Block, Report, Section};

/// `report.md`.
pub fn markdown(report: &Report) -> String {
    let mut text = format!("# {}\n\n{}\n\n", report.title, report.setting.join("\n\n"));
    for warning in &report.warnings {
        text.push_str(&format!("> {warning}\n\n"));
    }
    for section in with_text(report.sections.iter().chain(&report.background)) {
        text.push_str(&format!("## {}\n\n", section.title));
        for block in &section.blocks {
            let said = match block {
                Block::Sentences(all) => all.join("\n\n") + "\n",
                Block::List(all) => all.iter().map(|item| format!("- {item}\n")).collect(),
                Block::Lines(all) => format!("```sh\n{}\n```\n", all.join("\n")),
                Block::Facts(all) => all
                    .iter()
                    .map(|(name, value)| format!("- {name}: {value}\n"))
                    .collect(),
                Block::Table(table) => table.markdown(),
                Block::Figure(_) => continue,
            };
            text.push_str(&format!("{said}\n"));
        }
    }
    text.trim_end().to_owned() + "\n"
}

/// For a terminal.
pub fn plain(report: &Report) -> String {
    let first = report.setting.first().map_or("", String::as_str);
    let mut text = format!("{}\n{first}\n", report.title);
    text.extend(
        report
            .warnings
            .iter()
            .map(|warning| format!("WARNING {warning}\n")),
    );
    let (answer, others) = report.sections.split_at(1.min(report.sections.len()));
    for section in with_text(others.iter().chain(answer)) {
        text.push_str(&format!("\n== {}\n\n", section.title));
        let blocks = section.blocks.iter().filter_map(|block| match block {
            Block::Sentences(all) | Block::Lines(all) => Some(all.join("\n") + "\n"),
            Block::List(all) => Some(all.iter().map(|item| format!("- {item}\n")).collect()),
            Block::Facts(all) => Some(
                all.iter()
                    .map(|(name, value)| format!("{name}: {value}\n"))
                    .collect(),
            ),
            Block::Table(table) => Some(table.plain()),
            Block::Figure(_) => None,
        });
        text.push_str(&blocks.collect::<Vec<String>>().join("\n"));
    }
    text
}

/// Sections with more than charts.
fn with_text<'a>(sections: impl Iterator<Item = &'a Section>) -> impl Iterator<Item = &'a Section> {
    let is_text = |block: &Block| !matches!(block, Block::Figure(_));
    sections.filter(move |section| section.blocks.iter().any(is_text))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::report::{Drawings, Figure, Table};

    #[test]
    fn both_texts_have_what_is_said_without_charts() {
        let figure = Figure {
            title: "Memory",
            words: String::new(),
            drawings: Drawings::Panels(vec![]),
        };
        let table = Table::new("Sizes", &["", "MB"], vec![vec!["a/b".into(), "4".into()]]);
        let section = |id, title, blocks| Section { id, title, blocks };
        let report = Report {
            title: "A report".into(),
            setting: vec!["Two cores".into(), "MB are 1,000,000 bytes".into()],
            warnings: vec!["Mixed.".into()],
            sections: vec![
                section(
                    "answer",
                    "Answer",
                    vec![Block::Sentences(vec!["None.".into()])],
                ),
                section("drawn", "Drawn", vec![Block::Figure(figure)]),
                section(
                    "sizes",
                    "Sizes",
                    vec![Block::Table(table), Block::List(vec!["a".into()])],
                ),
            ],
            background: vec![section("how", "How", vec![Block::Lines(vec!["ls".into()])])],
        };
        assert_eq!(
            markdown(&report),
            "# A report\n\nTwo cores\n\nMB are 1,000,000 bytes\n\n> Mixed.\n\n## Answer\n\nNone.\n\n## Sizes\n\n\
             ### Sizes\n\n|  | MB |\n| --- | ---: |\n| a/b | 4 |\n\n- a\n\n## How\n\n```sh\nls\n```\n"
        );
        assert_eq!(
            plain(&report),
            "A report\nTwo cores\nWARNING Mixed.\n\n== Sizes\n\nSizes\n     MB\n───────\na/b   4\n\n- a\n\n== Answer\n\nNone.\n"
        );
    }
}
