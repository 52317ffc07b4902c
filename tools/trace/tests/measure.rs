//! How long pages of long traces take to load, and how smoothly they move. It takes minutes without optimisation:
//!
//!     cargo test --profile host -p trace --test measure -- --ignored --nocapture

#[path = "common/browser.rs"]
mod browser;
mod common;
#[path = "common/long.rs"]
mod long;

use std::fs;
use std::thread;
use std::time::{Duration, Instant};

use browser::{browser, result};
use common::read;
use long::long;
use trace::serve::{Server, Site};
use trace::{Trace, export};

const SCRIPT: &str = include_str!("viewer/measure.js");
const PATIENCE: Duration = Duration::from_secs(120);

fn with_script(page: &str) -> String {
    page.replace("</html>", &format!("<script>{SCRIPT}</script></html>"))
}

/// The trace in a file of so many events, as the command `view` reads it.
fn read_from_disk(file: &std::path::Path) -> Trace {
    Trace::read(&fs::read(file).unwrap()).unwrap().0
}

/// Prints and checks what the script has measured: the time until the page is painted, and the time between frames in
/// each movement, in milliseconds.
fn report(what: &str, prepared: Duration, result: &str) {
    let result: serde_json::Value = serde_json::from_str(result).expect("the script measures");
    let painted = result["painted"].as_f64().unwrap();
    let all = prepared.as_secs_f64() + painted / 1000.0;
    println!("{what}: {all:.2} s until it is painted, {painted:.0} ms of them in the browser");
    assert!(all < 5.0, "{what} loads in 5 seconds");
    for movement in result["movements"].as_array().unwrap() {
        println!("  {}", movement["text"].as_str().unwrap());
        let median = movement["median"].as_f64().unwrap();
        assert!(median < 17.5, "{what} moves at 60 frames a second");
    }
}

#[test]
#[ignore = "a measurement, of optimised code on a machine that does nothing else"]
fn a_million_events_are_one_file() {
    let Some(browser) = browser() else { return };
    let folder = tempfile::tempdir().unwrap();
    let file = folder.path().join("long.trace");
    fs::write(&file, long(1_000_000).to_bytes()).unwrap();
    let start = Instant::now();
    let page = export::html(&[("long", &read_from_disk(&file))]);
    let prepared = start.elapsed();
    let place = folder.path().join("long.html");
    fs::write(&place, with_script(&page)).unwrap();
    println!("the page has {:.1} MB", page.len() as f64 / 1e6);
    let result = result(&browser, &format!("file://{}", place.display()), PATIENCE);
    report("a page of a million events", prepared, &result);
}

#[test]
#[ignore = "a measurement, of optimised code on a machine that does nothing else"]
fn ten_million_events_are_served() {
    let Some(browser) = browser() else { return };
    let folder = tempfile::tempdir().unwrap();
    let file = folder.path().join("long.trace");
    fs::write(&file, long(10_000_000).to_bytes()).unwrap();
    let start = Instant::now();
    let mut site = Site::new(vec![("long".to_string(), read_from_disk(&file))]);
    site.page = with_script(&site.page);
    let server = Server::bind(site).unwrap();
    let prepared = start.elapsed();
    let url = server.url();
    thread::spawn(move || server.run());
    let result = result(&browser, &url, PATIENCE);
    report("ten million events, served", prepared, &result);
}

/// The measurement itself, of a small trace.
#[test]
fn frames_are_counted() {
    let Some(browser) = browser() else { return };
    let mut site = Site::new(vec![("long".to_string(), read(&long(20_000)))]);
    site.page =
        with_script(&site.page).replace("<header>", "<script>isShort = true;</script><header>");
    let server = Server::bind(site).unwrap();
    let url = server.url();
    thread::spawn(move || server.run());
    let result: serde_json::Value =
        serde_json::from_str(&result(&browser, &url, PATIENCE)).unwrap();
    assert!(result["painted"].as_f64().unwrap() > 0.0, "{result}");
    assert_eq!(result["movements"].as_array().unwrap().len(), 4, "{result}");
    assert_eq!(
        result["blank"], 0,
        "what is in view is painted, if only roughly"
    );
    assert_eq!(
        result["isDetailed"], true,
        "and in detail when the page rests"
    );
    assert_eq!(result["isAhead"], true, "what is beside it is there, too");
}

#[test]
fn a_long_page_has_an_overview() {
    let tiles = |events| {
        let page = export::html(&[("long", &read(&long(events)))]);
        let (_, data) = page.split_once("type=\"application/json\">").unwrap();
        let (data, _) = data.split_once("</script>").unwrap();
        let data: serde_json::Value = serde_json::from_str(data).unwrap();
        data[0]["overview"].as_array().map(Vec::len)
    };
    assert_eq!(tiles(20_000), None);
    let tiles = tiles(100_001).expect("most of it is painted from tiles");
    assert!((4..=8).contains(&tiles), "{tiles}");
}
