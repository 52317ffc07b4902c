//! The page in a browser, used by a script as a person does.

mod common;

use std::env;
use std::fs;
use std::path::PathBuf;
use std::process::Command;

use common::{read, simulated};
use simulator::scenarios::find;
use trace::{Trace, export};

const SCRIPT: &str = include_str!("viewer/script.js");
/// The browser paints no frames by itself while its clock runs ahead.
const FRAMES: &str = "<script>requestAnimationFrame = (paint) => setTimeout(paint, 16);</script>";
/// The names of the browser.
const BROWSERS: [&str; 3] = ["chromium", "chromium-browser", "google-chrome"];

fn trace(name: &str, milliseconds: u64) -> Trace {
    let setup = find(name).expect("it exists").setup;
    read(&simulated(setup, milliseconds * 1000, 1_000_000))
}

fn browser() -> Option<PathBuf> {
    let path = env::var_os("PATH")?;
    let folders: Vec<_> = env::split_paths(&path).collect();
    let files = BROWSERS
        .iter()
        .flat_map(|name| folders.iter().map(move |folder| folder.join(name)));
    files.into_iter().find(|file| file.is_file())
}

#[test]
fn a_person_finds_what_went_wrong() {
    let Some(browser) = browser() else {
        println!("skipped: there is no Chromium");
        return;
    };
    let (one, other) = (trace("timeout", 40), trace("passive-server", 60));
    let page = export::html(&[("one", &one), ("other", &other)]);
    let page = page.replace("<header>", &format!("{FRAMES}<header>"));
    let page = page.replace("</html>", &format!("<script>{SCRIPT}</script></html>"));
    let folder = tempfile::tempdir().unwrap();
    let file = folder.path().join("page.html");
    fs::write(&file, page).unwrap();
    let mut command = Command::new(browser);
    command
        .args([
            "--headless",
            "--no-sandbox",
            "--disable-gpu",
            "--window-size=1400,1000",
        ])
        // The browser's clock, which runs ahead while the page only waits.
        .args(["--virtual-time-budget=20000", "--dump-dom"])
        .arg(format!(
            "--user-data-dir={}",
            folder.path().join("profile").display()
        ))
        .arg(format!("file://{}", file.display()));
    let output = command.output().unwrap();
    let dom = String::from_utf8_lossy(&output.stdout);
    let result = dom.split_once("<pre id=\"result\">");
    let result = result.and_then(|(_, rest)| rest.split_once("</pre>"));
    let (result, _) = result.unwrap_or_else(|| {
        panic!(
            "the script has not ended: {}",
            String::from_utf8_lossy(&output.stderr)
        )
    });
    assert_eq!(result, "all holds");
}
