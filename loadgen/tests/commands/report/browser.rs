//! The page in headless Chromium.
//!
//! Guarantees: a profile of its own in a temporary folder; the browser ends with its page. Leaves to
//! others: what is on the page.

use std::path::PathBuf;
use std::process::{Command, Output};

use crate::report::folder::Folder;

/// Chromium, by the names that distributions give it.
pub fn find() -> Option<PathBuf> {
    let path = std::env::var_os("PATH")?;
    let folders: Vec<PathBuf> = std::env::split_paths(&path).collect();
    let names = ["chromium", "chromium-browser", "google-chrome"];
    let mut all = names
        .iter()
        .flat_map(|name| folders.iter().map(move |folder| folder.join(name)));
    all.find(|path| path.is_file())
}

/// Width of a phone, in CSS pixels.
const PHONE: u32 = 390;

/// A frame as wide as a phone says how wide its content is, whatever the least width of a window.
pub fn fits_a_phone(chromium: Option<&std::path::Path>, folder: &Folder) {
    let chromium = chromium.expect("the test is ignored without it");
    folder.report(&[]);
    let measuring = format!(
        "<iframe id=f width={PHONE} height=800 style=border:0 srcdoc='{}'></iframe><script>onload=()=>{{\
         const d=f.contentDocument.documentElement;document.title=[d.scrollWidth,d.clientWidth,d.scrollHeight,\
         getComputedStyle(f.contentDocument.querySelector('.narrow')).display].join(' ')}}</script>",
        folder
            .read("report.html")
            .replace('&', "&amp;")
            .replace('\'', "&#39;")
    );
    let page = folder.path("phone.html");
    std::fs::write(&page, format!("<!doctype html>{measuring}")).expect("writable");
    let shown = run(
        chromium,
        folder,
        &["--dump-dom", "--virtual-time-budget=5000"],
        &page,
    );
    let dom = String::from_utf8_lossy(&shown.stdout).into_owned();
    let title = dom
        .split("<title>")
        .nth(1)
        .and_then(|rest| rest.split("</title>").next());
    let said = String::from_utf8_lossy(&shown.stderr).into_owned();
    let title = title.unwrap_or_else(|| panic!("no answer from the page: {said}"));
    let answers: Vec<&str> = title.split(' ').collect();
    let [width, room, height, narrow] = answers[..] else {
        panic!("{title}");
    };
    let number = |text: &str| text.parse::<u32>().expect("a number");
    assert!(number(width) <= number(room), "wider than a phone: {title}");
    assert!(number(room) <= PHONE && number(height) > 3_000, "{title}");
    assert_eq!(narrow, "block", "the charts for a phone are shown");

    let picture = folder.path("page.png");
    let to = format!("--screenshot={}", picture.display());
    let said = run(
        chromium,
        folder,
        &[&to, "--window-size=1280,2000"],
        &folder.path("report.html"),
    );
    let bytes = std::fs::read(&picture)
        .unwrap_or_else(|e| panic!("{e}: {}", String::from_utf8_lossy(&said.stderr)));
    // A page without content packs to a few KB.
    assert!(bytes.len() > 50_000, "blank: {} bytes", bytes.len());
}

fn run(
    chromium: &std::path::Path,
    folder: &Folder,
    options: &[&str],
    page: &std::path::Path,
) -> Output {
    let profile = format!("--user-data-dir={}", folder.path("profile").display());
    Command::new(chromium)
        .args([
            "--headless",
            "--no-sandbox",
            "--disable-gpu",
            "--hide-scrollbars",
            &profile,
        ])
        .args(options)
        .arg(format!("file://{}", page.display()))
        .output()
        .expect("chromium starts")
}
