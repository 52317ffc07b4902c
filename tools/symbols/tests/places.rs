//! What the program tells of a program of the host.

use std::env;
use std::fs;
use std::io::Write;
use std::path::{Path, PathBuf};
use std::process::{Command, Output, Stdio};

use object::{Object, ObjectSymbol};

/// What it says when it is asked about `program`.
fn ask(question: &str, program: &Path, input: &str) -> Output {
    let mut child = Command::new(env!("CARGO_BIN_EXE_symbols"))
        .arg(question)
        .arg(program)
        .stdin(Stdio::piped())
        .stdout(Stdio::piped())
        .stderr(Stdio::piped())
        .spawn()
        .unwrap();
    child
        .stdin
        .take()
        .unwrap()
        .write_all(input.as_bytes())
        .unwrap();
    child.wait_with_output().unwrap()
}

/// A program with debug information, and the address of its function `landmark`.
fn program(name: &str) -> (PathBuf, u64) {
    let program = Path::new(env!("CARGO_TARGET_TMPDIR")).join(name);
    let source = program.with_extension("rs");
    let code = "#[inline(never)] fn landmark() -> u64 { std::hint::black_box(7) } fn main() { landmark(); }";
    fs::write(&source, code).unwrap();
    let mut rustc = Command::new(env::var_os("RUSTC").unwrap_or_else(|| "rustc".into()));
    rustc.arg("-g").arg(&source).arg("-o").arg(&program);
    assert!(rustc.status().unwrap().success());
    // The program may be loaded at any address; its symbols have the linked addresses.
    let bytes = fs::read(&program).unwrap();
    let file = object::File::parse(&*bytes).unwrap();
    let is_landmark = |name: &str| name.contains("landmark");
    let symbol = file.symbols().find(|it| it.name().is_ok_and(is_landmark));
    (program, symbol.unwrap().address())
}

#[test]
fn an_address_has_function_file_and_line() {
    let (program, address) = program("crash");
    for question in ["frames", "at"] {
        let output = ask(question, &program, &format!("{address:#x}\n0x1\n"));
        let text = String::from_utf8(output.stdout).unwrap();
        assert!(
            text.contains("landmark") && text.contains("crash.rs:1"),
            "{text}"
        );
        // No function is at the second address.
        assert_eq!(text.ends_with(",[]]"), question == "frames", "{text}");
    }
}

#[test]
fn what_cannot_be_read_is_an_error_in_one_sentence() {
    let (program, _) = program("error");
    for (question, input, words) in [
        ("frames", "401000\n", "an address does not begin with 0x"),
        ("callers", "rip 0x1", "there is no stack"),
        ("callers", "rip 1\n", "the registers cannot be read"),
        ("callers", "rip 0x1\n0x2", "the stack cannot be read"),
        ("fly", "", "symbols prints frames, at or callers, not fly"),
    ] {
        let output = ask(question, &program, input);
        assert_eq!(output.status.code(), Some(2), "{question}");
        let error = String::from_utf8(output.stderr).unwrap();
        assert_eq!(error, format!("error: {words}\n"));
    }
}
