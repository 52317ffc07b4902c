//! The command `gdb`: connects a debugger to the emulator that `qemu --gdb` has started, with the symbols of the kernel
//! and of all components, and with commands for the kernel's objects (`gdb/commands.py`).
//!
//! `qemu --gdb` leaves a note of what it runs, so that `gdb` needs no options and builds nothing.

use std::collections::BTreeMap;
use std::fs;
use std::io;
use std::net::TcpStream;
use std::os::unix::process::CommandExt;
use std::path::{Path, PathBuf};
use std::process::Command;
use std::thread;
use std::time::Duration;

use anyhow::{Context, Error, anyhow, bail};
use serde::{Deserialize, Serialize};

use crate::build::{Built, RootTask, write_if_changed};
use crate::cli::GdbArguments;
use crate::platform::Platform;
use crate::toolchain::find_program;
use crate::workspace::Workspace;
use crate::{Result, project};

const COMMANDS: &str = include_str!("gdb/commands.py");
/// Where QEMU's option `-s` waits.
const ADDRESS: &str = "127.0.0.1:1234";
/// The pause between two attempts to reach it.
const PAUSE: Duration = Duration::from_millis(50);

/// What is debugged.
#[derive(Debug, Deserialize, PartialEq, Eq, Serialize)]
pub(crate) struct Session {
    platform: String,
    /// The platform's target.
    target: String,
    kernel: PathBuf,
    root_task: PathBuf,
    /// The file of each component's program.
    programs: BTreeMap<String, PathBuf>,
}

/// The note about a session, as long as its machine runs.
#[derive(Debug)]
pub(crate) struct Note(PathBuf);

impl Session {
    /// That of a build.
    pub(crate) fn of(
        workspace: &Workspace,
        platform: &Platform,
        root_task: RootTask<'_>,
        built: &Built,
    ) -> Result<Self> {
        let mut programs = BTreeMap::new();
        if let RootTask::System(system) = root_task {
            let files: BTreeMap<_, _> = system.components.iter().zip(&built.components).collect();
            // A root task names its threads as it likes, at best like their programs.
            let own = files.iter().map(|(name, file)| (name.to_string(), *file));
            let described = system.generate(workspace, platform)?;
            let described = described.into_iter().flat_map(|all| all.system.components);
            let described = described.filter_map(|one| {
                let file = files.get(one.program.as_ref()?)?;
                Some((one.name.to_string(), *file))
            });
            programs.extend(
                own.chain(described)
                    .map(|(name, file)| (name, file.clone())),
            );
        }
        Ok(Self {
            platform: platform.name.clone(),
            target: platform.target.clone(),
            kernel: built.kernel.clone(),
            root_task: built.root_task.clone(),
            programs,
        })
    }

    /// Leaves the note about it.
    pub(crate) fn note(&self, workspace: &Workspace) -> Result<Note> {
        let path = note(workspace);
        write_if_changed(&path, &serde_json::to_vec(self)?)?;
        Ok(Note(path))
    }

    /// The debugger's command, without a connection. The commands' file is made in `folder`.
    pub(crate) fn command(&self, folder: &Path) -> Result<Command> {
        let debugger = debugger(&self.target).ok_or_else(|| missing(&self.platform))?;
        let script = folder.join("commands.py");
        write_if_changed(&script, COMMANDS.as_bytes())?;
        // JSON's texts and tables are Python's, too.
        let programs = serde_json::to_string(&self.programs)?;
        let root_task = serde_json::to_string(&self.root_task)?;
        let mut command = Command::new(debugger);
        command
            .arg("-q")
            .arg(&self.kernel)
            .args(["-ex", "set confirm off", "-ex", "set pagination off"])
            .arg("-ex")
            .arg(format!(
                "python PROGRAMS, ROOT_TASK = {programs}, {root_task}"
            ))
            .arg("-x")
            .arg(script);
        Ok(command)
    }
}

/// The debugger for a target: one for all architectures, or that of the host if it is for the same one.
pub(crate) fn debugger(target: &str) -> Option<PathBuf> {
    let is_native = target.starts_with(std::env::consts::ARCH);
    find_program("gdb-multiarch").or_else(|| find_program("gdb").filter(|_| is_native))
}

/// The complaint that a platform has no debugger here.
fn missing(platform: &str) -> Error {
    anyhow!("there is no gdb for {platform} on the search path; install the package gdb-multiarch")
}

impl Drop for Note {
    fn drop(&mut self) {
        // A note that stays is about a machine that no longer answers.
        let _ = fs::remove_file(&self.0);
    }
}

fn folder(workspace: &Workspace) -> PathBuf {
    workspace.target().join("gdb")
}

fn note(workspace: &Workspace) -> PathBuf {
    folder(workspace).join("session.json")
}

/// The session whose emulator waits, if it is for the wanted platform.
fn waiting(workspace: &Workspace, platform: Option<&str>) -> Result<Session> {
    let start = format!(
        "start one in another terminal: {} qemu --gdb --platform {}",
        project::tool(),
        platform.unwrap_or("pc99")
    );
    let Ok(text) = fs::read(note(workspace)) else {
        bail!("no emulator waits for a debugger; {start}");
    };
    let Ok(session) = serde_json::from_slice::<Session>(&text) else {
        bail!(
            "{} is damaged; end the emulator, and {start}",
            workspace.display(&note(workspace))
        );
    };
    if let Some(platform) = platform.filter(|platform| *platform != session.platform) {
        bail!(
            "the emulator that waits is one for {}, not for {platform}; give --platform {}, or end it and {start}",
            session.platform,
            session.platform
        );
    }
    Ok(session)
}

/// Refuses a second emulator that waits for a debugger.
pub(crate) fn require_free() -> Result<()> {
    require_free_at(ADDRESS)
}

fn require_free_at(address: &str) -> Result<()> {
    if TcpStream::connect(address).is_ok() {
        bail!("another program waits for a debugger at {address}; end it first");
    }
    Ok(())
}

/// Returns when an emulator that was started waits for a debugger: whether it does, or has ended before.
pub(crate) fn comes(has_ended: impl FnMut() -> io::Result<bool>) -> io::Result<bool> {
    comes_to(ADDRESS, has_ended)
}

fn comes_to(address: &str, mut has_ended: impl FnMut() -> io::Result<bool>) -> io::Result<bool> {
    loop {
        if TcpStream::connect(address).is_ok() {
            return Ok(true);
        }
        if has_ended()? {
            return Ok(false);
        }
        thread::sleep(PAUSE);
    }
}

/// The command `gdb`: returns only if there is no debugger.
pub(crate) fn run(workspace: &Workspace, arguments: &GdbArguments) -> Result {
    // No emulator is asked for if none could be debugged.
    let (name, target) = match &arguments.platform {
        Some(name) => (&**name, Platform::load(workspace, name)?.target),
        None => ("any platform", std::env::consts::ARCH.to_string()),
    };
    debugger(&target).ok_or_else(|| missing(name))?;
    let session = waiting(workspace, arguments.platform.as_deref())?;
    if TcpStream::connect(ADDRESS).is_err() {
        bail!(
            "nothing waits for a debugger at {ADDRESS}; start the emulator again: {} qemu --gdb --platform {}",
            project::tool(),
            session.platform
        );
    }
    let mut command = session.command(&folder(workspace))?;
    command
        .arg("-ex")
        .arg(format!("target remote {ADDRESS}"))
        .args(&arguments.more);
    // It takes the place of this tool, so that keys reach it alone.
    Err(command.exec()).context("cannot start gdb")
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::temporary;
    use std::net::TcpListener;

    fn session() -> Session {
        Session {
            platform: "hikey".into(),
            target: "aarch64-unknown-none-softfloat".into(),
            kernel: "kernel.elf".into(),
            root_task: "root.elf".into(),
            programs: [("client-a".to_string(), "client.elf".into())].into(),
        }
    }

    #[test]
    fn the_session_is_the_one_that_waits() {
        let folder = temporary::Folder::new().unwrap();
        let workspace = Workspace::at(folder.path());
        let complaint = |platform| waiting(&workspace, platform).unwrap_err().to_string();
        let nothing = complaint(None);
        assert_eq!(
            nothing,
            "no emulator waits for a debugger; start one in another terminal: cargo xtask qemu --gdb --platform pc99"
        );
        let note = session().note(&workspace).unwrap();
        for platform in [None, Some("hikey")] {
            assert_eq!(waiting(&workspace, platform).unwrap(), session());
        }
        let other = complaint(Some("kzm"));
        let begin = "the emulator that waits is one for hikey, not for kzm; give --platform hikey";
        assert!(other.starts_with(begin), "{other}");
        drop(note);
        assert_eq!(complaint(None), nothing);
        fs::write(super::note(&workspace), "{").unwrap();
        assert!(complaint(None).contains("is damaged"));
    }

    #[test]
    fn an_emulator_is_waited_for_until_it_listens_or_ends() {
        let listener = TcpListener::bind("127.0.0.1:0").unwrap();
        let address = listener.local_addr().unwrap();
        let text = address.to_string();
        let error = require_free_at(&text).unwrap_err().to_string();
        assert!(error.ends_with("; end it first"), "{error}");
        drop(listener);
        require_free_at(&text).unwrap();
        let mut looks = 0;
        let mut listener = None;
        let comes = comes_to(&text, || {
            looks += 1;
            if looks == 2 {
                listener = Some(TcpListener::bind(address)?);
            }
            Ok(false)
        });
        assert!(comes.unwrap());
        assert_eq!(looks, 2);
        drop(listener);
        assert!(!comes_to(&text, || Ok(true)).unwrap());
    }

    #[test]
    fn the_debugger_gets_symbols_and_commands() {
        let folder = temporary::Folder::new().unwrap();
        if debugger(&session().target).is_none() {
            return;
        }
        let command = session().command(folder.path()).unwrap();
        let arguments: Vec<_> = command
            .get_args()
            .map(|one| one.to_str().unwrap())
            .collect();
        assert!(arguments.contains(&"kernel.elf"), "{arguments:?}");
        let programs = "python PROGRAMS, ROOT_TASK = {\"client-a\":\"client.elf\"}, \"root.elf\"";
        assert!(arguments.contains(&programs), "{arguments:?}");
        assert!(Path::new(arguments.last().unwrap()).is_file());
    }
}
