//! The page in a browser, used by a script as a person does.

#[path = "common/browser.rs"]
mod browser;
mod common;
#[path = "viewer/pictures.rs"]
mod pictures;

use std::fs;
use std::thread;
use std::time::Duration;

use browser::{browser, headless, result};
use common::{read, simulated};
use simulator::scenarios::find;
use trace::serve::{Server, Site};
use trace::{Trace, export};

const SCRIPT: &str = include_str!("viewer/script.js");
/// The browser paints no frames by itself while its clock runs ahead.
const FRAMES: &str = "<script>requestAnimationFrame = (paint) => setTimeout(paint, 16);</script>";

fn trace(name: &str, milliseconds: u64) -> Trace {
    let setup = find(name).expect("it exists").setup;
    read(&simulated(setup, milliseconds * 1000, 1_000_000))
}

fn with_script(page: &str) -> String {
    page.replace("</html>", &format!("<script>{SCRIPT}</script></html>"))
}

#[test]
fn a_person_finds_what_went_wrong() {
    let Some(browser) = browser() else { return };
    let traces = [
        ("one", trace("timeout", 40)),
        ("other", trace("passive-server", 60)),
    ];
    let [one, other] = &traces;
    let page = export::html(&[(one.0, &one.1), (other.0, &other.1)]);
    let page = page.replace("<header>", &format!("{FRAMES}<header>"));
    let folder = tempfile::tempdir().unwrap();
    let file = folder.path().join("page.html");
    fs::write(&file, with_script(&page)).unwrap();
    let mut command = headless(&browser, folder.path());
    command
        // The browser's clock, which runs ahead while the page only waits.
        .args(["--virtual-time-budget=20000", "--dump-dom"])
        .arg(format!("file://{}", file.display()));
    let output = command.output().unwrap();
    let dom = String::from_utf8_lossy(&output.stdout);
    let whole = dom.split_once("<pre id=\"result\">");
    let whole = whole.and_then(|(_, rest)| rest.split_once("</pre>"));
    let (whole, _) = whole.unwrap_or_else(|| {
        let errors = String::from_utf8_lossy(&output.stderr);
        panic!("the script has not ended: {errors}")
    });
    assert!(whole.starts_with("all holds | context of"), "{whole}");

    // The same where the page is served, with the same tables.
    let mut site = Site::new(traces.map(|(name, trace)| (name.to_string(), trace)).into());
    site.page = with_script(&site.page);
    let server = Server::bind(site).unwrap();
    let url = server.url();
    thread::spawn(move || server.run());
    let served = result(&browser, &url, Duration::from_secs(60));
    assert_eq!(served, whole);
}
