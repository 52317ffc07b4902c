//! Detected mutants of an interrupted run: the next run of the same program does not try them again.

use std::collections::HashMap;
use std::fs::{self, File};
use std::hash::{DefaultHasher, Hash, Hasher};
use std::io::Write;
use std::path::Path;

use crate::Result;
use crate::cli::AssureArguments;

/// A file: its first line identifies the program without a mutant; the others have the name of a mutant and
/// how it was detected.
pub(super) struct Journal {
    file: File,
    detected: HashMap<String, String>,
}

impl Journal {
    /// Opens the journal of a platform, and empties it if it is about another program.
    pub(super) fn open(folder: &Path, arguments: &AssureArguments, image: &[u8]) -> Result<Self> {
        let (platform, cores) = (&arguments.platform, arguments.cores.count);
        let path = folder.join(format!("{platform}-{cores}-mutants.txt"));
        let mut hasher = DefaultHasher::new();
        image.hash(&mut hasher);
        let program = format!("{:016x}", hasher.finish());
        let old = fs::read_to_string(&path).unwrap_or_default();
        if old.lines().next() != Some(&program) {
            fs::write(&path, format!("{program}\n"))?;
        }
        let text = fs::read_to_string(&path)?;
        let detected = text.lines().filter_map(|line| line.split_once('\t'));
        Ok(Self {
            file: File::options().append(true).open(path)?,
            detected: detected.map(|(a, b)| (a.into(), b.into())).collect(),
        })
    }

    /// How a mutant was detected.
    pub(super) fn detected(&self, name: &str) -> Option<String> {
        self.detected.get(name).cloned()
    }

    /// Notes how a mutant was detected, unless it is noted.
    pub(super) fn add(&mut self, name: &str, how: &str) -> Result<()> {
        if !self.detected.contains_key(name) {
            writeln!(self.file, "{name}\t{how}")?;
        }
        Ok(())
    }
}
