//! `report.html`: a report as one page, for a browser, a phone and paper.
//!
//! Guarantees: no script and nothing from elsewhere; the same report gives the same bytes; every text is escaped.
//! Leaves to others: what is said (`report`), lines over axes (`chart`).

use std::sync::LazyLock;

use minijinja::value::{Serde, ValueKind};
use minijinja::{Environment, Output, State, UndefinedBehavior};
use serde_json::{Value, json};

use crate::report::chart::{COLOURS, Chart, Size};
use crate::report::table::Table;
use crate::report::{Bar, Block, Drawings, Report, Section};

/// Colours and type of charts.
pub const CHART_CSS: &str = include_str!("page/chart.css");
/// How a page looks, with [`CHART_CSS`].
pub const PAGE_CSS: &str = include_str!("page/page.css");
const TEMPLATES: [(&str, &str); 3] = [
    ("junit.xml", include_str!("page/junit.xml")),
    ("page.html", include_str!("page/page.html")),
    ("chart.svg", include_str!("page/chart.svg")),
];

/// The whole page.
///
/// # Errors
/// Never for the templates that are part of this program, which tests render.
pub fn page(report: &Report) -> anyhow::Result<String> {
    let sections = report.sections.iter().chain(&report.background);
    let section = |section: &Section| {
        let blocks = section.blocks.iter().map(block);
        let blocks: Vec<Value> = blocks.collect::<anyhow::Result<_>>()?;
        anyhow::Ok(json!({ "id": section.id, "title": section.title, "blocks": blocks }))
    };
    let sections: Vec<Value> = sections.map(section).collect::<anyhow::Result<_>>()?;
    let Report {
        title,
        setting,
        warnings,
        ..
    } = report;
    let page = json!({
        "title": title, "setting": setting, "warnings": warnings, "sections": sections,
        "css": format!("{CHART_CSS}{PAGE_CSS}"),
    });
    Ok(render("page.html", page)? + "\n")
}

/// One of the templates; everything is escaped but what it calls safe.
///
/// # Errors
/// A name in the template that the context does not have.
pub fn render(template: &str, context: Value) -> anyhow::Result<String> {
    static ENVIRONMENT: LazyLock<Environment> = LazyLock::new(|| environment(&TEMPLATES));
    let template = ENVIRONMENT.get_template(template)?;
    Ok(template.render(Serde(context))?)
}

/// Templates whose output is HTML or SVG.
///
/// # Panics
/// Where one does not parse: they are part of a program, and a test renders them.
pub fn environment(templates: &[(&'static str, &'static str)]) -> Environment<'static> {
    let mut environment = Environment::new();
    environment.set_undefined_behavior(UndefinedBehavior::SemiStrict);
    environment.set_formatter(write);
    for (name, text) in templates {
        let added = environment.add_template(name, text);
        added.unwrap_or_else(|error| panic!("{name}: {error}"));
    }
    environment
}

/// Text is escaped, and a number is a coordinate: a tenth of a pixel is all that can be seen.
fn write(
    out: &mut Output,
    _: &mut State,
    value: &minijinja::Value,
) -> Result<(), minijinja::Error> {
    let number = match value.kind() {
        ValueKind::Number => f64::try_from(value.clone()).ok(),
        _ => None,
    };
    let written = match (number, value.is_safe()) {
        (Some(number), _) => write!(out, "{}", (number * 10.0).round() / 10.0),
        (None, true) => write!(out, "{value}"),
        (None, false) => write!(out, "{}", escaped(&value.to_string())),
    };
    Ok(written?)
}

/// A text within markup; what XML cannot hold is replaced.
pub fn escaped(text: &str) -> String {
    let mut escaped = String::with_capacity(text.len());
    for character in text.chars() {
        match character {
            '&' => escaped.push_str("&amp;"),
            '<' => escaped.push_str("&lt;"),
            '>' => escaped.push_str("&gt;"),
            '"' => escaped.push_str("&quot;"),
            // XML 1.0, production 2: no other control characters, escaped or not.
            c if c.is_control() && !"\n\t".contains(c) => escaped.push('\u{fffd}'),
            '\u{fffe}' | '\u{ffff}' => escaped.push('\u{fffd}'),
            c => escaped.push(c),
        }
    }
    escaped
}

fn block(block: &Block) -> anyhow::Result<Value> {
    Ok(match block {
        Block::Sentences(all) => json!({ "kind": "sentences", "all": all }),
        Block::List(all) => json!({ "kind": "list", "all": all }),
        Block::Lines(all) => json!({ "kind": "lines", "all": all }),
        Block::Facts(all) => json!({ "kind": "facts", "all": all }),
        Block::Table(of) => table(of),
        Block::Figure(figure) => {
            let drawn = match &figure.drawings {
                Drawings::Chart(chart) => {
                    // The same for a screen or paper and for a phone; a style decides which is seen.
                    let id = format!("{}-phone", chart.id);
                    let narrow = Chart {
                        id,
                        ..Chart::clone(chart)
                    };
                    json!({ "wide": chart.draw(Size::WIDE)?, "narrow": narrow.draw(Size::NARROW)? })
                }
                Drawings::Panels(charts) => {
                    let panels = charts.iter().map(|chart| chart.draw(Size::PANEL));
                    json!({ "panels": panels.collect::<anyhow::Result<Vec<String>>>()? })
                }
                Drawings::Bars(charts) => {
                    let bars = charts.iter().map(|(title, bars)| {
                        let highest = bars.iter().filter_map(|bar| bar.value).fold(0.0, f64::max);
                        let bar = |bar: &Bar| {
                            let share = bar.value.map_or(0.0, |value| value / highest.max(f64::MIN_POSITIVE));
                            // Beside the longest bar is room for its figure.
                            let percent = share * 70.0;
                            json!({
                                "name": bar.name, "colour": bar.slot % COLOURS, "percent": percent, "text": bar.text,
                            })
                        };
                        json!({ "title": title, "bars": bars.iter().map(bar).collect::<Vec<_>>() })
                    });
                    json!({ "bars": bars.collect::<Vec<_>>() })
                }
            };
            json!({ "kind": "figure", "title": figure.title, "words": figure.words, "drawn": drawn })
        }
    })
}

/// A table that scrolls on its own where it is wider than the screen. What stands in brackets behind a figure is below it.
fn table(table: &Table) -> Value {
    let is_figure = |column: usize| column > 0 && !table.is_text(column);
    let cell = |(column, text): (usize, &String)| match text.split_once(" (") {
        Some((text, more)) if is_figure(column) => {
            json!({ "text": text, "more": format!("({more}") })
        }
        _ => json!({ "text": text }),
    };
    let row = |row: &Vec<String>| row.iter().enumerate().map(cell).collect::<Vec<_>>();
    json!({
        "kind": "table", "title": table.title, "header": table.header,
        "rows": table.rows.iter().map(row).collect::<Vec<_>>(),
        "is_figure": (0..table.header.len()).map(is_figure).collect::<Vec<_>>(),
    })
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::report::Figure;

    #[test]
    fn a_page_has_every_block_and_text_is_escaped() {
        let bar = |name: &str, value: Option<f64>, text: &str| Bar {
            name: name.to_owned(),
            slot: 9,
            value,
            text: text.to_owned(),
        };
        let bars = vec![bar("a/x", Some(4.0), "4.00"), bar("b/y", None, "invalid")];
        let figure = Figure {
            title: "Cost",
            words: "Lower is better.".into(),
            drawings: Drawings::Bars(vec![("CPU, s", bars)]),
        };
        let row = |cells: [&str; 3]| cells.map(str::to_owned).to_vec();
        let table = Table::new(
            "Sizes",
            &["", "MB", "why"],
            vec![row(["a/x", "4.0 (did not settle)", "none"])],
        );
        let blocks = vec![
            Block::Sentences(vec!["1 < 2 & \"so\"\u{1b}".into()]),
            Block::List(vec!["an item".into()]),
            Block::Lines(vec!["ls".into(), "pwd".into()]),
            Block::Facts(vec![("kernel".into(), "6.1".into())]),
            Block::Table(table),
            Block::Figure(figure),
        ];
        let title = "All";
        let report = Report {
            title: "A report".into(),
            setting: vec!["Two cores".into()],
            warnings: vec!["Mixed.".into()],
            sections: vec![Section {
                id: "all",
                title,
                blocks,
            }],
            background: vec![],
        };
        let page = page(&report).expect("rendered");
        for want in [
            "<a href=\"#all\">All</a>",
            "<section id=\"all\"",
            "<p>1 &lt; 2 &amp; &quot;so&quot;\u{fffd}</p>",
            "<li>an item</li>",
            "<pre>ls\npwd</pre>",
            "<dt>kernel</dt><dd>6.1</dd>",
            "<th scope=\"col\" class=\"n\">MB</th><th scope=\"col\">why</th>",
            "<td class=\"n\">4.0 <span class=\"more\">(did not settle)</span></td><td>none</td>",
            "<div class=\"s1\"><span>a/x</span><i style=\"width:70%\"></i><b>4.00</b></div>",
            "<i style=\"width:0%\"></i><b>invalid</b>",
            "<b>Cost.</b> Lower is better.",
        ] {
            assert!(page.contains(want), "{want} not in {page}");
        }
    }

    /// Relative luminance (WCAG 2.2).
    fn luminance(colour: &str) -> f64 {
        let channel = |at: usize| {
            let value = u8::from_str_radix(&colour[at..at + 2], 16).expect("two hex digits");
            let value = f64::from(value) / 255.0;
            match value <= 0.04045 {
                true => value / 12.92,
                false => ((value + 0.055) / 1.055).powf(2.4),
            }
        };
        0.2126 * channel(1) + 0.7152 * channel(3) + 0.0722 * channel(5)
    }

    #[test]
    fn every_text_can_be_read_on_its_ground_in_light_and_in_dark() {
        let colours = CHART_CSS.split("--").filter_map(|part| {
            let (name, rest) = part.split_once(":#")?;
            Some((name, format!("#{}", &rest[..6])))
        });
        let (mut ground, mut texts, mut grounds) = (0.0, 0, 0);
        for (name, colour) in colours {
            match name {
                "ground" => (ground, grounds) = (luminance(&colour), grounds + 1),
                "grid" => {}
                _ => {
                    let text = luminance(&colour);
                    let contrast = (text.max(ground) + 0.05) / (text.min(ground) + 0.05);
                    assert!(contrast >= 4.5, "{name} {colour}: {contrast:.2}");
                    texts += 1;
                }
            }
        }
        assert_eq!((grounds, texts), (2, 2 * (2 + COLOURS)));
    }
}
