//! The book's pictures of the page: systems run, and a script shows the part of their traces that the book tells of. They
//! are made again by
//!
//!     cargo test --profile tool -p trace --test viewer -- --ignored

use std::fs;
use std::path::Path;
use std::process::Command;

use trace::{Trace, export};

use super::FRAMES;
use super::browser::{browser, headless};

/// What all scripts can do.
const SCRIPT: &str = include_str!("pictures.js");
/// Readers of the book load all of them.
const MOST_BYTES: u64 = 150_000;

struct Picture {
    /// The name of its file.
    name: &'static str,
    /// The arguments of `cargo xtask trace` for the run.
    run: &'static [&'static str],
    /// The width and the height of the browser's window.
    size: (u32, u32),
    /// What a person does.
    steps: &'static str,
}

const PICTURES: [Picture; 4] = [
    Picture {
        name: "trace-whole",
        run: &[],
        size: (1200, 780),
        steps: "",
    },
    Picture {
        name: "trace-viewer",
        run: &[],
        size: (1400, 940),
        steps: "jump('timeouts'); await zoom(25);",
    },
    Picture {
        name: "trace-cores",
        run: &["--system", "mcipc", "--smp", "4"],
        size: (1100, 700),
        steps: "jump('budget ends'); await zoom(25); press('t');",
    },
    Picture {
        name: "trace-rates",
        run: &["--system", "rates", "--seconds", "20"],
        size: (1200, 620),
        steps: "",
    },
];

#[test]
#[ignore = "runs systems in QEMU, and writes the book's pictures"]
fn the_pictures_of_the_book() {
    let Some(browser) = browser() else { return };
    let root = Path::new(env!("CARGO_MANIFEST_DIR")).join("../..");
    let folder = tempfile::tempdir().unwrap();
    for (number, picture) in PICTURES.iter().enumerate() {
        let same = PICTURES.iter().position(|other| other.run == picture.run);
        let file = folder.path().join(format!("{}.trace", same.unwrap()));
        if same == Some(number) {
            let mut command = Command::new(env!("CARGO"));
            command.current_dir(&root).args(["xtask", "trace"]);
            command.args(picture.run).arg("-o").arg(&file);
            assert!(command.status().unwrap().success(), "{}", picture.name);
        }
        let place = root.join(format!("docs/src/images/{}.png", picture.name));
        take(&browser, folder.path(), &file, picture, &place);
    }
}

fn take(browser: &Path, folder: &Path, file: &Path, picture: &Picture, place: &Path) {
    let (trace, _) = Trace::read(&fs::read(file).unwrap()).unwrap();
    let name = picture.run.get(1).unwrap_or(&"demo");
    let page = export::html(&[(name, &trace)]);
    let page = page.replace("<header>", &format!("{FRAMES}<header>"));
    let script = SCRIPT.replace("STEPS", picture.steps);
    let page = page.replace("</html>", &format!("<script>{script}</script></html>"));
    let html = folder.join("picture.html");
    fs::write(&html, page).unwrap();
    let mut command = headless(browser, folder);
    let output = command
        .arg(format!(
            "--window-size={},{}",
            picture.size.0, picture.size.1
        ))
        .arg("--hide-scrollbars")
        .args(["--enable-logging=stderr", "--virtual-time-budget=30000"])
        .arg(format!("--screenshot={}", place.display()))
        .arg(format!("file://{}", html.display()))
        .output()
        .unwrap();
    let errors = String::from_utf8_lossy(&output.stderr);
    assert!(
        errors.contains("result: shown"),
        "{}: {errors}",
        picture.name
    );
    let bytes = place.metadata().unwrap().len();
    assert!(bytes < MOST_BYTES, "{} has {bytes} bytes", picture.name);
}
