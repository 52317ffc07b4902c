//! From addresses of a program to its source, by the program `symbols`, which is built at first use.

use std::collections::HashMap;
use std::fmt::Write;
use std::io::Write as _;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};

use anyhow::{Context, ensure};
use serde::Deserialize;

use crate::Result;
use crate::programs::{self, Program};
use crate::workspace::Workspace;

/// The source of an instruction.
#[derive(Clone, Debug, Deserialize)]
pub(crate) struct Place {
    pub(crate) function: String,
    /// File and line.
    pub(crate) location: String,
}

/// That program.
#[derive(Clone, Debug)]
pub(crate) struct Symbolizer {
    file: PathBuf,
}

impl Symbolizer {
    /// Builds it, unless it is there.
    pub(crate) fn build(workspace: &Workspace) -> Result<Self> {
        Ok(Self {
            file: programs::build(workspace, Program::Symbols)?,
        })
    }

    /// The program in `file`.
    #[cfg(test)]
    pub(crate) fn at(file: &Path) -> Self {
        Self { file: file.into() }
    }

    /// The functions of the instruction at `address`: the innermost first, then those into which it was inlined; none
    /// if it is not in `program`.
    pub(crate) fn frames(&self, program: &Path, address: u64) -> Result<Vec<Place>> {
        let places = self.ask("frames", program, &format!("{address:#x}"))?;
        Ok(places.into_iter().next().unwrap_or_default())
    }

    /// The frames of each function in a thread's chain of calls, the innermost first. `registers` and `stack` are as the
    /// userlib prints them.
    pub(crate) fn callers(
        &self,
        program: &Path,
        registers: &str,
        stack: &str,
    ) -> Result<Vec<Vec<Place>>> {
        self.ask("callers", program, &format!("{registers}\n{stack}\n"))
    }

    fn ask(&self, question: &str, program: &Path, input: &str) -> Result<Vec<Vec<Place>>> {
        let started = Command::new(&self.file)
            .arg(question)
            .arg(program)
            .stdin(Stdio::piped())
            .stdout(Stdio::piped())
            .stderr(Stdio::piped())
            .spawn();
        let mut child = started.with_context(|| format!("cannot start {}", self.file.display()))?;
        // It reads everything before it writes, and if it does not read, it says why.
        if let Some(mut pipe) = child.stdin.take() {
            let _ = pipe.write_all(input.as_bytes());
        }
        let printed = programs::printed(child.wait_with_output()?)?;
        Ok(serde_json::from_slice(&printed)?)
    }
}

/// The innermost functions of some instructions.
pub(crate) struct Symbols {
    places: HashMap<u64, Place>,
}

impl Symbols {
    /// Those of the addresses in `path`, which are in `program`.
    pub(crate) fn of(symbolizer: &Symbolizer, program: &Path, path: &[u64]) -> Result<Self> {
        let mut addresses = path.to_vec();
        addresses.sort_unstable();
        addresses.dedup();
        let mut input = String::new();
        for address in &addresses {
            let _ = writeln!(input, "{address:#x}");
        }
        let places = symbolizer.ask("at", program, &input)?;
        let places: Vec<_> = places.into_iter().flatten().collect();
        ensure!(
            places.len() == addresses.len(),
            "`symbols` does not know all addresses in {}",
            program.display()
        );
        Ok(Self {
            places: addresses.into_iter().zip(places).collect(),
        })
    }

    /// The source of the instruction at `address`, which is one of them.
    pub(crate) fn at(&self, address: u64) -> &Place {
        &self.places[&address]
    }
}
