//! Reads `platform.toml`, for the build scripts of boards and for the tool.

use std::fs;
use std::path::{Path, PathBuf};

use toml::{Table, Value};

/// The content of a platform's file, completed by the file that its key `base` names, and the paths of all files that
/// were read.
///
/// # Errors
/// A sentence about the file that cannot be read or parsed.
pub fn read(path: &Path) -> Result<(Table, Vec<PathBuf>), String> {
    let text = fs::read_to_string(path);
    let text = text.map_err(|error| format!("cannot read {}: {error}", path.display()))?;
    let table = text.parse::<Table>();
    let mut table = table.map_err(|error| format!("cannot use {}: {error}", path.display()))?;
    let mut paths = vec![path.to_path_buf()];
    if let Some(base) = table.remove("base") {
        let base = base.as_str().ok_or_else(|| {
            let path = path.display();
            format!("`base` in {path} is not the path of a file")
        })?;
        let (base, files) = read(&path.with_file_name(base))?;
        complete(&mut table, base);
        paths.extend(files);
    }
    Ok((table, paths))
}

/// Adds what a table lacks, also in tables inside of it.
fn complete(table: &mut Table, base: Table) {
    for (key, value) in base {
        match (table.get_mut(&key), value) {
            (Some(Value::Table(inner)), Value::Table(value)) => complete(inner, value),
            (Some(_), _) => {}
            (None, value) => {
                table.insert(key, value);
            }
        }
    }
}
