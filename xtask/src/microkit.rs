//! A Microkit SDK with kernels of this checkout. It is a copy of another SDK, in which the kernel's files are replaced: the
//! kernel itself, and the description of the memory that it gives to users. Tool, libraries, headers and the numbers of the
//! interface stay as they are; an SDK that expects something else of the kernel is refused.

mod configuration;
mod description;
mod promise;
mod source;

use std::fs;
use std::os::unix::fs::{PermissionsExt, symlink};
use std::path::Path;

use anyhow::{Context, bail};

use crate::build::{self, DebugInfo, Recipe};
use crate::cli::{Cores, Hardening, Keep, MicrokitArguments, Tracing};
use crate::image::{self, elf::Executable};
use crate::platform::Platform;
use crate::setup::{self, BuildTools};
use crate::ui::{self, say};
use crate::workspace::Workspace;
use crate::{Outcome, Result, temporary};
use configuration::{Configuration, Values};
pub(crate) use description::Board;
use description::Range;
use promise::{Folder, Promise};
use source::Source;

/// The kernel of a configuration, in its folder.
const KERNEL: &str = "elf/sel4.elf";
/// The description of the machine's memory, in the folder of a configuration.
const MEMORY: &str = "platform_gen.json";
/// The variable of an initial task with free memory and devices: [`RANGES`] ranges of each, of which the last are empty.
const PROMISED: &str = "PROMISED";
const RANGES: usize = 8;

/// What kernels that trace write. Most systems never end, so they keep the last events.
static TRACING: Tracing = Tracing {
    keep: Keep::Last,
    events: Vec::new(),
    is_unmarked: false,
};

/// A folder with a kernel, and what is to be in it.
struct Kernel {
    /// Relative to the SDK.
    folder: String,
    /// By their names in it.
    files: Vec<(String, Vec<u8>)>,
}

/// The command `microkit`.
pub(crate) fn run(workspace: &Workspace, arguments: &MicrokitArguments) -> Result {
    let (source, output) = (&arguments.source, &arguments.output);
    if output.exists() {
        bail!(
            "{} exists already; delete it, or name another folder",
            output.display()
        );
    }
    let source = Source::open(source, arguments.headers.as_deref())?;
    source.require_outside(output)?;
    let boards = boards(workspace, &source, &arguments.boards)?;
    let mut wanted = Vec::new();
    for (platform, board) in &boards {
        for name in source.configurations(board)? {
            let folder = source::folder_of(&board.board, &name);
            let configuration = configuration(&source, &folder, platform)
                .with_context(|| format!("cannot use {folder}"))?;
            wanted.push((platform, board, folder, configuration));
        }
    }
    // What takes minutes comes last.
    let tools = setup::build_tools()?;
    let mut kernels = Vec::new();
    for (platform, board, folder, configuration) in wanted {
        let tracing = arguments.trace.then_some(&TRACING);
        let bytes = kernel(workspace, &tools, platform, &configuration, tracing)?;
        let elf = Executable::parse(&bytes)?;
        let beside = match &board.layout {
            Some(layout) => {
                promise::Kernel::of(&elf)?;
                (MEMORY.to_string(), layout.memory_file()?.into_bytes())
            }
            None => {
                let image = image::without_task(&elf, platform.image)?;
                (format!("elf/{}", description::BESIDE), image)
            }
        };
        kernels.push(Kernel {
            folder,
            files: vec![(KERNEL.to_string(), bytes), beside],
        });
    }
    let boards: Vec<_> = boards.into_iter().map(|(_, board)| board).collect();
    write(&source, output, &boards, &kernels)
        .with_context(|| format!("cannot write {}", output.display()))?;
    let names: Vec<_> = boards.iter().map(|board| &*board.board).collect();
    say(&format!("kernels for {}", names.join(", ")));
    ui::print(format!("{}\n", output.display()))?;
    Ok(Outcome::Success)
}

/// The kernel of a configuration, for which the SDK's libraries are made.
fn configuration(source: &Source<'_>, folder: &str, platform: &Platform) -> Result<Configuration> {
    let values = source.values(folder)?;
    let configuration = Configuration::of(&values, &source.sizes(folder)?, platform)?;
    configuration.check_labels(&source.labels(folder)?)?;
    Ok(configuration)
}

/// The platforms that are to be boards of the SDK: those with a name in `names`, or all that the source has.
fn boards(
    workspace: &Workspace,
    source: &Source<'_>,
    names: &[String],
) -> Result<Vec<(Platform, Board)>> {
    let mut known = Vec::new();
    for name in Platform::names(workspace) {
        let platform = Platform::load(workspace, &name)?;
        if let Some(board) = platform.microkit.clone() {
            known.push((platform, board));
        }
    }
    let list: Vec<_> = known.iter().map(|(_, board)| board.board.clone()).collect();
    let list = list.join(", ");
    let is_unknown = |name: &&String| !known.iter().any(|(_, one)| one.is_called(name));
    if let Some(name) = names.iter().find(is_unknown) {
        bail!("there is no kernel for Microkit's board {name}; there are kernels for {list}");
    }
    known.retain(|(_, board)| match names {
        [] => source.has(&board.board),
        names => names.iter().any(|name| board.is_called(name)),
    });
    if known.is_empty() {
        bail!("the SDK has no board for which there is a kernel; build one for {list}");
    }
    Ok(known)
}

/// Builds a kernel.
fn kernel(
    workspace: &Workspace,
    tools: &BuildTools,
    platform: &Platform,
    configuration: &Configuration,
    tracing: Option<&Tracing>,
) -> Result<Vec<u8>> {
    let hardening = Hardening::default();
    let recipe = Recipe {
        kernel: configuration.kernel,
        abi: &configuration.abi,
        cores: Cores {
            count: configuration.cores,
            big_lock: false,
        },
        hardening: &hardening,
        log: None,
        tracing,
        bare: false,
        debug_info: DebugInfo::Lines,
    };
    build::prebuilt(workspace, tools, platform, &recipe)
}

/// Tells an initial task what Microkit's tool would compute for a system with `kernel`, which was built by `recipe`; if the
/// task has a variable for it.
pub(crate) fn promise(
    task: &mut Executable,
    kernel: &Executable,
    platform: &Platform,
    recipe: &Recipe<'_>,
) -> Result<()> {
    let layout = platform.microkit.as_ref();
    let layout = layout.and_then(|board| board.layout.as_ref());
    let Some(layout) = layout.filter(|_| task.symbol(PROMISED).is_some()) else {
        return Ok(());
    };
    let configuration = Configuration {
        kernel: recipe.kernel,
        abi: recipe.abi.to_vec(),
        cores: recipe.cores.count,
    };
    let [values, sizes] = configuration.files().map(|file| file.to_string());
    let folder = Folder {
        values: Values(serde_json::from_str(&values)?),
        sizes: serde_json::from_str(&sizes)?,
        memory: serde_json::from_str(&layout.memory_file()?)?,
    };
    let (start, end) = image::pages(task).context("the initial task has nothing to load")?;
    let promise = Promise::of(&promise::Kernel::of(kernel)?, &folder, Range { start, end })?;
    let mut words = Vec::new();
    for list in [&promise.memory, &folder.memory.devices] {
        if list.len() > RANGES {
            bail!("there are more than {RANGES} ranges of memory");
        }
        let mut list = list.clone();
        list.resize(RANGES, Range { start: 0, end: 0 });
        words.extend(list.iter().flat_map(|one| [one.start, one.end]));
    }
    let bytes: Vec<u8> = words.iter().flat_map(|word| word.to_le_bytes()).collect();
    image::fill(task, PROMISED, &bytes)
}

/// Writes the SDK completely, or not at all.
fn write(source: &Source<'_>, output: &Path, boards: &[Board], kernels: &[Kernel]) -> Result<()> {
    let folder = temporary::Folder::beside(output)?;
    let path = folder.path();
    source.copy_common(path)?;
    for kernel in kernels {
        let folder = path.join(&kernel.folder);
        source.copy(&kernel.folder, path)?;
        for (name, bytes) in &kernel.files {
            let file = folder.join(name);
            // The source's files may be read-only.
            let _ = fs::remove_file(&file);
            fs::write(file, bytes)?;
        }
    }
    for board in boards {
        for name in &board.also {
            symlink(&board.board, path.join(source::BOARDS).join(name))?;
        }
    }
    fs::set_permissions(path, fs::Permissions::from_mode(0o755))?;
    fs::rename(path, output)?;
    Ok(())
}

#[cfg(test)]
mod tests;
