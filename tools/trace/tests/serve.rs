//! The server of the page: it answers the page, on this machine, and nothing else.

mod common;
#[path = "common/long.rs"]
mod long;

use std::fs;
use std::io::{BufRead, BufReader, Read, Write};
use std::net::TcpStream;
use std::path::Path;
use std::process::{Command, Stdio};
use std::thread;

use common::read;
use long::long;
use serde_json::Value;
use trace::serve::{Server, Site};

/// The events of the trace.
const EVENTS: usize = 20_000;
/// The bins of a tile.
const BINS: u64 = 512;

/// The address of a server that runs as long as the tests.
fn served() -> String {
    let trace = read(&long(EVENTS));
    let server = Server::bind(Site::new(vec![("long".to_string(), trace)])).unwrap();
    let url = server.url();
    thread::spawn(move || server.run());
    let address = url
        .strip_prefix("http://")
        .and_then(|rest| rest.strip_suffix('/'));
    address.unwrap().to_string()
}

/// Sends a request and reads the status and the text of the answer.
fn ask(address: &str, request: &str) -> (u16, String) {
    let mut stream = TcpStream::connect(address).unwrap();
    stream.write_all(request.as_bytes()).unwrap();
    let mut answer = String::new();
    stream.read_to_string(&mut answer).unwrap();
    let status = answer
        .split(' ')
        .nth(1)
        .expect("it is HTTP")
        .parse()
        .unwrap();
    let (_, text) = answer.split_once("\r\n\r\n").unwrap_or_default();
    (status, text.to_string())
}

fn get(address: &str, path: &str) -> (u16, String) {
    ask(
        address,
        &format!("GET {path} HTTP/1.1\r\nHost: {address}\r\nConnection: close\r\n\r\n"),
    )
}

fn json(address: &str, path: &str) -> Value {
    let (status, text) = get(address, path);
    assert_eq!(status, 200, "{path}: {text}");
    serde_json::from_str(&text).unwrap()
}

fn numbers(list: &Value) -> Vec<i64> {
    let list = list.as_array().unwrap().iter();
    list.map(|one| one.as_i64().unwrap()).collect()
}

#[test]
fn nothing_but_the_page_and_its_data_is_served() {
    let address = served();
    assert!(address.starts_with("127.0.0.1:"), "{address}");
    let (status, page) = get(&address, "/");
    assert_eq!(status, 200);
    assert!(page.starts_with("<!doctype html>"), "{page}");
    let refused = [
        ("/page.js", 404),
        ("/../../Cargo.toml", 404),
        ("/..%2f..%2fetc/passwd", 404),
        ("//etc/passwd", 404),
        ("/findings?trace=1", 404),
        ("/tile?trace=0&level=0&index=99999999", 404),
        ("/tile?trace=0&level=63&index=18446744073709551615", 404),
        ("/tile?trace=0&level=64&index=0", 404),
        ("/tile?trace=0&level=0", 400),
        ("/sums?trace=0&from=-1&to=2", 400),
        ("/next?trace=x", 400),
    ];
    for (path, expected) in refused {
        let (status, text) = get(&address, path);
        assert_eq!(status, expected, "{path}: {text}");
        assert_eq!(text.lines().count(), 1, "{path}: {text}");
    }
    let close = "Connection: close\r\n\r\n";
    for method in ["POST", "PUT", "DELETE", "HEAD", "OPTIONS"] {
        let request =
            format!("{method} / HTTP/1.1\r\nHost: {address}\r\nContent-Length: 0\r\n{close}");
        assert_eq!(ask(&address, &request).0, 405, "{method}");
    }
    // Another site whose name leads here.
    let request = format!("GET / HTTP/1.1\r\nHost: example.org\r\n{close}");
    assert_eq!(ask(&address, &request).0, 400);
    assert_eq!(ask(&address, &format!("GET / HTTP/1.1\r\n{close}")).0, 400);
    assert_eq!(ask(&address, "nonsense\r\n\r\n").0, 400);
    assert_eq!(get(&address, "/").0, 200, "it goes on");
}

#[test]
fn several_requests_are_answered_at_once() {
    let address = served();
    // Connections that say nothing, and that do not end what they say.
    let idle: Vec<_> = (0..40)
        .map(|_| TcpStream::connect(&address).unwrap())
        .collect();
    for mut stream in &idle {
        stream.write_all(b"GET / HTTP/1.1\r\nHost:").unwrap();
    }
    thread::scope(|scope| {
        for index in 0..16 {
            let address = &address;
            scope.spawn(move || json(address, &format!("/tile?trace=0&level=4&index={index}")));
        }
    });
}

/// At each level of detail, the tiles together have all of the time, and none of them is much longer than its bins.
#[test]
fn all_levels_of_detail_agree() {
    let address = served();
    let trace = read(&long(EVENTS));
    let (start, end) = (trace.start(), trace.end);
    let all = json(&address, &format!("/sums?trace=0&from={start}&to={end}"));
    let expected: Vec<_> = all["contexts"]
        .as_array()
        .unwrap()
        .iter()
        .map(|sums| numbers(sums)[0])
        .collect();
    assert!(expected.iter().sum::<i64>() > 10_000);
    for level in [0, 3, 6, 10] {
        let length = BINS << level;
        let mut received = vec![0; expected.len()];
        let mut ran = 0;
        for index in 0..(end - start).div_ceil(length) {
            let tile = json(
                &address,
                &format!("/tile?trace=0&level={level}&index={index}"),
            );
            let begin = (start + index * length) as i64;
            // Spans that begin before belong to the tile before.
            let time = |rows: &Value| {
                let rows = numbers(rows);
                assert!(
                    rows.len() / 5 <= 3 * BINS as usize,
                    "level {level}, tile {index}: {}",
                    rows.len()
                );
                let mut at = 0;
                let mut sum = 0;
                for row in rows.chunks_exact(5) {
                    let span = at + row[0];
                    at = span + row[1];
                    sum += if span >= begin { row[1] - row[4] } else { 0 };
                }
                sum
            };
            let contexts = tile["contexts"].as_array().unwrap();
            for (sum, context) in received.iter_mut().zip(contexts) {
                *sum += time(&context["uses"]);
                let points = context["times"].as_array().unwrap().len();
                assert!(
                    points <= 4 * BINS as usize + 2,
                    "level {level}, tile {index}: {points} points"
                );
            }
            ran += tile["threads"]
                .as_array()
                .unwrap()
                .iter()
                .map(time)
                .sum::<i64>();
            let marks = tile["marks"].as_array().unwrap();
            assert!(marks.len() <= 6 * BINS as usize, "{}", marks.len());
        }
        assert_eq!(received, expected, "level {level}");
        assert_eq!(ran, expected.iter().sum::<i64>(), "level {level}");
    }
    let levels = [0, 12].map(|level| {
        let tile = json(&address, &format!("/tile?trace=0&level={level}&index=0"));
        numbers(&tile["cores"][0]).len()
    });
    assert!(levels[0] < levels[1], "a short part has less: {levels:?}");
}

#[test]
fn targets_are_found_in_both_directions() {
    let address = served();
    let findings = json(&address, "/findings?trace=0");
    let ends = &findings["targets"][0];
    assert_eq!(ends["what"], "budget ends");
    let mut time = 0;
    let mut found = Vec::new();
    while let Some(next) =
        json(&address, &format!("/next?trace=0&target=0&time={time}"))["time"].as_u64()
    {
        found.push(next);
        time = next;
    }
    assert_eq!(ends["count"], found.len());
    assert!(found.len() > 10 && found.is_sorted());
    let last = found[found.len() - 1];
    let before = json(&address, &format!("/previous?trace=0&target=0&time={last}"));
    assert_eq!(before["time"], found[found.len() - 2]);
    assert_eq!(findings["broken"], 0);
}

fn command(arguments: &[&str], folder: &Path) -> Command {
    let mut command = Command::new(env!("CARGO_BIN_EXE_trace"));
    // Without programs, so that none opens a browser.
    command
        .arg("view")
        .args(arguments)
        .current_dir(folder)
        .env("PATH", "");
    command
}

#[test]
fn the_command_serves_until_it_is_stopped() {
    let folder = tempfile::tempdir().unwrap();
    fs::write(folder.path().join("long.trace"), long(EVENTS).to_bytes()).unwrap();
    let mut child = command(&["--serve", "long.trace"], folder.path())
        .stdout(Stdio::piped())
        .spawn()
        .unwrap();
    let mut lines = BufReader::new(child.stdout.take().unwrap()).lines();
    let url = lines.next().unwrap().unwrap();
    let address = url
        .strip_prefix("http://")
        .and_then(|rest| rest.strip_suffix('/'))
        .unwrap();
    assert_eq!(get(address, "/").0, 200);
    // SIGTERM: a shell has its background commands ignore SIGINT, and so may this test's parents.
    let sent = Command::new("kill")
        .args(["-TERM", &child.id().to_string()])
        .status()
        .unwrap();
    assert!(sent.success());
    assert!(!child.wait().unwrap().success());
    assert!(TcpStream::connect(address).is_err());
    assert!(
        !folder.path().join("long.html").exists(),
        "no page is written"
    );
}

#[test]
fn bad_input_is_refused_in_a_sentence() {
    let folder = tempfile::tempdir().unwrap();
    fs::write(folder.path().join("text"), "this is no trace").unwrap();
    for (file, sentence) in [
        ("text", "error: text: this is no trace file\n"),
        (
            "none",
            "error: cannot read none: No such file or directory (os error 2)\n",
        ),
    ] {
        let output = command(&["--serve", file], folder.path()).output().unwrap();
        assert_eq!(output.status.code(), Some(2));
        assert_eq!(String::from_utf8_lossy(&output.stderr), sentence);
    }
    let output = command(&["--serve", "--html", "page.html", "text"], folder.path())
        .output()
        .unwrap();
    assert_eq!(output.status.code(), Some(2));
}
