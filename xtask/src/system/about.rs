//! Complaints about a component that the check of its description does not make, with their place in the description.

use std::error::Error;
use std::fmt;
use std::fs;
use std::path::Path;

use anyhow::anyhow;
use system_description::{Source, place};

use crate::workspace::Workspace;

/// A complaint, and the component that it is about.
#[derive(Debug)]
struct About {
    component: String,
    message: String,
}

impl fmt::Display for About {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.message)
    }
}

impl Error for About {}

/// A complaint about a component.
pub(crate) fn about(component: &str, message: String) -> anyhow::Error {
    let component = component.to_string();
    anyhow::Error::new(About { component, message })
}

/// The complaint, with the file of the description and, if it is about a component, the place of that.
pub(crate) fn placed(error: &anyhow::Error, workspace: &Workspace, file: &Path) -> anyhow::Error {
    let shown = workspace.display(file);
    let place = error.downcast_ref::<About>().and_then(|about| {
        let text = fs::read_to_string(file).ok()?;
        let source = Source {
            path: "",
            text: &text,
        };
        place(source, &about.component)
    });
    match place {
        Some((line, column)) => anyhow!("{shown}:{line}:{column}: {error}"),
        // With its causes.
        None => anyhow!("{shown}: {error:#}"),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::temporary;

    #[test]
    fn a_complaint_has_the_place_of_its_component() {
        let folder = temporary::Folder::new().unwrap();
        let workspace = Workspace::at(folder.path());
        let file = folder.path().join("system.toml");
        fs::write(&file, "title = 'a'\n[component.pump]\nslice = '1 ms'\n").unwrap();
        let placed = |error: anyhow::Error| placed(&error, &workspace, &file).to_string();
        let leak = about("pump", "it leaks".to_string());
        assert_eq!(placed(leak), "system.toml:2:12: it leaks");
        let other = about("lamp", "it is dark".to_string());
        assert_eq!(placed(other), "system.toml: it is dark");
        assert_eq!(placed(anyhow!("it is late")), "system.toml: it is late");
        let caused = anyhow!("it is late").context("it is closed");
        assert_eq!(placed(caused), "system.toml: it is closed: it is late");
    }
}
