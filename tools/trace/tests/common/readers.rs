//! Programs that others wrote, and that read what is exported. Where one is not installed, tests that need it check nothing.

use std::env;
use std::io::{self, Write};
use std::sync::Once;

/// The variable of a full run (`cargo xtask test --all`), which needs all of them.
pub const ALL: &str = "ESCAPEMENT_ALL_READERS";

/// Says, once in each program of tests, that a reader is missing, and what installs it. In a full run, this fails.
#[track_caller]
pub fn skip(reader: &str, installation: &str) {
    static SAID: Once = Once::new();
    let words = format!("there is no {reader}; try `{installation}`");
    assert!(env::var_os(ALL).is_none(), "{words}");
    // What a test prints that passes is not shown, but what it writes is.
    SAID.call_once(|| {
        let _ = writeln!(io::stderr(), "skipped: {words}");
    });
}
