//! Mutants that do what the kernel does, and why.

use super::Mutant;

/// A folder, what is replaced, what replaces it, and the reason.
const EQUIVALENT: &[(&str, &str, &str, &str)] = &[];

/// Why no test can notice a mutant.
pub(super) fn reason(mutant: &Mutant) -> Option<&'static str> {
    let found = EQUIVALENT.iter().find(|(folder, before, after, _)| {
        mutant.file.starts_with(folder) && mutant.before == *before && mutant.after == *after
    });
    found.map(|(.., reason)| *reason)
}
