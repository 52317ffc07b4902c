//! Running a boot image in Bochs, which emulates a processor that QEMU does not: one with TSC deadlines and
//! an x2APIC.
//!
//! Bochs has neither an option to load a kernel nor exit codes. So GRUB starts the image from a CD, the
//! console is a file that is read while it grows, and only the guest's output there shows its success.

mod display;

use std::fs;
use std::io::Read;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::Duration;

use anyhow::{Context, bail};

use crate::Result;
use crate::platform::Bochs;
use crate::qemu::{Ending, Supervisor};
use crate::toolchain::find_program;
use display::Display;

/// The programs that it needs, and their Debian packages.
const PROGRAMS: [(&str, &str); 4] = [
    ("bochs", "bochs"),
    ("grub-mkrescue", "grub-common"),
    ("xorriso", "xorriso"),
    ("mformat", "mtools"),
];
/// The files that it needs, and their packages.
const FILES: [(&str, &str); 3] = [
    (BIOS, "bochsbios"),
    (VIDEO_BIOS, "vgabios"),
    (GRUB, "grub-pc-bin"),
];
const BIOS: &str = "/usr/share/bochs/BIOS-bochs-latest";
const VIDEO_BIOS: &str = "/usr/share/bochs/VGABIOS-lgpl-latest";
/// GRUB for PCs.
const GRUB: &str = "/usr/lib/grub/i386-pc";

/// Bochs' exit code when the guest has switched the machine off.
pub(crate) const OFF: i32 = 1;

/// The pause between two reads of the console.
const PAUSE: Duration = Duration::from_millis(20);

/// The Debian packages that are missing for Bochs.
pub(crate) fn missing() -> Vec<&'static str> {
    let programs = PROGRAMS
        .iter()
        .filter(|(program, _)| find_program(program).is_none());
    let files = FILES.iter().filter(|(file, _)| !Path::new(file).exists());
    programs.chain(files).map(|&(_, package)| package).collect()
}

/// Runs `image` with its files in `folder`; `show` gets the console's output.
pub(crate) fn run(
    bochs: &Bochs,
    folder: &Path,
    image: &Path,
    supervisor: &Supervisor,
    timeout: Duration,
    show: impl FnMut(&[u8]) + Send,
) -> Result<Ending> {
    let machine = Machine { bochs, folder };
    machine.prepare(image)?;
    let mut child = machine.command().spawn().context("cannot start bochs")?;
    let ended = AtomicBool::new(false);
    std::thread::scope(|scope| {
        let reader = scope.spawn(|| follow(&machine.console(), &ended, show));
        let display = scope.spawn(|| Display::connect(&ended).map(|display| display.watch()));
        let ending = supervisor.wait(&mut child, Some(timeout));
        ended.store(true, Ordering::Relaxed);
        let _ = display.join();
        match reader.join() {
            Ok(read) => read?,
            Err(_) => bail!("the reader of the console failed"),
        }
        ending
    })
}

/// A machine, with the folder for its files.
struct Machine<'a> {
    bochs: &'a Bochs,
    folder: &'a Path,
}

impl Machine<'_> {
    fn disc(&self) -> PathBuf {
        self.folder.join("disc.iso")
    }

    fn console(&self) -> PathBuf {
        self.folder.join("console")
    }

    fn configuration(&self) -> PathBuf {
        self.folder.join("bochsrc")
    }

    /// The first commands for Bochs' debugger, which Debian's package includes: continue.
    fn debugger_commands(&self) -> PathBuf {
        self.folder.join("debugger")
    }

    /// Writes all files that Bochs reads.
    fn prepare(&self, image: &Path) -> Result<()> {
        let tree = self.folder.join("disc/boot");
        fs::create_dir_all(tree.join("grub"))?;
        fs::copy(image, tree.join("kernel.elf"))?;
        fs::write(tree.join("grub/grub.cfg"), GRUB_MENU)?;
        let output = Command::new("grub-mkrescue")
            .args(["--directory", GRUB, "--output"])
            .args([self.disc(), self.folder.join("disc")])
            .stdin(Stdio::null())
            .output()
            .context("cannot start grub-mkrescue")?;
        if !output.status.success() {
            let words = String::from_utf8_lossy(&output.stderr);
            bail!("grub-mkrescue failed: {}", words.trim());
        }
        fs::write(self.console(), [])?;
        fs::write(self.debugger_commands(), "c\n")?;
        fs::write(self.configuration(), self.describe())?;
        Ok(())
    }

    /// The configuration file. Virtual time counts instructions, a billion per second, as under
    /// QEMU's `-icount shift=0`.
    fn describe(&self) -> String {
        format!(
            "cpu: model={model}, count=1, ips=1000000000, reset_on_triple_fault=0\n\
             clock: sync=none, time0=1000000000\n\
             megs: {memory}\n\
             romimage: file={BIOS}\n\
             vgaromimage: file={VIDEO_BIOS}\n\
             display_library: rfb, options=\"timeout=20\"\n\
             ata0: enabled=1, ioaddr1=0x1f0, ioaddr2=0x3f0, irq=14\n\
             ata0-master: type=cdrom, path={disc}, status=inserted\n\
             boot: cdrom\n\
             com1: enabled=1, mode=file, dev={console}\n\
             sound: waveoutdrv=dummy, waveindrv=dummy, midioutdrv=dummy\n\
             panic: action=fatal\n\
             log: {log}\n",
            model = self.bochs.model,
            memory = self.bochs.memory,
            disc = self.disc().display(),
            console = self.console().display(),
            log = self.folder.join("log").display(),
        )
    }

    fn command(&self) -> Command {
        let mut command = Command::new("bochs");
        command
            .arg("-q")
            .arg("-f")
            .arg(self.configuration())
            .arg("-rc")
            .arg(self.debugger_commands())
            .stdin(Stdio::null())
            .stdout(Stdio::null())
            .stderr(Stdio::null());
        command
    }
}

const GRUB_MENU: &str = "\
set timeout=0
menuentry kernel {
    multiboot /boot/kernel.elf
    boot
}
";

/// Passes on the output written to a file, until the writer has ended and all is read.
fn follow(file: &Path, ended: &AtomicBool, mut show: impl FnMut(&[u8])) -> Result<()> {
    let mut file = fs::File::open(file)?;
    let mut bytes = [0; 4096];
    loop {
        // Checked before reading, so that all output before the end is read.
        let was_last = ended.load(Ordering::Relaxed);
        match file.read(&mut bytes)? {
            0 if was_last => return Ok(()),
            0 => std::thread::sleep(PAUSE),
            count => show(&bytes[..count]),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::temporary;

    #[test]
    fn a_growing_file_is_read_to_its_end() {
        let file = temporary::File::new().unwrap();
        fs::write(file.path(), "one\n").unwrap();
        let ended = AtomicBool::new(false);
        let mut seen = Vec::new();
        std::thread::scope(|scope| {
            scope.spawn(|| {
                let mut writer = fs::OpenOptions::new()
                    .append(true)
                    .open(file.path())
                    .unwrap();
                std::io::Write::write_all(&mut writer, b"two\n").unwrap();
                ended.store(true, Ordering::Relaxed);
            });
            follow(file.path(), &ended, |bytes| seen.extend_from_slice(bytes)).unwrap();
        });
        assert_eq!(seen, b"one\ntwo\n");
    }

    #[test]
    fn the_machine_is_the_platform_s() {
        let bochs = Bochs {
            model: "corei7_haswell_4770".into(),
            memory: 256,
            tests: Vec::new(),
        };
        let text = Machine {
            bochs: &bochs,
            folder: Path::new("/folder"),
        }
        .describe();
        assert!(text.contains("cpu: model=corei7_haswell_4770,"));
        assert!(text.contains("megs: 256\n"));
        assert!(text.contains("path=/folder/disc.iso,"));
        assert!(
            text.lines()
                .all(|line| line.contains(':') && line == line.trim())
        );
    }
}
