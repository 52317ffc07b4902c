//! Platforms: all properties of a board that the tool uses are in the board's own folder, in
//! `platforms/NAME/platform.toml`. A new board needs only this file here.

#[path = "../../platforms/board/description.rs"]
pub(crate) mod description;

use std::collections::BTreeMap;

use anyhow::{Context, bail};
use serde::Deserialize;
use system_description::{Device, Size, Trigger};

use crate::Result;
use crate::cli::{AbiOption, Cores, Hardening};
use crate::image::elf::{Class, Format, Machine};
use crate::microkit::Board;
use crate::workspace::Workspace;

const FILE: &str = "platform.toml";

/// What a short run of the tests covers on a platform. Each includes the ones before it.
#[derive(Clone, Copy, Debug, Default, Deserialize, PartialEq, Eq, PartialOrd, Ord)]
#[serde(rename_all = "kebab-case")]
pub(crate) enum Coverage {
    /// What is the board's: devices, timers, interrupts, memory.
    #[default]
    Board,
    /// What is the architecture's: registers, exceptions, address spaces, fast paths.
    Architecture,
    /// Behaviour that is the same on every platform.
    Portable,
}

/// A board, as its description says.
#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub(crate) struct Platform {
    /// The name of its folder and of its crate.
    #[serde(skip)]
    pub(crate) name: String,
    /// The name for people.
    pub(crate) title: String,
    /// The compiler's target triple, for kernel and users.
    pub(crate) target: String,
    #[serde(default)]
    pub(crate) kernel: Kernel,
    pub(crate) user: User,
    /// The maximum number of cores of the kernel on this board.
    #[serde(default = "one")]
    pub(crate) cores: u32,
    /// What a short run of the tests covers here.
    #[serde(default)]
    pub(crate) covers: Coverage,
    /// Options of the ABI without which user programs have no timer with an
    /// interrupt.
    #[serde(default)]
    pub(crate) timer: Vec<AbiOption>,
    /// The devices that components may drive, under names that are the same on all boards.
    #[serde(default, rename = "device")]
    pub(crate) devices: BTreeMap<String, Device>,
    /// What differs between the kernels of boards with Arm cores.
    pub(crate) board: Option<description::Board>,
    /// The file format of the board's loader.
    pub(crate) image: Format,
    /// The program that runs before the kernel, if there is one.
    pub(crate) stub: Option<Stub>,
    /// The program that enters the kernel as the loaders of ready-made systems do, in tests; if there is one.
    pub(crate) loader: Option<Loader>,
    /// The board in Microkit, if it is one.
    pub(crate) microkit: Option<Board>,
    pub(crate) qemu: Qemu,
    /// The board in Bochs, if Bochs emulates it.
    pub(crate) bochs: Option<Bochs>,
}

fn one() -> u32 {
    1
}

/// How the kernel is compiled.
#[derive(Debug, Default, Deserialize)]
#[serde(deny_unknown_fields)]
pub(crate) struct Kernel {
    /// Added to the flags that all platforms share.
    #[serde(default)]
    pub(crate) rustflags: Vec<String>,
    /// The compiler's target triple for kernels of kind `small`, if it is another.
    pub(crate) small_target: Option<String>,
}

/// How user programs are compiled.
#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub(crate) struct User {
    /// Added to the flags that all platforms share.
    #[serde(default)]
    pub(crate) rustflags: Vec<String>,
    /// The devices that they may drive: the end of the name of a feature of userlib, and of other crates that
    /// depend on the devices. With a flag instead, all libraries would be compiled again for each board.
    pub(crate) devices: Option<String>,
    /// The required format of a root task.
    pub(crate) elf: Format,
}

/// A program that runs before the kernel, which brings the core into the state in which the kernel is
/// entered. It is part of the boot image.
#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub(crate) struct Stub {
    /// Its crate.
    pub(crate) package: String,
    /// The compiler's target triple.
    pub(crate) target: String,
    /// Added to the flags that all platforms share.
    #[serde(default)]
    pub(crate) rustflags: Vec<String>,
}

/// A program that enters the kernel in the state in which the loaders of ready-made systems do, and hands the initial
/// task over to it in registers. It takes the stub's place in the boot image.
#[derive(Debug, Deserialize)]
pub(crate) struct Loader {
    #[serde(flatten)]
    pub(crate) program: Stub,
    /// Further arguments for QEMU.
    pub(crate) arguments: Vec<String>,
    /// The kernel's memory in MiB, which such loaders do not report.
    pub(crate) memory: u32,
    /// Other states of the machine in which it can be started, by name: further arguments.
    #[serde(default)]
    pub(crate) variants: BTreeMap<String, Vec<String>>,
}

/// The board in QEMU.
#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub(crate) struct Qemu {
    pub(crate) binary: String,
    /// The Debian package that holds the binary.
    pub(crate) package: String,
    pub(crate) arguments: Vec<String>,
    /// In MiB.
    pub(crate) memory: u32,
    /// The memory of a large machine, in MiB.
    #[serde(default)]
    pub(crate) large_memory: Option<u32>,
    /// The order of the board's serial ports.
    pub(crate) serial: Vec<Serial>,
    /// The kernel's uses of the emulator (Arm semihosting).
    #[serde(default)]
    pub(crate) semihosting: Vec<Semihosting>,
    pub(crate) exit: Exit,
    /// Other machines for the same kernel, by name: further arguments. The tests of the board run on each.
    #[serde(default)]
    pub(crate) variants: BTreeMap<String, Vec<String>>,
    /// Further arguments for hardened kernels: a processor that needs hardening. Without them, no hardening
    /// is available.
    pub(crate) hardened: Option<Vec<String>>,
}

/// The board in Bochs.
#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub(crate) struct Bochs {
    /// The processor.
    pub(crate) model: String,
    /// In MiB.
    pub(crate) memory: u32,
    /// The files of on-target tests that are run without a filter: those that depend on the processor.
    pub(crate) tests: Vec<String>,
}

/// The kernel's use of a serial port.
#[derive(Clone, Copy, Debug, Deserialize, PartialEq, Eq)]
#[serde(rename_all = "kebab-case")]
pub(crate) enum Serial {
    Console,
    /// The log, if there is one; otherwise the console of users' own drivers.
    Log,
}

/// The kernel's use of semihosting.
#[derive(Clone, Copy, Debug, Deserialize, PartialEq, Eq)]
#[serde(rename_all = "kebab-case")]
pub(crate) enum Semihosting {
    /// To end the run.
    Exit,
    /// To write its log, if no serial port is left.
    Log,
}

/// QEMU's exit code for each result that the guest reports.
#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub(crate) struct Exit {
    pub(crate) success: i32,
    pub(crate) failure: i32,
}

impl Platform {
    /// The compiler's target triple for kernels of kind `small`.
    pub(crate) fn small_target(&self) -> &str {
        self.kernel.small_target.as_ref().unwrap_or(&self.target)
    }

    /// The names of all platforms that exist.
    pub(crate) fn names(workspace: &Workspace) -> Vec<String> {
        workspace.folders_with("platforms", FILE)
    }

    /// The platform called `name`.
    pub(crate) fn load(workspace: &Workspace, name: &str) -> Result<Self> {
        let known = Self::names(workspace);
        if !known.iter().any(|known| known == name) {
            bail!(
                "there is no platform `{name}`; there are: {}",
                known.join(", ")
            );
        }
        let read = description::read::<Self>(&workspace.path("platforms"), name);
        read.map_err(anyhow::Error::msg)?.checked(name)
    }

    /// The memory of which objects can be made.
    pub(crate) fn usable_memory(&self) -> Size {
        /// What kernels for 32-bit Arm map (`arch/arm/src/aarch32/machine/kernel_space.rs`).
        const WINDOW: u64 = 480 << 20;
        let all = u64::from(self.qemu.memory) << 20;
        Size::from_bytes(match self.user.elf.class {
            Class::Elf32 => all.min(WINDOW),
            Class::Elf64 => all,
        })
    }

    /// What descriptions of systems depend on.
    pub(crate) fn for_descriptions(&self) -> system_description::Platform {
        let word_bits = match self.user.elf.class {
            Class::Elf32 => 32,
            Class::Elf64 => 64,
        };
        system_description::Platform {
            name: self.name.clone(),
            word_bits,
            cores: self.cores,
            memory: Size::from_bytes(u64::from(self.qemu.memory) << 20),
            devices: self.devices.clone(),
        }
    }

    /// All platforms, as descriptions of systems see them.
    pub(crate) fn all_for_descriptions(
        workspace: &Workspace,
    ) -> Result<Vec<system_description::Platform>> {
        let names = Self::names(workspace).into_iter();
        names
            .map(|name| Ok(Self::load(workspace, &name)?.for_descriptions()))
            .collect()
    }

    /// Whether a short run looks at portable behaviour on this platform, where one is enough: the one whose timer needs
    /// no option of the ABI.
    pub(crate) fn is_sample(&self) -> bool {
        self.covers == Coverage::Portable && self.timer.is_empty()
    }

    /// Whether ready-made systems bring the initial task as a module of the boot loader.
    pub(crate) fn takes_module(&self) -> bool {
        let board = self.microkit.as_ref();
        board.is_some_and(|board| board.layout.is_none())
    }

    /// Whether the platform has enough cores.
    pub(crate) fn has(&self, cores: Cores) -> bool {
        cores.count <= self.cores
    }

    /// Refuses a number of cores that the board does not have.
    pub(crate) fn require(&self, cores: Cores) -> Result<()> {
        let name = &self.name;
        if !self.has(cores) {
            match self.cores {
                1 => bail!("{name} has one core; leave out --smp {}", cores.count),
                most => bail!("{name} has {most} cores, not {}; reduce --smp", cores.count),
            }
        }
        if cores.big_lock && !cores.are_several() {
            bail!("one core needs no lock; leave out --big-lock, or add --smp");
        }
        Ok(())
    }

    /// Refuses hardening on platforms without processors that need it.
    pub(crate) fn require_hardening(&self, hardening: &Hardening) -> Result<()> {
        if hardening.is_wanted() && self.qemu.hardened.is_none() {
            bail!("{} cannot be hardened; leave out --harden", self.name);
        }
        Ok(())
    }

    /// The platform with its name, if what it says fits together.
    fn checked(mut self, name: &str) -> Result<Self> {
        self.name = name.to_string();
        if !self.qemu.serial.contains(&Serial::Console) {
            bail!("platforms/{name}/{FILE}: qemu.serial names no `console`; add it");
        }
        let checked = self.check_devices();
        checked.with_context(|| format!("cannot use platforms/{name}/{FILE}"))?;
        Ok(self)
    }

    /// Refuses devices that cannot be given to components as described.
    fn check_devices(&self) -> Result<()> {
        let largest = match self.user.elf.class {
            Class::Elf32 => u32::MAX.into(),
            Class::Elf64 => u64::MAX,
        };
        let page = Size::PAGE.as_bytes();
        let mut pins = BTreeMap::new();
        for (name, device) in &self.devices {
            for registers in &device.registers {
                let last = registers.size.checked_sub(1);
                let last = last.and_then(|offset| registers.address.checked_add(offset));
                let whole = [registers.address, registers.size].map(|bytes| bytes % page == 0);
                if whole != [true; 2] || last.is_none_or(|last| last > largest) {
                    bail!(
                        "the registers of device.{name} are no whole pages that users can address"
                    );
                }
            }
            let Some(interrupt) = device.interrupt else {
                continue;
            };
            let has_pins = self.user.elf.machine == Machine::X86_64;
            if has_pins != interrupt.pin.is_some() {
                bail!("the interrupt of device.{name} needs a `pin` on PCs, and only there");
            }
            // The kernel would expect a line that is active when high, and those of PCI are not.
            if has_pins && interrupt.trigger == Trigger::Level {
                bail!("the interrupt of device.{name} must have `trigger = \"edge\"`");
            }
            let line = interrupt.pin.map(|pin| pins.insert(pin, interrupt.line));
            if line.flatten().is_some_and(|line| line != interrupt.line) {
                bail!("the pin of device.{name} is that of another interrupt");
            }
        }
        Ok(())
    }
}

#[cfg(test)]
pub(crate) mod tests {
    use anyhow::anyhow;

    use super::description::Source;
    use super::*;

    pub(crate) const EXAMPLE: &str = r#"
        title = "A board"
        target = "armv7a-none-eabi"
        [kernel]
        rustflags = ["-Ctarget-cpu=cortex-a9"]
        [user]
        elf = { class = "elf32", machine = "arm" }
        [image]
        class = "elf32"
        machine = "arm"
        [qemu]
        binary = "qemu-system-arm"
        package = "qemu-system-arm"
        arguments = ["-M", "sabrelite"]
        memory = 512
        serial = ["console", "log"]
        semihosting = ["exit"]
        exit = { success = 0, failure = 35 }
    "#;

    /// The platform of a file, completed by another one.
    fn completed(text: &str, base: &str) -> Result<Platform> {
        let own = Source::new("board/platform.toml".into(), text, None);
        let base = Source::new("base.toml".into(), base, Some(&own));
        let sources = [own, base];
        let platform = description::decode::<Platform>(&sources);
        let platform = platform.map_err(|error| anyhow!(description::say(&error, &sources)));
        platform?.checked("board")
    }

    fn parse(text: &str) -> Result<Platform> {
        completed(text, "")
    }

    #[test]
    fn a_description_is_read() {
        let platform = parse(EXAMPLE).unwrap();
        assert_eq!(platform.name, "board");
        assert_eq!(
            platform.user.elf,
            Format {
                class: Class::Elf32,
                machine: Machine::Arm
            }
        );
        assert_eq!(platform.qemu.serial, [Serial::Console, Serial::Log]);
        assert!(platform.user.rustflags.is_empty());
    }

    #[test]
    fn cores_that_a_board_lacks_are_refused() {
        let cores = |count| Cores {
            count,
            ..Cores::ONE
        };
        let single = parse(EXAMPLE).unwrap();
        assert!(single.require(cores(1)).is_ok());
        let error = single.require(cores(2)).unwrap_err().to_string();
        assert!(error.contains("board has one core"), "{error}");
        let text = EXAMPLE.replace("[kernel]", "cores = 4\n[kernel]");
        let quad = parse(&text).unwrap();
        assert!(quad.require(cores(4)).is_ok());
        let error = quad.require(cores(5)).unwrap_err().to_string();
        assert!(error.contains("4 cores, not 5"), "{error}");
        let locked = Cores {
            big_lock: true,
            ..Cores::ONE
        };
        assert!(quad.require(locked).is_err(), "a lock for one core");
    }

    #[test]
    fn hardening_is_refused_where_nothing_needs_it() {
        let board = parse(EXAMPLE).unwrap();
        assert!(board.require_hardening(&Hardening::default()).is_ok());
        let error = board.require_hardening(&Hardening::all()).unwrap_err();
        assert!(error.to_string().contains("board cannot be hardened"));
        let text = EXAMPLE.replace("memory =", "hardened = []\nmemory =");
        let weak = parse(&text).unwrap();
        assert!(weak.require_hardening(&Hardening::all()).is_ok());
    }

    #[test]
    fn mistakes_are_refused() {
        let misspelt = EXAMPLE.replace("memory", "memroy");
        assert!(parse(&misspelt).is_err());
        let odd = EXAMPLE.replace("machine = \"arm\"", "machine = \"abacus\"");
        assert!(parse(&odd).is_err());
        let silent = EXAMPLE.replace("\"console\", ", "");
        assert!(parse(&silent).is_err());
    }

    #[test]
    fn a_mistake_is_told_with_its_place() {
        let complaint = |text: &str, base: &str| completed(text, base).unwrap_err().to_string();
        let misspelt = EXAMPLE.replace("memory", "memroy");
        let unknown = complaint(&misspelt, "");
        assert!(
            unknown.starts_with(
                "platforms/board/platform.toml:15:9: unknown field `memroy`, expected one of `binary`,"
            ),
            "{unknown}"
        );
        // A mistake in the file that completes another one is reported where it is.
        let (own, base) = EXAMPLE.split_once("[qemu]\n").unwrap();
        let base = format!("# Of several boards.\n[qemu]\n{base}");
        assert!(completed(own, &base).is_ok());
        let text = base.replace("512", "'512'");
        assert_eq!(
            complaint(own, &text),
            "platforms/base.toml:6:18: invalid type: string \"512\", expected u32"
        );
        // What the own file says takes precedence, also over a mistake.
        let own = format!("{own}[qemu]\nmemory = 256\n");
        assert_eq!(completed(&own, &text).unwrap().qemu.memory, 256);
        // The section of the kernel is checked, too.
        let board = "[board]\nconsole = { driver = 'telex', address = 0 }\n";
        let unknown = complaint(&format!("{EXAMPLE}\n{board}"), "");
        assert!(
            unknown.starts_with("platforms/board/platform.toml:21:22: unknown variant `telex`, expected one of `pl011`,"),
            "{unknown}"
        );
        let syntax = complaint("title = \n", "");
        assert!(
            syntax.starts_with("platforms/board/platform.toml:1:"),
            "{syntax}"
        );
    }

    #[test]
    fn devices_that_cannot_be_given_are_refused() {
        let refusal = |machine: &str, device: &str| {
            let text = EXAMPLE.replace("\"arm\" }", machine);
            let text = format!("{text}\n[device.one]\n{device}\n");
            let refused = parse(&text).err();
            refused.map(|error| error.root_cause().to_string())
        };
        let arm = |device: &str| refusal("\"arm\" }", device);
        let pc = |device: &str| refusal("\"x86-64\" }", device);
        assert_eq!(
            arm("registers = [{ address = 0x1000, size = 0x1000 }]"),
            None
        );
        let pages = "the registers of device.one are no whole pages that users can address";
        for registers in [
            "address = 0x1000, size = 0x1800",
            "address = 0x1001, size = 0x1000",
            "address = 0x1000, size = 0",
            "address = 0xffff_f000, size = 0x2000",
        ] {
            assert_eq!(
                arm(&format!("registers = [{{ {registers} }}]")).as_deref(),
                Some(pages)
            );
        }
        let pin = "the interrupt of device.one needs a `pin` on PCs, and only there";
        assert_eq!(
            arm("interrupt = { line = 3, pin = 3 }").as_deref(),
            Some(pin)
        );
        assert_eq!(
            pc("interrupt = { line = 3, trigger = 'edge' }").as_deref(),
            Some(pin)
        );
        let edge = "the interrupt of device.one must have `trigger = \"edge\"`";
        assert_eq!(
            pc("interrupt = { line = 3, pin = 3 }").as_deref(),
            Some(edge)
        );
        let first = "interrupt = { line = 3, pin = 3, trigger = 'edge' }\n[device.two]\n";
        let same = pc(&format!(
            "{first}interrupt = {{ line = 3, pin = 3, trigger = 'edge' }}"
        ));
        assert_eq!(same, None);
        let other = pc(&format!(
            "{first}interrupt = {{ line = 4, pin = 3, trigger = 'edge' }}"
        ));
        let complaint = "the pin of device.two is that of another interrupt";
        assert_eq!(other.as_deref(), Some(complaint));
    }

    #[test]
    fn every_platform_of_the_repository_is_well_described() {
        let workspace = Workspace::find().unwrap();
        for name in Platform::names(&workspace) {
            Platform::load(&workspace, &name).unwrap();
        }
    }

    #[test]
    fn an_unknown_platform_is_named_in_one_sentence() {
        let workspace = Workspace::find().unwrap();
        let error = Platform::load(&workspace, "abacus")
            .unwrap_err()
            .to_string();
        assert!(
            error.starts_with("there is no platform `abacus`"),
            "{error}"
        );
    }
}
