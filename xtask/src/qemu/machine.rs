//! QEMU's command line.

use std::ffi::{OsStr, OsString};
use std::path::Path;
use std::process::{Child, Command, Stdio};

use anyhow::Context;

use super::processor::Processor;
use crate::Result;
use crate::cli::Hardening;
use crate::platform::{Platform, Semihosting, Serial};

/// A machine to run.
#[derive(Debug)]
pub(crate) struct Machine<'a> {
    pub(crate) platform: &'a Platform,
    /// The boot image, unless it is among the further arguments.
    pub(crate) image: Option<&'a Path>,
    /// Memory in MiB, if it is not the usual one.
    pub(crate) memory: Option<u32>,
    /// Number of cores.
    pub(crate) cores: u32,
    /// The attacks against which the kernel is hardened.
    pub(crate) hardening: &'a Hardening,
    /// The socket that receives the kernel's log.
    pub(crate) log: Option<&'a Path>,
    /// The file in which the machine's RAM is, to be read after the run.
    pub(crate) ram: Option<&'a Path>,
    /// Virtual time is the number of executed instructions.
    pub(crate) icount: bool,
    /// Stop before the first instruction and wait for a debugger.
    pub(crate) gdb: bool,
    pub(crate) more: &'a [OsString],
}

impl Machine<'_> {
    /// The command that runs `emulator`.
    pub(crate) fn command(&self, emulator: &Path) -> Command {
        let qemu = &self.platform.qemu;
        let memory = self.memory.unwrap_or(qemu.memory);
        let mut command = Command::new(emulator);
        // Some boards have a sound device; if the host has none, QEMU would print an error.
        command.env("QEMU_AUDIO_DRV", "none");
        command
            .args(&qemu.arguments)
            .args(
                qemu.hardened
                    .iter()
                    .flatten()
                    .filter(|_| self.hardening.is_wanted()),
            )
            .args(["-m", &memory.to_string()]);
        command.args(["-display", "none", "-monitor", "none"]);
        // Ctrl-C remains a signal: it ends the run. Several ports may share the console.
        command.args(["-chardev", "stdio,id=console,signal=on,mux=on"]);
        if let Some(socket) = self.log {
            let mut device = OsString::from("socket,id=log,path=");
            device.push(escaped(socket));
            command.arg("-chardev").arg(device);
        }
        if let Some(file) = self.ram {
            let mut backend = OsString::from(format!(
                "memory-backend-file,id=ram,share=on,size={memory}M,mem-path="
            ));
            backend.push(escaped(file));
            command.arg("-object").arg(backend);
            command.args(["-machine", "memory-backend=ram"]);
        }
        for serial in &qemu.serial {
            command.arg("-serial").arg(match serial {
                Serial::Log if self.log.is_some() => "chardev:log",
                // Of the ports that share a console, the last one gets what is typed. Our systems read that one, others
                // the first.
                Serial::Log if self.image.is_none() => "null",
                Serial::Console | Serial::Log => "chardev:console",
            });
        }
        if !qemu.semihosting.is_empty() {
            let log = self.log.is_some() && qemu.semihosting.contains(&Semihosting::Log);
            let channel = if log { ",chardev=log" } else { "" };
            let configuration = format!("enable=on,target=native{channel}");
            command.args(["-semihosting-config", &configuration]);
        }
        if self.cores > 1 {
            command.args(["-smp", &self.cores.to_string()]);
        }
        // With several cores as well: then they run in turn, on one thread of the host.
        if self.icount {
            command.args(["-icount", "shift=0,sleep=off"]);
        }
        if self.gdb {
            command.args(["-s", "-S"]);
        }
        if let Some(image) = self.image {
            command.arg("-kernel").arg(image);
        }
        command.args(self.more);
        command
    }

    /// Starts the machine by `command`, which is [that above](Self::command) with a stdin and a stderr; the console is a
    /// pipe. In virtual time it gets a processor of the host, for as long as that is kept.
    pub(crate) fn start(&self, command: &mut Command) -> Result<(Child, Option<Processor>)> {
        let spawned = command.stdout(Stdio::piped()).spawn();
        let child =
            spawned.with_context(|| format!("cannot start {}", command.get_program().display()))?;
        let processor = self.icount.then(|| Processor::assign(&child)).flatten();
        Ok((child, processor))
    }
}

/// A path as a value of one of QEMU's comma-separated lists.
pub(crate) fn escaped(path: &Path) -> OsString {
    path.to_str().map_or_else(
        || OsStr::new(path).to_os_string(),
        |path| path.replace(',', ",,").into(),
    )
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::platform::tests::EXAMPLE;

    fn arguments(more: &[&str], log: Option<&str>) -> Vec<String> {
        arguments_of(EXAMPLE, more, log)
    }

    fn arguments_of(platform: &str, more: &[&str], log: Option<&str>) -> Vec<String> {
        hardened_arguments(platform, more, log, &Hardening::default())
    }

    fn hardened_arguments(
        platform: &str,
        more: &[&str],
        log: Option<&str>,
        hardening: &Hardening,
    ) -> Vec<String> {
        arguments_for(platform, Some(Path::new("image.elf")), more, log, hardening)
    }

    fn arguments_for(
        platform: &str,
        image: Option<&Path>,
        more: &[&str],
        log: Option<&str>,
        hardening: &Hardening,
    ) -> Vec<String> {
        let machine = Machine {
            platform: &toml::from_str(platform).unwrap(),
            image,
            memory: None,
            cores: 2,
            hardening,
            log: log.map(Path::new),
            ram: None,
            icount: true,
            gdb: true,
            more: &more.iter().map(OsString::from).collect::<Vec<_>>(),
        };
        let command = machine.command(Path::new("qemu"));
        let arguments = command.get_args();
        arguments
            .map(|argument| argument.to_str().unwrap().to_string())
            .collect()
    }

    fn has(arguments: &[String], wanted: &[&str]) -> bool {
        arguments
            .windows(wanted.len())
            .any(|window| window == wanted)
    }

    #[test]
    fn serial_ports_come_in_the_board_s_order() {
        let quiet = arguments(&[], None);
        assert!(has(
            &quiet,
            &["-serial", "chardev:console", "-serial", "chardev:console"]
        ));
        let logging = arguments(&[], Some("/a,b"));
        assert!(has(
            &logging,
            &["-serial", "chardev:console", "-serial", "chardev:log"]
        ));
        assert!(has(&logging, &["-chardev", "socket,id=log,path=/a,,b"]));
    }

    #[test]
    fn what_is_typed_goes_to_the_first_port_of_an_image_made_elsewhere() {
        let foreign = arguments_for(EXAMPLE, None, &[], None, &Hardening::default());
        assert!(has(
            &foreign,
            &["-serial", "chardev:console", "-serial", "null"]
        ));
    }

    #[test]
    fn semihosting_carries_the_log_where_no_serial_port_does() {
        let option = "-semihosting-config";
        let quiet = arguments(&[], Some("/log"));
        assert!(has(&quiet, &[option, "enable=on,target=native"]));
        let board = EXAMPLE
            .replace("[\"console\", \"log\"]", "[\"console\"]")
            .replace("[\"exit\"]", "[\"exit\", \"log\"]");
        let logging = arguments_of(&board, &[], Some("/log"));
        assert!(has(
            &logging,
            &[option, "enable=on,target=native,chardev=log"]
        ));
        let silent = arguments_of(&board, &[], None);
        assert!(has(&silent, &[option, "enable=on,target=native"]));
        let pc = arguments_of(&EXAMPLE.replace("[\"exit\"]", "[]"), &[], None);
        assert!(!pc.contains(&option.to_string()));
    }

    #[test]
    fn hardened_kernels_get_a_processor_that_needs_it() {
        let board = EXAMPLE.replace("memory =", "hardened = [\"-cpu\", \"weak\"]\nmemory =");
        let of = |hardening| hardened_arguments(&board, &[], None, &hardening);
        assert!(has(&of(Hardening::all()), &["-cpu", "weak"]));
        assert!(!has(&of(Hardening::default()), &["-cpu", "weak"]));
    }

    /// The file with the RAM of a machine has the size of the RAM.
    #[test]
    fn memory_can_be_another_amount() {
        let platform: Platform = toml::from_str(EXAMPLE).unwrap();
        for memory in [None, Some(2048)] {
            let machine = Machine {
                platform: &platform,
                image: None,
                memory,
                cores: 1,
                hardening: &Hardening::default(),
                log: None,
                ram: Some(Path::new("ram")),
                icount: false,
                gdb: false,
                more: &[],
            };
            let command = machine.command(Path::new("qemu"));
            let arguments: Vec<_> = command.get_args().filter_map(OsStr::to_str).collect();
            let size = memory.unwrap_or(platform.qemu.memory);
            assert!(
                arguments
                    .windows(2)
                    .any(|pair| pair == ["-m", &*size.to_string()])
            );
            let file = format!("memory-backend-file,id=ram,share=on,size={size}M,mem-path=ram");
            assert!(arguments.contains(&&*file));
        }
    }

    #[test]
    fn options_reach_qemu_and_further_arguments_come_last() {
        let arguments = arguments(&["-m", "1024"], None);
        assert!(has(&arguments, &["-icount", "shift=0,sleep=off"]));
        assert!(has(&arguments, &["-s", "-S"]));
        assert!(has(&arguments, &["-smp", "2"]));
        assert!(arguments.ends_with(&["-m".to_string(), "1024".to_string()]));
    }
}
