//! The archive behind a root task: a USTAR file with the components' executables, reduced to the parts that a loader
//! needs, the generic initialiser's table, and the parameters of a run.

use std::path::Path;

use anyhow::{Context, ensure};

use crate::Result;
use crate::image::elf::Executable;

/// The parameter that selects tests, in root tasks that run tests or benchmarks; empty for all.
pub(crate) const FILTER: &str = "filter";

/// The name of the file with the parameters; see `userlib/src/archive.rs`.
const PARAMETERS: &str = "parameters";

/// Packs the components, each a name and an ELF file, the table for the generic initialiser, and parameters, each a
/// name and a value. The result is reproducible.
pub(crate) fn pack<'a>(
    components: impl IntoIterator<Item = (&'a str, &'a [u8])>,
    table: Option<&[u8]>,
    parameters: &[(&str, &str)],
) -> Result<Vec<u8>> {
    let mut archive = tar::Builder::new(Vec::new());
    let mut append = |name: &str, contents: &[u8]| {
        let mut header = tar::Header::new_ustar();
        header.set_size(contents.len() as u64);
        header.set_mode(0o755);
        archive.append_data(&mut header, Path::new(name), contents)
    };
    for (name, file) in components {
        ensure!(
            name != PARAMETERS,
            "a component cannot have the name `{name}`; rename its crate"
        );
        let stripped = Executable::parse(file)
            .and_then(|executable| executable.write())
            .with_context(|| format!("cannot pack the component `{name}`"))?;
        append(name, &stripped)?;
    }
    if let Some(table) = table {
        append(system_table::FILE, table)?;
    }
    let given = parameters.iter().filter(|(_, value)| !value.is_empty());
    let lines: String = given
        .map(|(name, value)| format!("{name}={value}\n"))
        .collect();
    if !lines.is_empty() {
        append(PARAMETERS, lines.as_bytes())?;
    }
    Ok(archive.into_inner()?)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn no_components_make_an_empty_archive() {
        let archive = pack([], None, &[("filter", "")]).unwrap();
        assert!(archive.iter().all(|&byte| byte == 0));
        assert_eq!(archive.len(), 1024);
    }

    #[test]
    fn parameters_are_lines_of_a_file() {
        let archive = pack([], None, &[("filter", "irq"), ("calls", ""), ("seed", "7")]).unwrap();
        assert!(archive.starts_with(PARAMETERS.as_bytes()));
        assert!(archive[512..].starts_with(b"filter=irq\nseed=7\n\0"));
    }

    #[test]
    fn a_component_does_not_take_the_place_of_the_parameters() {
        let error = pack([(PARAMETERS, b"".as_slice())], None, &[]).unwrap_err();
        assert!(error.to_string().contains("rename its crate"));
    }

    #[test]
    fn what_is_not_a_program_is_refused_by_name() {
        let error = pack([("client", b"garbage".as_slice())], None, &[])
            .unwrap_err()
            .to_string();
        assert_eq!(error, "cannot pack the component `client`");
    }
}
