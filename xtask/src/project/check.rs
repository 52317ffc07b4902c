//! The command `check` in a project: its description is checked, and its programs are compiled without being
//! linked. Editors call it.

use std::path::Path;

use super::GIVEN;
use crate::build::{self, BareMetal, Side, UserProfile};
use crate::cli::CheckArguments;
use crate::platform::Platform;
use crate::setup::{self, BuildTools};
use crate::system::System;
use crate::ui::Step;
use crate::workspace::Workspace;
use crate::{Outcome, Result, cargo, sdk};

/// The platform for which a project is checked unless others are chosen.
const USUAL: &str = "pc99";

/// Checks the project in `folder`.
pub(crate) fn run(workspace: &Workspace, folder: &Path, arguments: &CheckArguments) -> Result {
    let system = System::of_project(workspace, folder)?;
    let tools = setup::build_tools()?;
    let usual = [USUAL.to_string()];
    let names = match &*arguments.platforms {
        [] => &usual[..],
        names => names,
    };
    let mut outcome = Outcome::Success;
    for name in names {
        let platform = Platform::load(workspace, name)?;
        // The crates of others that an SDK has are those that its platforms need.
        sdk::require_kernels(workspace, &platform)?;
        system.require(&platform)?;
        let project = Project {
            workspace,
            folder,
            system: &system,
            tools: &tools,
        };
        if !project.compiles(&platform, arguments.json)? {
            outcome = Outcome::Failure;
        }
    }
    Ok(outcome)
}

struct Project<'a> {
    workspace: &'a Workspace,
    folder: &'a Path,
    system: &'a System,
    tools: &'a BuildTools,
}

impl Project<'_> {
    /// Whether the programs compile for a platform. With `json`, cargo's messages go to stdout in this form.
    fn compiles(&self, platform: &Platform, json: bool) -> Result<bool> {
        let system = self.system;
        let given = self.folder.join(GIVEN);
        if let Some(generated) = system.generate(self.workspace, platform)? {
            build::write_given(&given, &generated)?;
        }
        let own_root = (!system.is_generic()).then_some(&*system.root);
        let components = system.components.iter().map(String::as_str);
        let programs: Vec<&str> = own_root.into_iter().chain(components).collect();
        let mut command = self.tools.toolchain.cargo();
        command.args(["check", "--profile", UserProfile::Shipped.name()]);
        if json {
            command.arg("--message-format=json");
        }
        let bare_metal = BareMetal {
            project: Some(self.folder),
            ..BareMetal::new(self.workspace, self.tools, platform)
        };
        bare_metal.complete(&mut command, Side::User, &programs, &[], &[])?;
        command.env(build::GIVEN, given);
        let step = format!("checking `{}` for {}", system.name, platform.name);
        cargo::succeeds(&Step::begin(&step), &mut command)
    }
}
