//! The build script of Arm boards. It generates what differs between them from `platform.toml`, section
//! `[board]`: the link script, which includes the one of the architecture; the constants and types of `mod.rs`;
//! and the device tree.

#[path = "description.rs"]
mod description;
#[path = "tree.rs"]
mod tree;

use std::collections::BTreeMap;
use std::fmt::Write;
use std::path::{Path, PathBuf};
use std::{env, fs};

use description::{Board, ControllerDriver, PortDriver, Psci, Registers};
use serde::Deserialize;

/// What the script needs of the description.
#[derive(Deserialize)]
struct Platform {
    board: Board,
    qemu: Qemu,
    #[serde(default)]
    device: BTreeMap<String, Device>,
}

#[derive(Deserialize)]
struct Qemu {
    serial: Vec<String>,
}

#[derive(Deserialize)]
struct Device {
    #[serde(default)]
    registers: Vec<Registers>,
}

fn main() {
    let folder = |name| PathBuf::from(env::var_os(name).expect("cargo sets it"));
    let (here, out) = (folder("CARGO_MANIFEST_DIR"), folder("OUT_DIR"));
    let name = env::var("CARGO_PKG_NAME").expect("cargo sets it");
    let read = description::read::<Platform>(&here.join(".."), &name);
    let (platform, files) = read.unwrap_or_else(|error| panic!("{error}"));
    for file in files {
        println!("cargo:rerun-if-changed={}", file.display());
    }
    let board = &platform.board;
    let has_log = platform.qemu.serial.iter().any(|port| port == "log");
    let log = has_log.then(|| platform.device["serial"].registers[0].address);
    let tree = board.tree.as_ref().map_or(Ok(vec![]), tree::blob);
    let tree = tree.expect("the names in `board.tree` are valid");
    let constants = constants(board, log).expect("writing to a string does not fail");
    fs::write(out.join("device_tree.dtb"), tree).expect("cargo made the folder");
    fs::write(out.join("board.rs"), constants).expect("cargo made the folder");
    link(board, &here.join("../../arch"), &out);
}

/// Writes the link script, and passes it.
fn link(board: &Board, architectures: &Path, out: &Path) {
    let load = board.load.unwrap_or(board.ram.start);
    let (architecture, script, start) = match env::var("CARGO_CFG_TARGET_ARCH").as_deref() {
        Ok("arm") => ("arm", "aarch32.ld", "RAM_START"),
        _ => ("armv8", "kernel.ld", "IMAGE_START"),
    };
    let text = format!("{start} = {load:#x};\nINCLUDE {script}\n");
    let path = out.join("link.ld");
    fs::write(&path, text).expect("cargo made the folder");
    let folder = architectures.join(architecture);
    println!("cargo:rustc-link-arg=-T{}", path.display());
    println!("cargo:rustc-link-arg=-L{}", folder.display());
    println!("cargo:rerun-if-changed={}", folder.join(script).display());
    if env::var_os("CARGO_FEATURE_LOG").is_some() {
        println!("cargo:rustc-link-arg=-Tdefmt.x");
    }
}

/// The items that `mod.rs` includes. `log`: the address of the port that the log is written to.
fn constants(board: &Board, log: Option<u64>) -> Result<String, std::fmt::Error> {
    let mut out = String::new();
    let blocks = board.blocks.iter();
    let blocks: String = blocks
        .map(|block| format!("PhysAddr({block:#x}), "))
        .collect();
    let for_benchmarks = env::var_os("CARGO_FEATURE_BENCH").is_some();
    let reserved = board.reserved_in_benchmarks.as_ref();
    let reserved = reserved
        .filter(|_| for_benchmarks)
        .unwrap_or(&board.reserved);
    let reserved = reserved
        .iter()
        .map(|one| range(one.address, one.size) + ", ");
    let reserved: String = reserved.collect();
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
            reserved: &[{reserved}],
            timer_interrupt: Irq({interrupt}),
            device_tree: include_bytes!(concat!(env!(\"OUT_DIR\"), \"/device_tree.dtb\")),
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
    match log {
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

/// A range of physical addresses.
fn range(start: u64, size: u64) -> String {
    format!("PhysAddr({start:#x})..PhysAddr({:#x})", start + size)
}
