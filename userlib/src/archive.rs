//! The archive behind a root task's program: the system's components, and the parameters of a run.
//!
//! The tool adds it when it makes the boot image (`xtask/src/image`), so that another component or parameter needs no
//! other root task.

use crate::tar;

/// Address and size of the archive; zeros if there is none. The tool finds the variable by its name, and writes it.
#[unsafe(no_mangle)]
static USERLIB_ARCHIVE: [usize; 2] = [0; 2];

/// The file with the parameters: lines `NAME=VALUE`.
const PARAMETERS: &str = "parameters";

/// The contents of the file `name`, if it is in the archive. A component's program has the name of its crate.
pub fn file(name: &str) -> Option<&'static [u8]> {
    tar::find(bytes(), name)
}

/// The value of a parameter; empty if the run does not have it.
pub fn parameter(name: &str) -> &'static str {
    let lines = file(PARAMETERS).and_then(|bytes| core::str::from_utf8(bytes).ok());
    value(lines.unwrap_or_default(), name)
}

fn value<'a>(lines: &'a str, name: &str) -> &'a str {
    let mut pairs = lines.lines().filter_map(|line| line.split_once('='));
    let found = pairs.find(|(known, _)| *known == name);
    found.map_or("", |(_, value)| value)
}

fn bytes() -> &'static [u8] {
    // SAFETY: the variable is valid. The compiler does not know that the tool writes it.
    let [address, size] = unsafe { (&raw const USERLIB_ARCHIVE).read_volatile() };
    if address == 0 {
        return &[];
    }
    // SAFETY: the tool has put so many bytes there, which belong to the program's image and are never written.
    unsafe { core::slice::from_raw_parts(core::ptr::with_exposed_provenance(address), size) }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn parameters_are_found_by_their_whole_names() {
        let lines = "filter=fast_path,irq\ncalls=60\nempty=\n";
        assert_eq!(value(lines, "filter"), "fast_path,irq");
        assert_eq!(value(lines, "calls"), "60");
        for absent in ["empty", "call", "filter=fast_path", ""] {
            assert_eq!(value(lines, absent), "");
        }
    }

    #[test]
    fn without_an_archive_there_are_no_files() {
        assert_eq!(file("component"), None);
        assert_eq!(parameter("filter"), "");
    }
}
