//! `report.html`: one page that holds everything, for a browser, a phone and paper.
//!
//! Guarantees: no script and nothing from elsewhere; the same folder gives the same bytes; a figure in a
//! table is the figure of `summary.json`, from the same tables as `report.md`. Leaves to others: the
//! tables (`report`), the drawing (`chart`).

mod answer;
mod bystanders;
mod latency;
mod memory;
mod over_time;
mod provenance;
mod rate_sweep;
mod restarts;
mod robustness;
pub mod style;
mod work;

use maud::{DOCTYPE, Markup, PreEscaped, html};

use crate::model::record::Record;
use crate::model::summary::Summary;
use crate::report::chart::line::LineChart;
use crate::report::chart::{Size, theme};
use crate::report::table::Table;
use crate::report::title;

pub use memory::chart as memory_chart;
pub use over_time::{OverTime, read_series};

/// What a page is made from.
pub struct Page<'a> {
    pub summary: &'a Summary,
    pub record: &'a Record,
    /// The runs that are drawn over time.
    pub over_time: &'a OverTime,
}

/// A part of the page with a heading.
struct Section {
    id: &'static str,
    title: String,
    body: Markup,
}

impl Section {
    fn new(id: &'static str, title: &str, body: Markup) -> Self {
        Self {
            id,
            title: title.to_owned(),
            body,
        }
    }
}

/// The whole page.
pub fn page(page: &Page) -> String {
    let sections: Vec<Section> = [
        Some(answer::section(page)),
        memory::section(page),
        over_time::section(page),
        rate_sweep::section(page),
        latency::section(page),
        work::section(page),
        work::ratios(page),
        restarts::section(page),
        bystanders::section(page),
        robustness::section(page),
        Some(provenance::failed(page)),
        Some(provenance::not_measured(page)),
        Some(provenance::environment(page)),
        Some(provenance::reproduce(page)),
        provenance::notes(page),
    ]
    .into_iter()
    .flatten()
    .collect();
    let heading = title::title(page.summary);
    let document = html! {
        (DOCTYPE)
        html lang="en" {
            head {
                meta charset="utf-8";
                meta name="viewport" content="width=device-width, initial-scale=1";
                meta name="color-scheme" content="light dark";
                title { (heading) }
                style { (PreEscaped(theme::css(":root"))) (PreEscaped(style::CSS)) }
            }
            body {
                header {
                    h1 { (heading) }
                    p.setting { (title::setting(page.summary)) }
                    p.setting { (title::words(page.summary)) }
                    @for warning in title::warnings(page.summary, page.record) {
                        p.warning role="note" { (warning) }
                    }
                    nav aria-label="Sections" {
                        @for section in &sections { a href={ "#" (section.id) } { (section.title) } }
                    }
                }
                main {
                    @for section in &sections {
                        section id=(section.id) aria-labelledby={ (section.id) "-h" } {
                            h2 id={ (section.id) "-h" } { (section.title) }
                            (section.body)
                        }
                    }
                }
                footer { p { "Made by " code { "loadgen report" } " from the raw data of this folder; " code { "loadgen verify" } " rebuilds it." } }
            }
        }
    };
    let mut text = document.into_string();
    text.push('\n');
    text
}

/// A table that scrolls on its own where it is wider than the screen.
fn table(table: &Table) -> Markup {
    let is_text: Vec<bool> = (0..table.header.len())
        .map(|n| n == 0 || table.is_text(n))
        .collect();
    let class = |n: usize| (!is_text.get(n).copied().unwrap_or(false)).then_some("n");
    html! {
        div.scroll role="region" tabindex="0" aria-label=(table.title) {
            table {
                caption { (table.title) }
                thead { tr { @for (n, cell) in table.header.iter().enumerate() { th scope="col" class=[class(n)] { (cell) } } } }
                tbody {
                    @for row in &table.rows {
                        tr {
                            @for (n, cell) in row.iter().enumerate() {
                                @if n == 0 { th scope="row" { (cell) } }
                                @else { td class=[class(n)] { (figure_and_word(cell)) } }
                            }
                        }
                    }
                }
            }
        }
    }
}

/// A figure, and below it that its subject did not settle.
fn figure_and_word(cell: &str) -> Markup {
    match cell.split_once(" (did not settle") {
        Some((figure, rest)) => html! { (figure) " " span.more { "(did not settle" (rest) } },
        None => html! { (cell) },
    }
}

/// The same chart for a screen or paper, and for a phone; a style decides which is seen.
fn figure(chart: &LineChart, words: &str) -> Markup {
    let narrow = LineChart {
        caption: crate::report::chart::Caption {
            id: format!("{}-phone", chart.caption.id),
            ..chart.caption.clone()
        },
        ..chart.clone()
    };
    html! {
        figure {
            div.wide { (chart.draw(Size::WIDE)) }
            div.narrow { (narrow.draw(Size::NARROW)) }
            figcaption { b { (chart.caption.title) "." } " " (words) }
        }
    }
}

/// Charts side by side, as many as fit.
fn panels(charts: &[Markup], title: &str, words: &str) -> Markup {
    html! {
        figure {
            div.panels { @for chart in charts { div { (chart) } } }
            figcaption { b { (title) "." } " " (words) }
        }
    }
}

/// The place of a subject in the experiment, which is its colour.
fn slot(summary: &Summary, id: &str) -> usize {
    let mut subjects = summary.subjects.iter();
    subjects.position(|subject| subject.id() == id).unwrap_or(0)
}
