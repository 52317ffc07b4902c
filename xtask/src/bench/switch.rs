//! The suite `switch`: what a guest loses after a switch, until its working set is in the caches again.

use anyhow::bail;

use super::measurement::{self, Measurement};
use crate::cli::BenchArguments;
use crate::workspace::Workspace;
use crate::{Result, analyse, temporary};

const SUITE: &str = "switch";

/// Whether a result belongs to the suite. Hundreds of them are points of curves, which [`show`] describes.
pub(super) fn is_point(one: &Measurement) -> bool {
    one.suite == SUITE
}

/// Refuses to compare the suite: it is about caches, whose effects are never the same twice, and emulators have none.
pub(super) fn require_no_comparison(arguments: &BenchArguments) -> Result<()> {
    let is_wanted = arguments
        .suite
        .as_deref()
        .is_some_and(|suite| suite.starts_with(SUITE));
    if is_wanted && (arguments.write_reference || arguments.compare.is_some()) {
        bail!(
            "the suite `{SUITE}` is not compared with earlier results, as emulators have no caches and other processors \
             never the same ones; `cargo xtask analyse switch` describes results"
        );
    }
    Ok(())
}

/// Shows the cost of a switch, as the analyser fits it to the results.
pub(super) fn show(workspace: &Workspace, measured: &[Measurement]) -> Result<()> {
    let file = temporary::File::of(measurement::format_list(measured)?)?;
    analyse::switch(workspace, file.path(), None)?;
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn there_is_nothing_to_compare() {
        let mut arguments = BenchArguments::of(1);
        arguments.suite = Some("switch".into());
        require_no_comparison(&arguments).unwrap();
        arguments.compare = Some(None);
        let error = require_no_comparison(&arguments).unwrap_err().to_string();
        assert!(error.contains("is not compared"), "{error}");
        arguments.suite = Some("ipc".into());
        require_no_comparison(&arguments).unwrap();
    }
}
