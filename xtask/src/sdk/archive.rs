//! The archive's writer: the same files make the same bytes.

use std::collections::BTreeMap;
use std::io::{self, Write};

/// The modification time of every file. Cargo and debuggers distrust files from 1970, so it is the one that the
/// crate `tar` takes for such archives: July 2006.
const TIME: u64 = 1_153_704_088;

/// Files by their paths, which sorts them.
pub(super) type Files = BTreeMap<String, Vec<u8>>;

/// Writes `files` into an archive in which all of them are in `folder`.
pub(super) fn write(out: impl Write, folder: &str, files: &Files) -> io::Result<()> {
    let mut archive = tar::Builder::new(out);
    for (path, contents) in files {
        let mut header = tar::Header::new_ustar();
        header.set_size(contents.len() as u64);
        header.set_mode(0o644);
        header.set_mtime(TIME);
        header.set_uid(0);
        header.set_gid(0);
        archive.append_data(&mut header, format!("{folder}/{path}"), &**contents)?;
    }
    archive.into_inner()?.flush()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_same_files_make_the_same_bytes_in_any_order() {
        let archive = |names: [&str; 3]| {
            let files = names.map(|name| (name.to_string(), name.as_bytes().to_vec()));
            let mut bytes = Vec::new();
            write(&mut bytes, "sdk", &Files::from(files)).unwrap();
            bytes
        };
        let bytes = archive(["b", "a/c", "a/b"]);
        assert_eq!(bytes, archive(["a/b", "b", "a/c"]));
        let mut read = tar::Archive::new(&*bytes);
        let entries = read.entries().unwrap().map(|entry| {
            let entry = entry.unwrap();
            let header = entry.header();
            assert_eq!(header.mtime().unwrap(), TIME);
            assert_eq!((header.uid().unwrap(), header.gid().unwrap()), (0, 0));
            entry.path().unwrap().to_str().unwrap().to_string()
        });
        let entries: Vec<_> = entries.collect();
        assert_eq!(entries, ["sdk/a/b", "sdk/a/c", "sdk/b"]);
    }
}
