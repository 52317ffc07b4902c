//! The build script of boards with Arm cores. It makes what they differ in of `platform.toml`, section `[board]`: the link
//! script, which includes the one of the architecture, and the constants and types of `mod.rs`.

#[path = "description.rs"]
mod description;

use std::fmt::Write;
use std::path::{Path, PathBuf};
use std::{env, fs};

use toml::{Table, Value};

/// The keys of the section.
const KEYS: [&str; 11] = [
    "ram",
    "load",
    "device_tree",
    "blocks",
    "reserved",
    "registers",
    "timer_interrupt",
    "console",
    "controller",
    "psci",
    "core_entry",
];

/// Makes the files; a board that makes more calls this from a build script of its own.
pub fn main() {
    let folder = |name| PathBuf::from(env::var_os(name).expect("cargo sets it"));
    let (here, out) = (folder("CARGO_MANIFEST_DIR"), folder("OUT_DIR"));
    let (platform, files) =
        description::read(&here.join("platform.toml")).unwrap_or_else(|error| panic!("{error}"));
    for file in files {
        println!("cargo:rerun-if-changed={}", file.display());
    }
    let board = table(&platform, "board");
    for key in board.keys() {
        assert!(KEYS.contains(&&**key), "`board.{key}` is unknown");
    }
    let has_log = list(table(&platform, "qemu"), "serial").contains(&"log".into());
    let log = has_log.then(|| {
        let port = table(table(&platform, "device"), "serial");
        number(&list(port, "registers")[0], "address")
    });
    let constants = constants(board, log).expect("a string takes all text");
    fs::write(out.join("board.rs"), constants).expect("cargo made the folder");
    link(board, &here.join("../../arch"), &out);
}

/// Writes the link script, and passes it.
fn link(board: &Table, architectures: &Path, out: &Path) {
    let ram = number(&board["ram"], "start");
    let load = board.get("load").map_or(ram, integer);
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
fn constants(board: &Table, log: Option<i64>) -> Result<String, std::fmt::Error> {
    let mut out = String::new();
    let blocks = list(board, "blocks").iter().map(integer);
    let blocks: String = blocks
        .map(|block| format!("PhysAddr({block:#x}), "))
        .collect();
    let reserved = list(board, "reserved").iter();
    let reserved: String = reserved.map(|one| range(one, "address") + ", ").collect();
    let tree = match board.get("device_tree") {
        Some(tree) => format!("Some(PhysAddr({:#x}))", integer(tree)),
        None => "None".into(),
    };
    let ram = range(&board["ram"], "start");
    let interrupt = integer(&board["timer_interrupt"]);
    writeln!(out, "pub const RAM: Range<PhysAddr> = {ram};")?;
    writeln!(out, "pub const DEVICES: &[PhysAddr] = &[{blocks}];")?;
    writeln!(
        out,
        "pub const RESERVED: &[Range<PhysAddr>] = &[{reserved}];"
    )?;
    writeln!(out, "pub const TIMER_INTERRUPT: Irq = Irq({interrupt});")?;
    writeln!(
        out,
        "pub const LOADED_DEVICE_TREE: Option<PhysAddr> = {tree};"
    )?;
    for (name, address) in table(board, "registers") {
        let (name, address) = (name.to_uppercase(), integer(address));
        writeln!(out, "pub const {name}: usize = device({address:#x});")?;
    }

    let console = table(board, "console");
    let driver = match text(console, "driver") {
        "pl011" => "pl011::Pl011",
        "cadence-uart" => "cadence_uart::CadenceUart",
        "imx-uart" => "imx::Uart",
        other => panic!("`board.console.driver`: there is no driver `{other}`"),
    };
    let address = integer(&console["address"]);
    writeln!(out, "pub type Port = arch_arm::{driver};")?;
    writeln!(out, "const CONSOLE_ADDRESS: usize = device({address:#x});")?;
    match log {
        Some(port) => writeln!(out, "arch_arm::log_to_port!(Port, device({port:#x}));")?,
        None => writeln!(
            out,
            "#[cfg(feature = \"log\")] mod log {{ pub fn start() {{}} }}"
        )?,
    }

    if board.contains_key("controller") {
        let controller = table(board, "controller");
        let (driver, kind, value) = match text(controller, "driver") {
            "gic-v2" => ("gic::Gic", "usize", "GIC_INTERFACE"),
            "gic-v3" => ("gic_v3::GicV3", "usize", "GIC_REDISTRIBUTORS"),
            "any-gic" => (
                "any_gic::AnyGic",
                "arch_arm::any_gic::Interfaces",
                "arch_arm::any_gic::Interfaces { cpu: GIC_INTERFACE, redistributors: GIC_REDISTRIBUTORS }",
            ),
            other => panic!("`board.controller.driver`: there is no driver `{other}`"),
        };
        let lines = integer(&controller["lines"]);
        writeln!(out, "pub type Controller = arch_arm::{driver}<{lines}>;")?;
        writeln!(out, "pub const INTERFACE: {kind} = {value};")?;
    }
    if board.contains_key("psci") {
        match text(board, "psci") {
            "monitor" => writeln!(
                out,
                "pub fn conduit() -> arch_arm::psci::Conduit {{ arch_arm::psci::Conduit::Monitor }}"
            )?,
            "by-level" => writeln!(out, "pub use arch_armv8::conduit;")?,
            other => panic!("`board.psci` is `monitor` or `by-level`, not `{other}`"),
        }
        let entry = board.get("core_entry").map(integer);
        writeln!(out, "pub const CORE_ENTRY: Option<usize> = {entry:?};")?;
    }
    Ok(out)
}

fn table<'a>(table: &'a Table, key: &str) -> &'a Table {
    let inner = table.get(key).and_then(Value::as_table);
    inner.unwrap_or_else(|| panic!("platform.toml has no table `{key}` where it is needed"))
}

fn list<'a>(table: &'a Table, key: &str) -> &'a [Value] {
    let list = table.get(key).and_then(Value::as_array);
    list.unwrap_or_else(|| panic!("platform.toml has no list `{key}` where it is needed"))
}

fn text<'a>(table: &'a Table, key: &str) -> &'a str {
    let text = table.get(key).and_then(Value::as_str);
    text.unwrap_or_else(|| panic!("platform.toml has no text `{key}` where it is needed"))
}

fn integer(value: &Value) -> i64 {
    let integer = value.as_integer();
    integer.unwrap_or_else(|| panic!("platform.toml: `{value}` is not a number"))
}

fn number(value: &Value, key: &str) -> i64 {
    let number = value.get(key).map(integer);
    number.unwrap_or_else(|| panic!("platform.toml: `{value}` has no number `{key}`"))
}

/// The range of physical addresses from `value.start` on, which has `value.size` bytes.
fn range(value: &Value, start: &str) -> String {
    let (start, size) = (number(value, start), number(value, "size"));
    format!("PhysAddr({start:#x})..PhysAddr({:#x})", start + size)
}
