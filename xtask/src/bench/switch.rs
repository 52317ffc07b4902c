//! The suite `switch`: what a guest loses after a switch, until its working set is in the caches again.

use std::fs;

use anyhow::{Context, bail};

use super::measurement::{self, Measurement};
use crate::cli::BenchArguments;
use crate::workspace::Workspace;
use crate::{Result, analyse, temporary};

const SUITE: &str = "switch";

/// Whether a result belongs to the suite. Hundreds of them are points of curves, which [`show`] describes.
pub(super) fn is_point(one: &Measurement) -> bool {
    one.suite == SUITE
}

/// Refuses to compare the suite with references: it is about caches, and the references are those of emulators.
pub(super) fn require_no_reference(arguments: &BenchArguments) -> Result<()> {
    let is_wanted = arguments
        .suite
        .as_deref()
        .is_some_and(|suite| suite.starts_with(SUITE));
    let compares = arguments.write_reference || matches!(arguments.compare, Some(None));
    if is_wanted && compares {
        bail!(
            "the suite `{SUITE}` has no reference results, as emulators have no caches; give a file of a board, \
             `--compare FILE`"
        );
    }
    Ok(())
}

/// Shows the cost of a switch, as the analyser fits it to the results.
pub(super) fn show(workspace: &Workspace, measured: &[Measurement]) -> Result<()> {
    let file = temporary::File::new().context("cannot make a file for the results")?;
    fs::write(file.path(), measurement::format_list(measured)?)
        .context("cannot write the file for the results")?;
    analyse::switch(workspace, file.path(), None)?;
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn there_is_no_reference() {
        let mut arguments = BenchArguments::of(1);
        arguments.suite = Some("switch".into());
        require_no_reference(&arguments).unwrap();
        arguments.compare = Some(Some("board.json".into()));
        require_no_reference(&arguments).unwrap();
        arguments.compare = Some(None);
        let error = require_no_reference(&arguments).unwrap_err().to_string();
        assert!(error.contains("no reference results"), "{error}");
        arguments.suite = Some("ipc".into());
        require_no_reference(&arguments).unwrap();
    }
}
