//! Pages in a headless Chromium, with scripts that use them.

use std::env;
use std::io::{BufRead, BufReader};
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};
use std::sync::mpsc;
use std::thread;
use std::time::Duration;

use crate::common::readers;

/// The names of the browser.
const BROWSERS: [&str; 3] = ["chromium", "chromium-browser", "google-chrome"];
/// What a script prints before its result.
const RESULT: &str = "result: ";

/// The browser, if there is one.
pub fn browser() -> Option<PathBuf> {
    let path = env::var_os("PATH")?;
    let folders: Vec<_> = env::split_paths(&path).collect();
    let files = BROWSERS
        .iter()
        .flat_map(|name| folders.iter().map(move |folder| folder.join(name)));
    let found = files.into_iter().find(|file| file.is_file());
    if found.is_none() {
        readers::skip("Chromium", "apt-get install chromium");
    }
    found
}

/// The command that opens pages without a window, with its files in a folder.
pub fn headless(browser: &Path, folder: &Path) -> Command {
    let mut command = Command::new(browser);
    let profile = folder.join("profile");
    command
        .args([
            "--headless",
            "--no-sandbox",
            "--disable-gpu",
            "--window-size=1400,1000",
        ])
        .arg(format!("--user-data-dir={}", profile.display()));
    command
}

/// What the script of a page prints as its result, in real time, with the frames that the browser paints.
pub fn result(browser: &Path, url: &str, patience: Duration) -> String {
    let folder = tempfile::tempdir().unwrap();
    let mut command = headless(browser, folder.path());
    // The port keeps the browser from ending when the page is loaded.
    command.args(["--enable-logging=stderr", "--remote-debugging-port=0", url]);
    let mut child = Ended(
        command
            .stdout(Stdio::null())
            .stderr(Stdio::piped())
            .spawn()
            .unwrap(),
    );
    let lines = BufReader::new(child.0.stderr.take().unwrap()).lines();
    let (sender, receiver) = mpsc::channel();
    thread::spawn(move || {
        for line in lines.map_while(Result::ok) {
            if let Some((_, result)) = line.split_once(RESULT) {
                let (result, _) = result.split_once("\", source:").unwrap_or((result, ""));
                let _ = sender.send(result.to_string());
            }
        }
    });
    receiver
        .recv_timeout(patience)
        .expect("the script ends in time")
}

/// A process that does not survive the test.
struct Ended(Child);

impl Drop for Ended {
    fn drop(&mut self) {
        let _ = self.0.kill();
        let _ = self.0.wait();
    }
}
