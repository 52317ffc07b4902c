//! A platform as a board of Microkit.

use std::fs;
use std::path::Path;

use anyhow::{Context, bail};
use serde::{Deserialize, Serialize};
use std::ffi::OsString;

use crate::Result;
use crate::cli::QemuArguments;
use crate::image::elf::Executable;
use crate::platform::Platform;

/// A range of physical addresses; the end is not part of it.
#[derive(Clone, Copy, Debug, Deserialize, PartialEq, Eq, Serialize)]
#[serde(deny_unknown_fields)]
pub(crate) struct Range {
    pub(crate) start: u64,
    pub(crate) end: u64,
}

/// The file that describes a machine's memory to Microkit's tool.
#[derive(Clone, Debug, Deserialize, PartialEq, Eq, Serialize)]
pub(super) struct Memory {
    pub(super) devices: Vec<Range>,
    pub(super) memory: Vec<Range>,
}

/// What Microkit's tool has to know of a platform.
#[derive(Clone, Debug, Deserialize, PartialEq, Eq)]
#[serde(deny_unknown_fields)]
pub(crate) struct Board {
    /// Its name in an SDK.
    pub(crate) board: String,
    /// Other names that systems have for the same machine, and by which an SDK is to have it, too.
    #[serde(default)]
    pub(crate) also: Vec<String>,
    /// The machine's memory in MiB.
    pub(crate) memory: u32,
    /// What Microkit's tool has to know to lay systems out; where the boot loader does that, nothing.
    pub(crate) layout: Option<Layout>,
}

/// The memory of a board.
#[derive(Clone, Debug, Deserialize, PartialEq, Eq)]
#[serde(deny_unknown_fields)]
pub(crate) struct Layout {
    /// The memory for the images of systems, which are linked to its start.
    pub(crate) image: Range,
    /// RAM, including that of the kernel's image.
    pub(crate) memory: Vec<Range>,
    /// What users may map of the rest: all that the kernel does not keep.
    pub(crate) devices: Vec<Range>,
}

impl Layout {
    /// The file that describes the memory to Microkit's tool.
    pub(super) fn memory_file(&self) -> Result<String> {
        let file = Memory {
            devices: self.devices.clone(),
            memory: self.memory.clone(),
        };
        Ok(serde_json::to_string(&file)?)
    }
}

impl Board {
    /// Whether systems know it by this name.
    pub(super) fn is_called(&self, name: &str) -> bool {
        self.board == name || self.also.iter().any(|one| one == name)
    }

    /// Refuses a file that is no image of a system on `platform`.
    pub(super) fn check(&self, platform: &Platform, image: &Path) -> Result<()> {
        let (file, board) = (image.display(), &self.board);
        if !image.is_file() {
            bail!("there is no file {file}");
        }
        let bytes = fs::read(image).with_context(|| format!("cannot read {file}"))?;
        let format = Executable::parse(&bytes).ok().map(|elf| elf.format);
        match &self.layout {
            None if format != Some(platform.user.elf) => bail!(
                "{file} is no image for {board}, which is an ELF file for x86-64; name the platform for which it was built"
            ),
            Some(_) if format.is_some() => bail!(
                "{file} is an ELF file, and an image for {board} is none; name the platform for which it was built, and let \
                 Microkit's tool choose the type of the image"
            ),
            Some(Layout { image, .. }) if bytes.len() as u64 > image.end - image.start => bail!(
                "{file} does not fit: it has {} bytes, and memory from {:#x} on {}; make the system's programs smaller",
                bytes.len(),
                image.start,
                image.end - image.start
            ),
            _ => Ok(()),
        }
    }

    /// QEMU's arguments that boot the image of a system on `platform`.
    pub(crate) fn arguments(
        platform: &Platform,
        image: &Path,
        arguments: &QemuArguments,
    ) -> Result<Vec<OsString>> {
        let name = &platform.name;
        let no_board =
            || format!("{name} is no board of Microkit; use --platform qemu-virt, zcu102 or pc99");
        let board = platform.microkit.as_ref().with_context(no_board)?;
        board.check(platform, image)?;
        let Some(layout) = &board.layout else {
            return module(image, arguments);
        };
        // As the loaders of such systems want the machine.
        let loader = platform.loader.as_ref().with_context(no_board)?;
        let mut more: Vec<_> = loader.arguments.iter().map(OsString::from).collect();
        let mut device = OsString::from("loader,file=");
        device.push(crate::qemu::escaped(image));
        device.push(format!(
            ",addr={:#x},cpu-num=0,force-raw=on",
            layout.image.start
        ));
        more.extend(["-device".into(), device]);
        more.extend(arguments.more.iter().cloned());
        Ok(more)
    }
}

/// The kernel that Microkit's tool puts beside the image of a system, if the boot loader starts it.
pub(super) const BESIDE: &str = "sel4_32.elf";

/// QEMU's arguments for a system whose image is a module beside the kernel.
fn module(image: &Path, arguments: &QemuArguments) -> Result<Vec<OsString>> {
    let kernel = image.with_file_name(BESIDE);
    if !kernel.is_file() {
        bail!(
            "there is no kernel {}; Microkit's tool writes it beside the image",
            kernel.display()
        );
    }
    if image.to_string_lossy().contains(' ') {
        bail!(
            "QEMU takes what follows a space in {} for the module's arguments; move it to another folder",
            image.display()
        );
    }
    let mut more = vec!["-kernel".into(), kernel.into()];
    more.extend(["-initrd".into(), crate::qemu::escaped(image)]);
    more.extend(arguments.more.iter().cloned());
    Ok(more)
}
