//! The files of boot images and of the programs in them: one for each content, so that simultaneous runs never
//! see each other's.

use std::fs::{self, File};
use std::hash::{DefaultHasher, Hash, Hasher};
use std::path::{Path, PathBuf};
use std::time::{Duration, SystemTime};

use anyhow::Context;

use crate::Result;
use crate::build::write_if_changed;

/// How long an unused image is kept: longer than any run takes to begin.
const KEPT: Duration = Duration::from_secs(24 * 60 * 60);

/// Writes an image of the kind `name`; returns its path.
pub(crate) fn write(folder: &Path, name: &str, bytes: &[u8]) -> Result<PathBuf> {
    let mut hasher = DefaultHasher::new();
    bytes.hash(&mut hasher);
    let path = folder.join(format!("{name}-{:08x}.elf", hasher.finish() as u32));
    write_if_changed(&path, bytes)?;
    // Marks the file as just used.
    let file = File::options().write(true).open(&path);
    file.and_then(|file| file.set_modified(SystemTime::now()))
        .with_context(|| format!("cannot write {}", path.display()))?;
    remove_old(folder);
    Ok(path)
}

/// Keeps a copy of a program that cargo has built; returns its path.
pub(crate) fn keep(folder: &Path, program: &Path) -> Result<PathBuf> {
    let name = program.file_stem().unwrap_or_default().to_string_lossy();
    let context = || format!("cannot read {}", program.display());
    write(folder, &name, &fs::read(program).with_context(context)?)
}

/// The name of the program in the file at `path`.
pub(crate) fn program_name(path: &Path) -> Option<&str> {
    let (name, _hash) = path.file_stem()?.to_str()?.rsplit_once('-')?;
    Some(name)
}

/// Removes images that no run needs any more.
fn remove_old(folder: &Path) {
    for entry in fs::read_dir(folder).into_iter().flatten().flatten() {
        let age = entry.metadata().and_then(|file| file.modified());
        let is_old = age.is_ok_and(|time| time.elapsed().is_ok_and(|age| age > KEPT));
        if is_old {
            // Another run of the tool may have removed it already.
            let _ = fs::remove_file(entry.path());
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::temporary;

    #[test]
    fn images_that_differ_have_files_of_their_own() {
        let folder = temporary::Folder::new().unwrap();
        let write = |bytes: &[u8]| write(folder.path(), "demo-debug", bytes).unwrap();
        let (one, other) = (write(b"one"), write(b"other"));
        assert_ne!(one, other);
        assert_eq!(write(b"one"), one);
        assert_eq!(fs::read(&other).unwrap(), b"other");
        let old = File::options().write(true).open(&one).unwrap();
        old.set_modified(SystemTime::now() - 2 * KEPT).unwrap();
        write(b"other");
        assert!(!one.exists() && other.exists());
    }
}
