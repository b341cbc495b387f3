//! Colours and type of all charts, as CSS variables for light and dark.
//!
//! Guarantees: every subject has one colour in every chart of a page; text in any of these colours has
//! a contrast of at least 4.5 to its ground (WCAG 2.2, 1.4.3), and neighbours differ for the colour-blind
//! (after Okabe & Ito 2008, darkened for light ground, lightened for dark). Leaves to others: layout.

/// Ground, text, text in the background, grid; then a colour for each subject.
struct Palette {
    ground: &'static str,
    text: &'static str,
    muted: &'static str,
    grid: &'static str,
    subjects: [&'static str; SLOTS],
}

/// Subjects with a colour of their own; later ones take the first again, with another dash.
pub const SLOTS: usize = 8;

const LIGHT: Palette = Palette {
    ground: "#ffffff",
    text: "#1b1f24",
    muted: "#59636e",
    grid: "#e3e6ea",
    subjects: [
        "#0062a8", "#b84600", "#00714f", "#a23b7c", "#8a5d00", "#5a48b8", "#5f6670", "#0b6e80",
    ],
};

const DARK: Palette = Palette {
    ground: "#14171b",
    text: "#e8eaed",
    muted: "#a0a8b2",
    grid: "#2c3239",
    subjects: [
        "#5cb3f0", "#ff9355", "#3fcb9d", "#e79aca", "#e8b53e", "#ab9ff7", "#b3bac3", "#5fcbdc",
    ],
};

/// Variables, and how charts use them; `scope` is what they hold for, such as `:root`.
pub fn css(scope: &str) -> String {
    let mut css = format!(
        "{scope}{{color-scheme:light dark;{}}}@media (prefers-color-scheme:dark){{{scope}{{{}}}}}\
         @media print{{{scope}{{{}}}}}",
        variables(&LIGHT),
        variables(&DARK),
        variables(&LIGHT)
    );
    css.push_str(
        ".chart text{fill:var(--text);font:12px system-ui,-apple-system,\"Segoe UI\",\"DejaVu Sans\",sans-serif}\
         .chart .muted{fill:var(--muted)}.chart .small{font-size:11px}.chart .end{text-anchor:end}\
         .chart .mid{text-anchor:middle}.chart .num{font-variant-numeric:tabular-nums}\
         .chart .grid{stroke:var(--grid);stroke-width:1}.chart .axis{stroke:var(--muted);stroke-width:1}\
         .chart .band{fill:var(--grid);opacity:.55}.chart .halo{paint-order:stroke;stroke:var(--ground);stroke-width:3px}\
         .chart .line{fill:none;stroke-width:2;stroke-linejoin:round;stroke-linecap:round}\
         .chart .thin{stroke-width:1.25}.chart .dash{stroke-dasharray:5 4}.chart .area{opacity:.16;stroke:none}",
    );
    for slot in 0..SLOTS {
        css.push_str(&format!(
            ".s{slot}{{--c:var(--s{slot})}}.chart .s{slot} .line{{stroke:var(--c)}}\
             .chart .s{slot} .mark{{fill:var(--c)}}.chart .s{slot} .tint{{fill:var(--c)}}",
        ));
    }
    css
}

fn variables(palette: &Palette) -> String {
    let mut text = format!(
        "--ground:{};--text:{};--muted:{};--grid:{};",
        palette.ground, palette.text, palette.muted, palette.grid
    );
    for (slot, colour) in palette.subjects.iter().enumerate() {
        text.push_str(&format!("--s{slot}:{colour};"));
    }
    text
}

#[cfg(test)]
mod tests {
    use super::*;

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
    fn every_text_can_be_read_on_its_ground() {
        for palette in [&LIGHT, &DARK] {
            let texts = palette
                .subjects
                .iter()
                .chain([&palette.text, &palette.muted]);
            for colour in texts {
                let (a, b) = (luminance(colour), luminance(palette.ground));
                let contrast = (a.max(b) + 0.05) / (a.min(b) + 0.05);
                assert!(
                    contrast >= 4.5,
                    "{colour} on {}: {contrast:.2}",
                    palette.ground
                );
            }
        }
    }
}
