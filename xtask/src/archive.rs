//! The archive of components in a root task: a USTAR file with the components' executables, reduced to the
//! parts that a loader needs.

use std::path::Path;

use anyhow::Context;

use crate::Result;
use crate::image::elf::Executable;

/// Packs the components, each a name and an ELF file, and the table for the generic initialiser. The result is
/// reproducible.
pub(crate) fn pack<'a>(
    components: impl IntoIterator<Item = (&'a str, Vec<u8>)>,
    table: Option<&[u8]>,
) -> Result<Vec<u8>> {
    let mut archive = tar::Builder::new(Vec::new());
    let mut append = |name: &str, contents: &[u8]| {
        let mut header = tar::Header::new_ustar();
        header.set_size(contents.len() as u64);
        header.set_mode(0o755);
        archive.append_data(&mut header, Path::new(name), contents)
    };
    for (name, file) in components {
        let stripped = Executable::parse(&file)
            .and_then(|executable| executable.write())
            .with_context(|| format!("cannot pack the component `{name}`"))?;
        append(name, &stripped)?;
    }
    if let Some(table) = table {
        append(system_table::FILE, table)?;
    }
    Ok(archive.into_inner()?)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn no_components_make_an_empty_archive() {
        let archive = pack([], None).unwrap();
        assert!(archive.iter().all(|&byte| byte == 0));
        assert_eq!(archive.len(), 1024);
    }

    #[test]
    fn what_is_not_a_program_is_refused_by_name() {
        let error = pack([("client", b"garbage".to_vec())], None)
            .unwrap_err()
            .to_string();
        assert_eq!(error, "cannot pack the component `client`");
    }
}
