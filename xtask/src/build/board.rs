//! What differs between the kernels of boards with Arm cores, made from section `[board]` of `platform.toml`: the link
//! script, which is the one of the architecture; the constants and types that `platforms/board/mod.rs` includes; and the
//! device tree. A build script would have to read the description for itself, and cargo would compile the libraries for
//! that again in each target folder of kernels.

mod tree;

use std::fmt::Write;
use std::path::PathBuf;

use anyhow::Context;

use super::{read, write_if_changed};
use crate::Result;
use crate::image::elf::Class;
use crate::platform::description::{Board, ControllerDriver, PortDriver, Psci, Registers};
use crate::platform::{Platform, Serial};
use crate::workspace::Workspace;

/// The variable with the folder of these files, for the compilation of a board's kernel.
pub(super) const FOLDER: &str = "ESCAPEMENT_BOARD";

/// Writes the files for the kernel of a platform; returns their folder.
pub(super) fn write(workspace: &Workspace, platform: &Platform, board: &Board) -> Result<PathBuf> {
    let folder = workspace.target().join(&platform.name).join("board");
    let tree = board.tree.as_ref().map_or(Ok(vec![]), tree::blob);
    let tree = tree.with_context(|| format!("cannot make the device tree of {}", platform.name))?;
    write_if_changed(&folder.join("device_tree.dtb"), &tree)?;
    write_if_changed(
        &folder.join("board.rs"),
        constants(platform, board)?.as_bytes(),
    )?;
    write_if_changed(
        &folder.join("link.ld"),
        &link_script(workspace, platform, board)?,
    )?;
    Ok(folder)
}

/// The link script: that of the architecture, with the address at which the image begins.
fn link_script(workspace: &Workspace, platform: &Platform, board: &Board) -> Result<Vec<u8>> {
    let (script, start) = match platform.user.elf.class {
        Class::Elf32 => ("arch/arm/aarch32.ld", "RAM_START"),
        Class::Elf64 => ("arch/armv8/kernel.ld", "IMAGE_START"),
    };
    let load = board.load.unwrap_or(board.ram.start);
    let mut text = format!("{start} = {load:#x};\n").into_bytes();
    text.extend(read(&workspace.path(script))?);
    Ok(text)
}

/// The items that `mod.rs` includes.
fn constants(platform: &Platform, board: &Board) -> Result<String> {
    let mut out = String::new();
    let blocks = board.blocks.iter();
    let blocks: String = blocks
        .map(|block| format!("PhysAddr({block:#x}), "))
        .collect();
    let usual = ranges(&board.reserved);
    let reserved = match board.reserved_in_benchmarks.as_deref().map(ranges) {
        Some(other) => format!("if cfg!(feature = \"bench\") {{ {other} }} else {{ {usual} }}"),
        None => usual,
    };
    let tree = board.device_tree.map(|tree| format!("PhysAddr({tree:#x})"));
    let tree = tree.map_or("None".into(), |tree| format!("Some({tree})"));
    let (ram, interrupt) = (
        range(board.ram.start, board.ram.size),
        board.timer_interrupt,
    );
    writeln!(
        out,
        "pub const DATA: BoardData = BoardData {{
            ram: {ram},
            devices: &[{blocks}],
            reserved: {reserved},
            timer_interrupt: Irq({interrupt}),
            device_tree: include_bytes!(concat!(env!(\"{FOLDER}\"), \"/device_tree.dtb\")),
            loaded_device_tree: {tree},
        }};"
    )?;
    for (name, address) in &board.registers {
        let name = name.to_uppercase();
        writeln!(out, "pub const {name}: usize = device({address:#x});")?;
    }

    let driver = match board.console.driver {
        PortDriver::Pl011 => "pl011::Pl011",
        PortDriver::CadenceUart => "cadence_uart::CadenceUart",
        PortDriver::ImxUart => "imx::Uart",
    };
    let address = board.console.address;
    writeln!(out, "pub type Port = arch_arm::{driver};")?;
    writeln!(out, "const CONSOLE_ADDRESS: usize = device({address:#x});")?;
    match log_port(platform)? {
        Some(port) => writeln!(out, "arch_arm::log_to_port!(Port, device({port:#x}));")?,
        None => writeln!(
            out,
            "#[cfg(feature = \"log\")] mod log {{ pub fn start() {{}} }}"
        )?,
    }

    if let Some(controller) = &board.controller {
        let (driver, kind, value) = match controller.driver {
            ControllerDriver::GicV2 => ("gic::Gic", "usize", "GIC_INTERFACE"),
            ControllerDriver::GicV3 => ("gic_v3::GicV3", "usize", "GIC_REDISTRIBUTORS"),
            ControllerDriver::AnyGic => (
                "any_gic::AnyGic",
                "arch_arm::any_gic::Interfaces",
                "arch_arm::any_gic::Interfaces { cpu: GIC_INTERFACE, redistributors: GIC_REDISTRIBUTORS }",
            ),
        };
        let lines = controller.lines;
        writeln!(out, "pub type Controller = arch_arm::{driver}<{lines}>;")?;
        writeln!(out, "pub const INTERFACE: {kind} = {value};")?;
    }
    if let Some(psci) = board.psci {
        let conduit = match psci {
            Psci::Monitor => {
                "fn conduit() -> arch_arm::psci::Conduit { arch_arm::psci::Conduit::Monitor }"
            }
            Psci::ByLevel => "use arch_armv8::conduit;",
        };
        let entry = board.core_entry;
        writeln!(out, "pub {conduit}")?;
        writeln!(out, "pub const CORE_ENTRY: Option<usize> = {entry:?};")?;
    }
    Ok(out)
}

/// The address of the port that the log is written to, if there is one for it.
fn log_port(platform: &Platform) -> Result<Option<u64>> {
    if !platform.qemu.serial.contains(&Serial::Log) {
        return Ok(None);
    }
    let port = platform.devices.get("serial");
    let registers = port.and_then(|port| port.registers.first());
    let registers = registers.with_context(|| {
        format!(
            "{} has a port for the log, but no registers of device.serial",
            platform.name
        )
    })?;
    Ok(Some(registers.address))
}

/// A slice of ranges of registers.
fn ranges(all: &[Registers]) -> String {
    let all = all.iter();
    let all: String = all.map(|one| range(one.address, one.size) + ", ").collect();
    format!("&[{all}]")
}

/// A range of physical addresses.
fn range(start: u64, size: u64) -> String {
    format!("PhysAddr({start:#x})..PhysAddr({:#x})", start + size)
}
