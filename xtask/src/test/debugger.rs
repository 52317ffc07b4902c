//! The test of the debugger's commands: gdb looks at the demo in QEMU, and says what the description says.

use std::ffi::OsString;
use std::io;
use std::path::Path;
use std::process::{Child, Stdio};
use std::thread;
use std::time::Duration;

use anyhow::{Context, bail};

use super::Session;
use super::filter::Filter;
use super::plan;
use super::tally::Tally;
use super::verdict::tell;
use crate::build::{self, Request, RootTask, UserProfile};
use crate::cli::{Cores, Emulator, Hardening, Kernel};
use crate::gdb;
use crate::platform::Platform;
use crate::qemu::{Ending, Machine};
use crate::setup::{self, BuildTools};
use crate::system::{self, System};
use crate::{Result, project, temporary};

pub(super) const NAME: &str = "gdb";
const SYSTEM: &str = "demo";
/// The platforms of a full run. A short one has the first, as it costs a kernel.
const PLATFORMS: [&str; 2] = ["pc99", "hikey"];
/// What is typed where the component with the lowest priority begins: all others have begun before.
const COMMANDS: [&str; 7] = [
    "stop-in screen demo_screen::main",
    "continue",
    "threads",
    "contexts",
    "capabilities client-a",
    "queues",
    "backtrace",
];
/// The beginning of a line, and a text in it.
const WANTED: [(&str, &str); 10] = [
    ("screen ", "current on core 0, priority 10, core 0"),
    ("client-a ", "priority 100, core 0, 45000 us in 100000 us"),
    ("client-b ", "priority 110, core 0, 10000 us in 40000 us"),
    ("hog ", "priority 140, core 0, 2000 us in 20000 us"),
    ("context of \"client-a\"", "45000 us in 100000 us"),
    ("context of \"hog\"", "2000 us in 20000 us"),
    ("  ", "endpoint, object "),
    ("  ", "badge 0x1"),
    ("core 0, waits for a replenishment: ", ", in "),
    ("#", "demo_screen::main"),
];

/// Whether the test is among the wanted ones.
pub(super) fn is_wanted(session: &Session<'_>, platform: &Platform) -> bool {
    let arguments = session.arguments;
    let filter = Filter::new(arguments.filter.as_deref());
    let platforms = match arguments.all || !filter.is_empty() {
        true => &PLATFORMS[..],
        false => &PLATFORMS[..1],
    };
    platforms.contains(&&*platform.name)
        && filter.wants(&plan::example(NAME))
        && project::folder().is_none()
        && arguments.emulator == Emulator::Qemu
        && arguments.abi.is_empty()
        && !arguments.cores.are_several()
        && !arguments.hardening.is_wanted()
}

/// Lets gdb look at the demo on a platform, in a full run on the first one also with a kernel for two cores.
pub(super) fn run(session: &Session<'_>, tools: &BuildTools, platform: &Platform) -> Result<Tally> {
    if gdb::debugger(&platform.target).is_none() {
        session.skip(&format!(
            "there is no gdb for {}; it takes gdb-multiarch",
            platform.name
        ));
        return Ok(Tally::default());
    }
    let has_more = session.arguments.all && platform.name == PLATFORMS[0];
    let more = has_more.then(|| (system::on_two_cores(NAME), Cores::TWO));
    let mut total = Tally::default();
    for (name, cores) in [(NAME.to_string(), Cores::ONE)].into_iter().chain(more) {
        total += tell(&plan::example(&name), look(session, tools, platform, cores))?;
    }
    Ok(total)
}

/// Fails unless the debugger prints all that is wanted.
fn look(
    session: &Session<'_>,
    tools: &BuildTools,
    platform: &Platform,
    cores: Cores,
) -> Result<()> {
    let output = listen(session, tools, platform, cores)?;
    let is_there = |(begin, text): &(&str, &str)| {
        output
            .lines()
            .any(|line| line.starts_with(begin) && line.contains(text))
    };
    match WANTED.iter().find(|wanted| !is_there(wanted)) {
        None => Ok(()),
        Some((begin, text)) => {
            bail!("gdb prints no line that begins with `{begin}` and has `{text}`: {output}")
        }
    }
}

/// What gdb prints.
fn listen(
    session: &Session<'_>,
    tools: &BuildTools,
    platform: &Platform,
    cores: Cores,
) -> Result<String> {
    let workspace = session.workspace;
    let system = System::load(workspace, SYSTEM)?;
    let hardening = Hardening::default();
    let root_task = RootTask::System(&system);
    let request = Request {
        platform,
        kernel: Kernel::Debug,
        abi: &[],
        cores,
        hardening: &hardening,
        log: None,
        tracing: None,
        root_task,
        loaded: false,
        bare: false,
        user_profile: UserProfile::Tests,
        variables: true,
        environment: &[],
        features: &[],
        parameters: &[],
    };
    let built = build::build(workspace, tools, &request)?;
    let debugged = gdb::Session::of(workspace, platform, root_task, &built)?;
    let folder = temporary::Folder::new()?;
    let socket = folder.path().join("gdb");
    let mut place = OsString::from("unix:");
    place.push(&socket);
    place.push(",server=on,wait=off");
    let machine = Machine {
        platform,
        image: Some(&built.image),
        memory: None,
        cores: cores.count,
        hardening: &hardening,
        log: None,
        ram: None,
        icount: true,
        gdb: false,
        more: &["-S".into(), "-gdb".into(), place],
    };
    let mut emulator = machine.command(&setup::emulator(platform)?);
    let (child, _processor) = machine.start(emulator.stdin(Stdio::null()))?;
    let mut child = Ended(child);
    let console = child.0.stdout.take();
    // What the system prints is not looked at, but a full pipe would stop it.
    thread::spawn(move || console.map(|mut console| io::copy(&mut console, &mut io::sink())));
    wait_for(&socket)?;
    let mut command = debugged.command(folder.path())?;
    let connect = format!("target remote {}", socket.display());
    command.args(["-batch", "-ex", &connect]);
    command.args(COMMANDS.iter().flat_map(|one| ["-ex", one]));
    command.stdin(Stdio::null()).stdout(Stdio::piped());
    let mut gdb = command.spawn().context("cannot start gdb")?;
    let timeout = Duration::from_secs(session.arguments.timeout);
    let mut output = Vec::new();
    let show = |bytes: &[u8]| output.extend_from_slice(bytes);
    let ending = session.supervisor.watch(&mut gdb, Some(timeout), show)?;
    let output = String::from_utf8_lossy(&output).into_owned();
    match ending {
        Ending::Exited(_) => Ok(output),
        _ => bail!("gdb did not end: {output}"),
    }
}

/// An emulator that ends with its owner.
struct Ended(Child);

impl Drop for Ended {
    fn drop(&mut self) {
        // At worst it has ended already.
        let _ = self.0.kill();
        let _ = self.0.wait();
    }
}

/// Waits until the emulator has made its socket.
fn wait_for(socket: &Path) -> Result<()> {
    const PAUSE: Duration = Duration::from_millis(20);
    for _ in 0..500 {
        if socket.exists() {
            return Ok(());
        }
        thread::sleep(PAUSE);
    }
    bail!("the emulator accepts no debugger")
}
