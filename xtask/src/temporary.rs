//! Files and folders that are deleted with their owner, under names that nothing else has.
//!
//! The crate `tempfile` does more; its libraries would be a twentieth of what a first run compiles.

use std::fs::{self, DirBuilder};
use std::hash::{BuildHasher, RandomState};
use std::io;
use std::os::unix::fs::DirBuilderExt;
use std::path::{Path, PathBuf};

use anyhow::Context;

use crate::Result;

/// A folder that no other user of the host can read.
#[derive(Debug)]
pub(crate) struct Folder(PathBuf);

impl Folder {
    /// In the host's folder for such.
    pub(crate) fn new() -> Result<Self> {
        in_host_folder(|folder| Self::new_in(folder))
    }

    /// In the folder in which `path` is to be, which is made unless it exists.
    pub(crate) fn beside(path: &Path) -> io::Result<Self> {
        Self::new_in(parent_of(path)?)
    }

    pub(crate) fn new_in(parent: impl AsRef<Path>) -> io::Result<Self> {
        let make = |path: &Path| DirBuilder::new().mode(0o700).create(path);
        let (path, ()) = unused(parent.as_ref(), make)?;
        Ok(Self(path))
    }

    pub(crate) fn path(&self) -> &Path {
        &self.0
    }
}

impl Drop for Folder {
    fn drop(&mut self) {
        // What cannot be deleted stays.
        let _ = fs::remove_dir_all(&self.0);
    }
}

/// A file, open for reading and writing; unlike a [`Folder`], other users may read it.
#[derive(Debug)]
pub(crate) struct File {
    path: PathBuf,
    file: fs::File,
}

impl File {
    /// In the host's folder for such.
    pub(crate) fn new() -> Result<Self> {
        in_host_folder(|folder| Self::new_in(folder))
    }

    /// The same, with these contents.
    pub(crate) fn of(bytes: impl AsRef<[u8]>) -> Result<Self> {
        let file = Self::new()?;
        let written = fs::write(&file.path, bytes);
        written.with_context(|| format!("cannot write {}", file.path.display()))?;
        Ok(file)
    }

    /// In the folder in which `path` is to be, which is made unless it exists.
    pub(crate) fn beside(path: &Path) -> io::Result<Self> {
        Self::new_in(parent_of(path)?)
    }

    pub(crate) fn new_in(parent: impl AsRef<Path>) -> io::Result<Self> {
        let (path, file) = unused(parent.as_ref(), |path| fs::File::create_new(path))?;
        Ok(Self { path, file })
    }

    pub(crate) fn path(&self) -> &Path {
        &self.path
    }

    pub(crate) fn handle(&self) -> &fs::File {
        &self.file
    }

    /// Gives the file a name for good, instead of the file that has it.
    pub(crate) fn keep_as(self, path: &Path) -> io::Result<()> {
        // Its own name no longer exists when it is dropped.
        fs::rename(&self.path, path)
    }
}

impl Drop for File {
    fn drop(&mut self) {
        let _ = fs::remove_file(&self.path);
    }
}

/// Makes something in the host's folder for such, which an error names.
fn in_host_folder<T>(make: impl FnOnce(&Path) -> io::Result<T>) -> Result<T> {
    let folder = std::env::temp_dir();
    make(&folder).with_context(|| format!("cannot write to {}", folder.display()))
}

/// The folder in which `path` is; it is made unless it exists.
fn parent_of(path: &Path) -> io::Result<&Path> {
    let parent = match path.parent() {
        Some(parent) if parent != Path::new("") => parent,
        _ => Path::new("."),
    };
    fs::create_dir_all(parent)?;
    Ok(parent)
}

/// Makes something in `parent` under a name that nothing has.
fn unused<T>(parent: &Path, make: impl Fn(&Path) -> io::Result<T>) -> io::Result<(PathBuf, T)> {
    loop {
        let number = RandomState::new().hash_one(());
        let path = parent.join(format!(".xtask-{number:016x}"));
        match make(&path) {
            Err(error) if error.kind() == io::ErrorKind::AlreadyExists => {}
            made => return Ok((path, made?)),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn they_go_with_their_owners() {
        let folder = Folder::new().unwrap();
        let file = File::new_in(folder.path()).unwrap();
        let other = File::new_in(folder.path()).unwrap();
        assert_ne!(file.path(), other.path());
        let path = file.path().to_path_buf();
        assert!(path.exists());
        drop(file);
        assert!(!path.exists());
        let path = folder.path().to_path_buf();
        drop(folder);
        assert!(!path.exists(), "with what is in it");
    }

    #[test]
    fn errors_name_the_place() {
        assert_eq!(
            fs::read(File::of("words").unwrap().path()).unwrap(),
            b"words"
        );
        let error = in_host_folder(|folder| Folder::new_in(folder.join("none")));
        let error = error.unwrap_err().to_string();
        let folder = std::env::temp_dir();
        assert_eq!(error, format!("cannot write to {}", folder.display()));
    }

    #[test]
    fn a_kept_file_replaces_another() {
        let folder = Folder::new().unwrap();
        let path = folder.path().join("made/name");
        let file = File::beside(&path).unwrap();
        fs::write(&path, "old").unwrap();
        fs::write(file.path(), "new").unwrap();
        file.keep_as(&path).unwrap();
        assert_eq!(fs::read_to_string(&path).unwrap(), "new");
        assert_eq!(fs::read_dir(path.parent().unwrap()).unwrap().count(), 1);
    }

    #[test]
    fn an_impossible_place_is_an_error() {
        let folder = Folder::new().unwrap();
        assert!(File::new_in(folder.path().join("none")).is_err());
    }
}
