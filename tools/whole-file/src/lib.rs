//! Writes the results of a program. A file is written as a whole, or not at all: a disk that is full, or an interruption,
//! leaves the old file or none.

use std::io::Write;
use std::path::{Path, PathBuf};
use std::{fs, io, process};

/// Writes a file, instead of one that is there. What is there and is no file, as a pipe, gets the bytes as they come; a link
/// to a file stays one.
///
/// # Errors
/// Why it cannot be written; it is as before then.
pub fn write(path: impl AsRef<Path>, bytes: impl AsRef<[u8]>) -> io::Result<()> {
    let path = path.as_ref();
    let Some(file) = file_at(path)? else {
        return fs::write(path, bytes);
    };
    let part = part_of(&file);
    let written = fs::write(&part, bytes).and_then(|()| fs::rename(&part, &file));
    if written.is_err() {
        // What could not be made is not there, either.
        let _ = fs::remove_file(&part);
    }
    written
}

/// Refuses a place where [`write()`] could not write, before there is something to write. What is there stays as it is.
///
/// # Errors
/// Why a file cannot be written there: it is a folder, there is none for the file, or nothing may be written to that.
pub fn require_place(path: impl AsRef<Path>) -> io::Result<()> {
    let path = path.as_ref();
    match file_at(path)?.map(|file| part_of(&file)) {
        Some(part) => fs::write(&part, "").and_then(|()| fs::remove_file(&part)),
        None if path.is_dir() => {
            let kind = io::ErrorKind::IsADirectory;
            Err(io::Error::new(kind, "it is a folder"))
        }
        None => Ok(()),
    }
}

/// The file that is written at `path`; none if what is there is no file.
fn file_at(path: &Path) -> io::Result<Option<PathBuf>> {
    match fs::metadata(path) {
        Ok(old) if !old.is_file() => Ok(None),
        Ok(_) => fs::canonicalize(path).map(Some),
        Err(_) => Ok(Some(path.to_path_buf())),
    }
}

/// The file's name while it is not complete.
fn part_of(file: &Path) -> PathBuf {
    let mut part = file.as_os_str().to_owned();
    part.push(format!(".{}.part", process::id()));
    part.into()
}

/// Prints a result, or a part of one, on the standard output. A reader that has seen enough is no error.
///
/// # Errors
/// Why it cannot be printed; for example, the output goes to a file on a disk that is full.
pub fn print(text: impl AsRef<[u8]>) -> io::Result<()> {
    print_to(io::stdout().lock(), text.as_ref())
}

fn print_to(mut out: impl Write, text: &[u8]) -> io::Result<()> {
    let written = out.write_all(text).and_then(|()| out.flush());
    match written {
        Err(error) if error.kind() == io::ErrorKind::BrokenPipe => Ok(()),
        written => written.map_err(|error| {
            let kind = error.kind();
            io::Error::new(
                kind,
                format!("cannot write to the standard output: {error}"),
            )
        }),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::os::fd::AsRawFd;

    #[test]
    fn a_reader_may_leave_but_a_full_disk_is_an_error() {
        let (reader, writer) = io::pipe().unwrap();
        drop(reader);
        print_to(writer, b"words").unwrap();
        let full = fs::OpenOptions::new().write(true).open("/dev/full");
        let error = print_to(full.unwrap(), b"words").unwrap_err().to_string();
        let begin = "cannot write to the standard output: No space left on device";
        assert!(error.starts_with(begin), "{error}");
    }

    #[test]
    fn a_file_is_new_or_as_before() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("report.html");
        let read = || fs::read_to_string(&path).unwrap();
        write(&path, "old").unwrap();
        assert_eq!(read(), "old");
        write(&path, "new").unwrap();
        assert_eq!(read(), "new");
        assert_eq!(fs::read_dir(folder.path()).unwrap().count(), 1);

        // There is no room for the part.
        fs::create_dir(
            folder
                .path()
                .join(format!("report.html.{}.part", process::id())),
        )
        .unwrap();
        assert!(write(&path, "newer").is_err());
        assert_eq!(read(), "new");
        assert!(write(folder.path().join("nowhere/report.html"), "").is_err());
    }

    #[test]
    fn a_link_leads_to_the_new_file() {
        let folder = tempfile::tempdir().unwrap();
        let [file, link] = ["file", "link"].map(|name| folder.path().join(name));
        fs::write(&file, "old").unwrap();
        std::os::unix::fs::symlink("file", &link).unwrap();
        write(&link, "new").unwrap();
        assert!(fs::symlink_metadata(&link).unwrap().is_symlink());
        assert_eq!(fs::read_to_string(&file).unwrap(), "new");
    }

    #[test]
    fn a_bad_place_is_refused_before_there_is_something_to_write() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("report.html");
        require_place(&path).unwrap();
        assert!(!path.exists());
        fs::write(&path, "old").unwrap();
        require_place(&path).unwrap();
        assert_eq!(fs::read_to_string(&path).unwrap(), "old");
        let link = folder.path().join("link");
        std::os::unix::fs::symlink("report.html", &link).unwrap();
        require_place(&link).unwrap();
        assert_eq!(fs::read_dir(folder.path()).unwrap().count(), 2);
        for place in [
            folder.path().to_path_buf(),
            folder.path().join("nowhere/report.html"),
            path.join("report.html"),
            // Where no user may make files.
            PathBuf::from("/proc/report.html"),
        ] {
            assert!(require_place(&place).is_err(), "{}", place.display());
        }
    }

    #[test]
    fn what_is_no_file_stays_what_it_is() {
        require_place("/dev/full").unwrap();
        let (_reader, writer) = io::pipe().unwrap();
        require_place(format!("/proc/self/fd/{}", writer.as_raw_fd())).unwrap();
        assert!(write("/dev/full", "a").is_err());
        write("/dev/null", "a").unwrap();
        assert!(!fs::metadata("/dev/null").unwrap().is_file());
    }
}
