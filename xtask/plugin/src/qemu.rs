//! QEMU's interface for plugins (`qemu-plugin.h`, `docs/devel/tcg-plugins.rst`): only the part that is the
//! same in all versions.

use std::ffi::{CStr, c_char, c_int, c_uint, c_void};
use std::fs::File;
use std::io::{BufWriter, Write};
use std::ops::Range;
use std::sync::atomic::{AtomicBool, Ordering::Relaxed};
use std::sync::{Mutex, OnceLock};

use crate::boot::{Boot, Part};
use crate::instruction::{ASK, Machine};
use crate::lines::Lines;
use crate::record::Record;

/// The version of the interface: the tool determines which one its emulator accepts.
#[unsafe(no_mangle)]
pub static qemu_plugin_version: c_int = match option_env!("EMULATOR_PLUGIN_VERSION") {
    Some(version) => version.as_bytes()[0] as c_int - b'0' as c_int,
    None => 1,
};

type Id = u64;
#[repr(C)]
struct Block(c_void);
#[repr(C)]
struct Instruction(c_void);
type Translated = extern "C" fn(Id, *mut Block);
type Reset = extern "C" fn(Id);
type Executed = extern "C" fn(c_uint, *mut c_void);
#[repr(C)]
struct Hardware(c_void);
type Access = u32;
type Accessed = extern "C" fn(c_uint, Access, u64, *mut c_void);

/// The offset of the answer from the beginning of a requesting mark. After the mark come the instruction that
/// loads the answer and the one that jumps over it, of four bytes each.
pub const ANSWER: usize = 12;
/// The smallest page size.
const PAGE: usize = 4096;

/// Callbacks do not read registers.
const NO_REGISTERS: c_int = 0;
/// Both reads and writes.
const BOTH: c_int = 3;

unsafe extern "C" {
    fn qemu_plugin_reset(id: Id, done: Reset);
    fn qemu_plugin_register_vcpu_tb_trans_cb(id: Id, callback: Translated);
    fn qemu_plugin_tb_n_insns(block: *const Block) -> usize;
    fn qemu_plugin_tb_get_insn(block: *const Block, index: usize) -> *mut Instruction;
    fn qemu_plugin_insn_vaddr(instruction: *const Instruction) -> u64;
    fn qemu_plugin_insn_haddr(instruction: *const Instruction) -> *mut c_void;
    fn qemu_plugin_insn_size(instruction: *const Instruction) -> usize;
    fn qemu_plugin_register_vcpu_tb_exec_cb(
        block: *mut Block,
        callback: Executed,
        flags: c_int,
        data: *mut c_void,
    );
    fn qemu_plugin_register_vcpu_insn_exec_cb(
        instruction: *mut Instruction,
        callback: Executed,
        flags: c_int,
        data: *mut c_void,
    );
    fn qemu_plugin_register_vcpu_mem_cb(
        instruction: *mut Instruction,
        callback: Accessed,
        flags: c_int,
        accesses: c_int,
        data: *mut c_void,
    );
    fn qemu_plugin_mem_is_store(access: Access) -> bool;
    fn qemu_plugin_get_hwaddr(access: Access, address: u64) -> *mut Hardware;
    fn qemu_plugin_hwaddr_is_io(place: *const Hardware) -> bool;
    fn qemu_plugin_hwaddr_phys_addr(place: *const Hardware) -> u64;
}

/// The arguments, and the record.
struct Plugin {
    machine: Machine,
    kernel: Vec<Range<u64>>,
    look: u64,
    /// The functions with which the kernel stops an operation at a preemption point.
    stops: Vec<u64>,
    boot: Option<Boot>,
    out: Mutex<BufWriter<File>>,
    record: Record,
    lines: Option<Mutex<Lines>>,
}

static PLUGIN: OnceLock<Plugin> = OnceLock::new();

/// Whether instructions are recorded. Nothing that happens before the first mark is reported, so recording begins when
/// that is translated: callbacks make the emulator several times slower.
static RECORDS: AtomicBool = AtomicBool::new(false);

impl Plugin {
    fn new<'a>(arguments: impl Iterator<Item = &'a str>) -> Option<Self> {
        let (mut machine, mut kernel, mut look, mut out) = (None, Vec::new(), None, None);
        let (mut stops, mut boot, mut lines) = (Vec::new(), None, None);
        let number = |text: &str| u64::from_str_radix(text.trim_start_matches("0x"), 16).ok();
        let addresses = |range: &str| {
            let (start, end) = range.split_once('-')?;
            Some(number(start)?..number(end)?)
        };
        for argument in arguments {
            match argument.split_once('=')? {
                ("machine", name) => machine = Machine::named(name),
                ("kernel", range) => kernel.push(addresses(range)?),
                ("boot", range) => boot = Some(Boot::new(addresses(range)?)),
                ("look", address) => look = number(address),
                ("stop", address) => stops.push(number(address)?),
                ("lines", "on") => lines = Some(Mutex::default()),
                ("out", path) => out = File::create(path).ok(),
                _ => return None,
            }
        }
        Some(Self {
            machine: machine?,
            kernel,
            look: look?,
            stops,
            boot,
            out: Mutex::new(BufWriter::new(out?)),
            record: Record::new(),
            lines,
        })
    }
}

/// The entry point that QEMU calls when it has loaded the plugin.
///
/// # Safety
/// `arguments` are `count` strings.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn qemu_plugin_install(
    id: Id,
    _info: *const c_void,
    count: c_int,
    arguments: *const *const c_char,
) -> c_int {
    let count = usize::try_from(count).unwrap_or(0);
    let arguments = (0..count).filter_map(|index| {
        // SAFETY: the caller guarantees it; the strings live as long as this function runs.
        unsafe { CStr::from_ptr(*arguments.add(index)) }
            .to_str()
            .ok()
    });
    let Some(plugin) = Plugin::new(arguments) else {
        return 1;
    };
    if PLUGIN.set(plugin).is_err() {
        return 1;
    }
    register(id);
    0
}

/// Asks QEMU to report each block that it translates.
extern "C" fn register(id: Id) {
    // SAFETY: `id` is the one that QEMU gave to this plugin.
    unsafe { qemu_plugin_register_vcpu_tb_trans_cb(id, translated) };
}

/// The kinds of instructions.
enum Kind {
    User,
    Mark(u32),
    /// A requesting mark: the address of its answer.
    Ask(*mut c_void),
    Kernel,
    Look,
    Stop,
    Wait,
    Leave,
}

impl Kind {
    fn is_of_kernel(&self) -> bool {
        !matches!(self, Self::User | Self::Mark(_) | Self::Ask(_))
    }

    fn is_mark(&self) -> bool {
        matches!(self, Self::Mark(_) | Self::Ask(_))
    }

    /// A requesting mark with these bytes. It gets no answer if that would be in another page.
    fn ask(bytes: &[u8]) -> Self {
        let place = bytes.as_ptr().addr() % PAGE + ANSWER;
        if place + size_of::<u32>() > PAGE {
            return Self::User;
        }
        Self::Ask(bytes.as_ptr().wrapping_add(ANSWER).cast_mut().cast())
    }
}

impl Plugin {
    /// Writes the length of the boot. A missing line is detected by its reader.
    fn tell_boot(&self, count: u64) {
        if let Ok(mut out) = self.out.lock() {
            let _ = writeln!(out, "boot {count}").and_then(|()| out.flush());
        }
    }

    fn kind(&self, address: u64, bytes: &[u8]) -> Kind {
        if self.kernel.iter().any(|range| range.contains(&address)) {
            if address == self.look {
                Kind::Look
            } else if self.stops.contains(&address) {
                Kind::Stop
            } else if self.machine.is_leaving(bytes) {
                Kind::Leave
            } else if self.machine.is_waiting(bytes) {
                Kind::Wait
            } else {
                Kind::Kernel
            }
        } else {
            match self.machine.mark(bytes) {
                Some(ASK) => Kind::ask(bytes),
                other => other.map_or(Kind::User, Kind::Mark),
            }
        }
    }
}

/// QEMU translates a block of instructions: registers a callback for each, or one for the block if it
/// contains only user instructions.
extern "C" fn translated(id: Id, block: *mut Block) {
    let Some(plugin) = PLUGIN.get() else { return };
    // SAFETY: the block, its instructions and their bytes exist while this function runs; an instruction in
    // RAM is contiguous in host memory, as it does not cross into another page.
    unsafe {
        let instructions = (0..qemu_plugin_tb_n_insns(block)).map(|index| {
            let instruction = qemu_plugin_tb_get_insn(block, index);
            let address = qemu_plugin_insn_vaddr(instruction);
            let bytes = qemu_plugin_insn_haddr(instruction).cast::<u8>();
            let bytes = if bytes.is_null() {
                &[]
            } else {
                std::slice::from_raw_parts(bytes, qemu_plugin_insn_size(instruction))
            };
            (instruction, address, plugin.kind(address, bytes))
        });
        let instructions: Vec<_> = instructions.collect();
        if !RECORDS.load(Relaxed) {
            if instructions.iter().any(|(_, _, kind)| kind.is_mark()) {
                RECORDS.store(true, Relaxed);
                // QEMU executes no block before it has dropped all blocks, this one included.
                qemu_plugin_reset(id, register);
                return;
            }
            let start = instructions.first().map_or(0, |(_, address, _)| *address);
            match plugin.boot.as_ref().map(|boot| boot.part(start)) {
                None | Some(Part::None) => {}
                Some(Part::Some) => {
                    for (instruction, ..) in instructions {
                        let (flags, data) = (NO_REGISTERS, std::ptr::null_mut());
                        qemu_plugin_register_vcpu_insn_exec_cb(instruction, booting, flags, data);
                    }
                }
                Some(Part::End(count)) => {
                    plugin.tell_boot(count);
                    // Without the callbacks of boot.
                    qemu_plugin_reset(id, register);
                }
            }
            return;
        }
        if instructions
            .iter()
            .all(|(_, _, kind)| matches!(kind, Kind::User))
        {
            let count = std::ptr::without_provenance_mut(instructions.len());
            qemu_plugin_register_vcpu_tb_exec_cb(block, user, NO_REGISTERS, count);
            return;
        }
        for (instruction, address, kind) in instructions {
            let address = address as usize;
            if plugin.lines.is_some() && kind.is_of_kernel() {
                let data = std::ptr::null_mut();
                qemu_plugin_register_vcpu_mem_cb(instruction, accessed, NO_REGISTERS, BOTH, data);
            }
            let (callback, data): (Executed, usize) = match kind {
                Kind::User => (user, 1),
                Kind::Mark(number) => (mark, number as usize),
                Kind::Kernel => (kernel, address),
                Kind::Look => (look, address),
                Kind::Stop => (stop, address),
                Kind::Wait => (wait, address),
                Kind::Leave => (leave, address),
                Kind::Ask(answer) => {
                    qemu_plugin_register_vcpu_insn_exec_cb(instruction, ask, NO_REGISTERS, answer);
                    continue;
                }
            };
            let data = std::ptr::without_provenance_mut(data);
            qemu_plugin_register_vcpu_insn_exec_cb(instruction, callback, NO_REGISTERS, data);
        }
    }
}

extern "C" fn booting(processor: c_uint, _: *mut c_void) {
    if let Some(boot) = PLUGIN.get().and_then(|plugin| plugin.boot.as_ref()) {
        boot.execute(processor);
    }
}

extern "C" fn user(processor: c_uint, count: *mut c_void) {
    if let Some(plugin) = PLUGIN.get() {
        plugin.record.user(processor as usize, count.addr() as u64);
    }
}

extern "C" fn kernel(processor: c_uint, address: *mut c_void) {
    if let Some(plugin) = PLUGIN.get() {
        let address = address.addr() as u64;
        plugin.record.kernel(processor as usize, address);
    }
}

extern "C" fn look(processor: c_uint, address: *mut c_void) {
    if let Some(plugin) = PLUGIN.get() {
        plugin.record.look(processor as usize);
    }
    kernel(processor, address);
}

extern "C" fn stop(processor: c_uint, address: *mut c_void) {
    if let Some(plugin) = PLUGIN.get() {
        plugin.record.stop(processor as usize);
    }
    kernel(processor, address);
}

extern "C" fn wait(processor: c_uint, address: *mut c_void) {
    kernel(processor, address);
    if let Some(plugin) = PLUGIN.get() {
        plugin.record.wait(processor as usize);
    }
}

extern "C" fn leave(processor: c_uint, address: *mut c_void) {
    kernel(processor, address);
    if let Some(plugin) = PLUGIN.get() {
        plugin.record.leave(processor as usize);
    }
}

extern "C" fn mark(processor: c_uint, number: *mut c_void) {
    let Some(plugin) = PLUGIN.get() else { return };
    plugin.record.user(processor as usize, 1);
    let number = number.addr() as u32;
    let Ok(mut out) = plugin.out.lock() else {
        return;
    };
    // An incomplete file is detected by its reader.
    if let Some(lines) = &plugin.lines
        && let Ok(mut lines) = lines.lock()
        && !matches!(lines.mark(processor, number, &mut *out), Ok(false))
    {
        return;
    }
    let _ = plugin.record.mark(processor as usize, number, &mut *out);
}

extern "C" fn accessed(processor: c_uint, access: Access, address: u64, _: *mut c_void) {
    let Some(Some(lines)) = PLUGIN.get().map(|plugin| &plugin.lines) else {
        return;
    };
    // SAFETY: QEMU calls this for the access, and its address is valid until this function returns.
    unsafe {
        let place = qemu_plugin_get_hwaddr(access, address);
        if place.is_null() || qemu_plugin_hwaddr_is_io(place) {
            return;
        }
        if let Ok(mut lines) = lines.lock() {
            let physical = qemu_plugin_hwaddr_phys_addr(place);
            lines.touch(
                processor,
                physical,
                address,
                qemu_plugin_mem_is_store(access),
            );
        }
    }
}

extern "C" fn ask(processor: c_uint, answer: *mut c_void) {
    let Some(plugin) = PLUGIN.get() else { return };
    plugin.record.user(processor as usize, 1);
    // SAFETY: guest memory after an instruction, in the same page; the guest runs on this thread.
    unsafe {
        answer
            .cast::<u32>()
            .write_unaligned(plugin.record.now() as u32)
    };
}
