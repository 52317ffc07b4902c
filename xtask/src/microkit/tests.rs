use std::collections::BTreeMap;
use std::fs;
use std::path::{Path, PathBuf};

use clap::Parser;
use serde_json::{Map, Value, json};

use super::boards;
use super::configuration::{Configuration, Values};
use super::description::{Board, Layout, Memory, Range};
use super::promise::{self, Promise};
use super::source::Source;
use crate::cli::{AbiOption, Cli, Command, Keep, Kernel};
use crate::image::elf::{Class, Executable, Format, Machine, Segment};
use crate::platform::Platform;
use crate::temporary::Folder;
use crate::workspace::Workspace;

fn platform(name: &str) -> Platform {
    Platform::load(&Workspace::find().unwrap(), name).unwrap()
}

/// The descriptions of the configuration `debug`.
fn files() -> [Value; 2] {
    use AbiOption::*;
    let debug = Configuration {
        kernel: Kernel::Debug,
        abi: vec![Hwdebug, Domains, LargeRoot, Smc, UserTimer],
        cores: 1,
    };
    debug.files()
}

/// Its options, with some changed.
fn values(changes: &[(&str, Value)]) -> Values {
    let [values, _] = files();
    let mut all: Map<_, _> = serde_json::from_value(values).unwrap();
    let changes = changes
        .iter()
        .map(|(name, value)| ((*name).to_string(), value.clone()));
    all.extend(changes);
    Values(all)
}

fn sizes(tcb: u64) -> BTreeMap<String, u64> {
    let [_, sizes] = files();
    let mut sizes: BTreeMap<_, _> = serde_json::from_value(sizes).unwrap();
    sizes.insert("tcb".to_string(), tcb);
    sizes
}

fn refusal(changes: &[(&str, Value)], tcb: u64) -> String {
    let result = Configuration::of(&values(changes), &sizes(tcb), &platform("qemu-virt"));
    result.unwrap_err().to_string()
}

#[test]
fn configurations_become_kernels() {
    let debug = Configuration::of(&values(&[]), &sizes(12), &platform("qemu-virt"));
    let [values_again, sizes_again] = debug.unwrap().files();
    assert_eq!([values_again, sizes_again], files());
    use AbiOption::*;
    let platform = platform("qemu-virt");
    let of = |changes: &[_], tcb| {
        let one = Configuration::of(&values(changes), &sizes(tcb), &platform).unwrap();
        (one.kernel, one.abi, one.cores)
    };
    let debug = vec![Hwdebug, Domains, LargeRoot, Smc, UserTimer];
    assert_eq!(of(&[], 12), (Kernel::Debug, debug, 1));
    let off = |name| (name, json!(false));
    let release = vec![Domains, LargeRoot, Smc, UserTimer];
    let changes = [off("DEBUG_BUILD"), off("HARDWARE_DEBUG_API")];
    assert_eq!(of(&changes, 11), (Kernel::Release, release, 1));
    let cores = [
        off("DEBUG_BUILD"),
        off("HARDWARE_DEBUG_API"),
        off("EXPORT_PTMR_USER"),
        ("ENABLE_BENCHMARKS", json!(true)),
        ("ENABLE_SMP_SUPPORT", json!(true)),
        ("MAX_NUM_NODES", json!("4")),
        ("NUM_DOMAINS", json!("1")),
        ("ROOT_CNODE_SIZE_BITS", json!("12")),
    ];
    assert_eq!(of(&cores, 11), (Kernel::Bench, vec![Smc], 4));
}

#[test]
fn kernels_that_cannot_be_are_refused_with_a_sentence() {
    let on = |name| [(name, json!(true))];
    assert_eq!(
        refusal(&on("ARM_HYPERVISOR_SUPPORT"), 12),
        "it wants a kernel with ARM_HYPERVISOR_SUPPORT, which Escapement does not have; take another board"
    );
    assert_eq!(
        refusal(&[("NUM_DOMAINS", json!("8"))], 12),
        "it wants NUM_DOMAINS to be 8; here it can be 1 or 16"
    );
    assert_eq!(
        refusal(&[("NUM_DOMAIN_SCHEDULES", json!("256"))], 12),
        "it wants 256 entries of the domain schedule; here there are 100"
    );
    assert_eq!(
        refusal(&[("SEL4_ARCH", json!("riscv64"))], 12),
        "it is for another architecture than qemu-virt"
    );
    assert!(refusal(&[("KERNEL_MCS", json!(false))], 12).contains("without MCS"));
    assert!(refusal(&[("NUM_DOMAINS", json!(16))], 12).contains("no number `NUM_DOMAINS`"));
    assert_eq!(
        refusal(&[], 11),
        "it wants `tcb` to have 2^11 bytes; here it has 2^12"
    );
    let why = |cores: &str| {
        let several = [
            ("ENABLE_SMP_SUPPORT", json!(true)),
            ("MAX_NUM_NODES", json!(cores)),
        ];
        refusal(&several, 12)
    };
    assert_eq!(why("16"), "qemu-virt has 8 cores, not 16; reduce --smp");
    for cores in ["0", "4294967300"] {
        let expected = format!("it is for {cores} cores, which no board has");
        assert_eq!(why(cores), expected);
    }
}

/// The methods of all architectures, without those of breakpoints, from label 1 on.
const METHODS: &str = "UntypedRetype TCBReadRegisters TCBWriteRegisters TCBCopyRegisters TCBConfigure TCBSetPriority \
    TCBSetMCPriority TCBSetSchedParams TCBSetTimeoutEndpoint TCBSetIPCBuffer TCBSetSpace TCBSuspend TCBResume \
    TCBBindNotification TCBUnbindNotification TCBSetTLSBase TCBSetFlags CNodeRevoke CNodeDelete CNodeCancelBadgedSends \
    CNodeCopy CNodeMint CNodeMove CNodeMutate CNodeRotate IRQIssueIRQHandler IRQAckIRQ IRQSetIRQHandler \
    IRQClearIRQHandler DomainSetSet DomainScheduleConfigure DomainScheduleSetStart SchedControlConfigureFlags \
    SchedContextBind SchedContextUnbind SchedContextUnbindObject SchedContextConsumed SchedContextYieldTo";

#[test]
fn labels_of_another_version_are_refused() {
    let labels = |breakpoints: u64| -> BTreeMap<String, u64> {
        let names = METHODS.split_whitespace().map(str::to_string);
        let moved = |label: u64| label + if label > 15 { breakpoints } else { 0 };
        names.zip((1..).map(moved)).collect()
    };
    let configuration = |abi| Configuration {
        kernel: Kernel::Release,
        abi,
        cores: 1,
    };
    let release = configuration(vec![]);
    let debug = configuration(vec![AbiOption::Hwdebug]);
    release.check_labels(&labels(0)).unwrap();
    debug.check_labels(&labels(4)).unwrap();
    let why = release.check_labels(&labels(4)).unwrap_err().to_string();
    assert!(why.starts_with(
        "it has label 20 for TcbSetTlsBase, and the kernel 16, so it is of another version"
    ));
    let mut without = labels(0);
    without.remove("CNodeCancelBadgedSends");
    let why = release.check_labels(&without).unwrap_err().to_string();
    assert!(why.starts_with("it has no label for CNodeCancelBadgedSends, and the kernel 20"));
}

/// Writes a file below a folder.
fn write(folder: &Path, name: &str, text: &str) {
    let file = folder.join(name);
    fs::create_dir_all(file.parent().unwrap()).unwrap();
    fs::write(file, text).unwrap();
}

#[test]
fn folders_that_are_no_sdk_are_refused_with_a_sentence() {
    let folder = Folder::new().unwrap();
    let path = folder.path();
    let why = || Source::open(path, None).err().unwrap().to_string();
    assert!(why().contains("it has no file `VERSION`"));
    write(path, "VERSION", "1.4.1\n");
    assert!(why().ends_with("is Microkit of version 1.4.1; take version 2.3.0-dev"));
    write(path, "VERSION", "2.3.0-dev\n");
    assert!(why().ends_with("has no `bin/microkit`; make it again"));
    write(path, "bin/microkit", "");
    write(path, "board/b/debug/elf/loader.elf", "");
    let source = Source::open(path, None).unwrap();
    assert!(source.has("b") && !source.has("c"));
    let board = |name: &str| Board {
        board: name.to_string(),
        ..platform("qemu-virt").microkit.unwrap()
    };
    let refusal = |board: &Board| source.configurations(board).unwrap_err().to_string();
    let missing = refusal(&board("b"));
    assert!(missing.ends_with("board/b/debug has no `elf/initialiser.elf`; make it again"));
    let pc = Board {
        layout: None,
        ..board("b")
    };
    assert!(refusal(&pc).ends_with("has no `elf/sel4_32.elf`; make it again"));
    fs::create_dir(path.join("board/d")).unwrap();
    assert!(refusal(&board("d")).ends_with("board/d has no configurations; make it again"));
    let unknown = refusal(&board("c"));
    assert!(unknown.starts_with("the SDK has no board c"));
    let unknown = boards(&Workspace::find().unwrap(), &source, &["c".to_string()]);
    let unknown = unknown.err().unwrap().to_string();
    assert!(
        unknown.starts_with("there is no kernel for Microkit's board c; there are kernels for")
    );
}

/// What Microkit's build leaves in its source for the configuration `debug` of qemu-virt; its headers are beside it.
fn built_source(path: &Path) -> PathBuf {
    write(path, "VERSION", "2.3.0-dev\n");
    write(path, "build_sdk.py", "");
    let sdk = path.join("release/microkit-sdk-2.3.0-dev");
    write(&sdk, "bin/microkit", "tool");
    let debug = sdk.join("board/qemu_virt_aarch64_el1/debug");
    let [_, sizes] = files();
    write(&debug, "object_sizes.json", &sizes.to_string());
    for name in [
        "elf/initialiser.elf",
        "elf/loader.elf",
        "elf/monitor.elf",
        "elf/sel4.elf",
        "invocations_all.json",
        "address_space_constants.json",
        "lib/libmicrokit.a",
    ] {
        write(&debug, name, "Microkit's");
    }
    write(&debug, "include/microkit.h", "Microkit's");
    debug
}

/// seL4's headers of that configuration.
fn installed_headers(path: &Path) -> PathBuf {
    let installed = path.join("build/qemu_virt_aarch64_el1/debug/sel4/install/libsel4/include");
    let [values, _] = files();
    write(&installed, "kernel/gen_config.json", &values.to_string());
    write(&installed, "sel4/types.h", "seL4's");
    write(&installed, "autoconf.h", "seL4's");
    path.join("build")
}

#[test]
fn the_source_of_microkit_has_an_sdk_after_its_build() {
    let folder = Folder::new().unwrap();
    let path = folder.path();
    write(path, "VERSION", "2.2.0\n");
    write(path, "build_sdk.py", "");
    let why = || Source::open(path, None).err().unwrap().to_string();
    assert!(why().ends_with("is Microkit of version 2.2.0; take version 2.3.0-dev"));
    write(path, "VERSION", "2.3.0-dev\n");
    assert!(why().ends_with("without an SDK; build it there with its `build_sdk.py`"));
    let debug = built_source(path);
    let board = platform("qemu-virt").microkit.unwrap();
    let configurations = |source: &Source<'_>| source.configurations(&board);
    let source = Source::open(path, None).unwrap();
    let missing = configurations(&source).unwrap_err().to_string();
    assert!(missing.ends_with("has no `include/kernel/gen_config.json`; make it again"));
    let [values, _] = files();
    let config = "include/kernel/gen_config.json";
    write(&debug, config, &values.to_string());
    assert_eq!(configurations(&source).unwrap(), ["debug"]);
    fs::remove_file(debug.join("lib/libmicrokit.a")).unwrap();
    let missing = configurations(&source).unwrap_err().to_string();
    assert!(missing.ends_with("has no `lib/libmicrokit.a`; make it again"));
}

#[test]
fn headers_are_those_of_the_libraries() {
    let folder = Folder::new().unwrap();
    let path = folder.path();
    let debug = built_source(path);
    let board = platform("qemu-virt").microkit.unwrap();
    let headers = path.join("build");
    let why = Source::open(path, Some(&headers)).err().unwrap();
    assert!(why.to_string().starts_with("there is no folder"));
    installed_headers(path);
    let source = Source::open(path, Some(&headers)).unwrap();
    assert_eq!(source.configurations(&board).unwrap(), ["debug"]);
    let config = "include/kernel/gen_config.json";
    write(&debug, config, &json!({ "NUM_DOMAINS": "1" }).to_string());
    let why = || source.configurations(&board).unwrap_err().to_string();
    assert!(why().contains("are for another kernel than the libraries of board/"));
    let installed = "qemu_virt_aarch64_el1/debug/sel4/install";
    fs::remove_dir_all(headers.join(installed)).unwrap();
    assert!(why().starts_with("there are no headers for board/qemu_virt_aarch64_el1/debug"));
}

#[test]
fn an_sdk_is_written_with_our_kernels_and_all_headers() {
    let folder = Folder::new().unwrap();
    let path = folder.path();
    built_source(path);
    let headers = installed_headers(path);
    let source = Source::open(path, Some(&headers)).unwrap();
    let place = "board/qemu_virt_aarch64_el1/debug".to_string();
    let values = source.values(&place).unwrap();
    let sizes = source.sizes(&place).unwrap();
    let platform = platform("qemu-virt");
    let debug = Configuration::of(&values, &sizes, &platform).unwrap();
    assert_eq!(debug.kernel, Kernel::Debug);
    let kernels = [super::Kernel {
        folder: place,
        files: vec![("elf/sel4.elf".to_string(), b"ours".to_vec())],
    }];
    let board = platform.microkit.unwrap();
    let output = path.join("ours");
    super::write(&source, &output, &[board], &kernels).unwrap();
    let read = |name: &str| fs::read_to_string(output.join(name)).unwrap();
    assert_eq!(read("bin/microkit"), "tool");
    // By either name of the board.
    for board in ["qemu_virt_aarch64_el1", "qemu_virt_aarch64"] {
        let read = |name: &str| read(&format!("board/{board}/debug/{name}"));
        assert_eq!(read("elf/sel4.elf"), "ours");
        assert_eq!(read("elf/monitor.elf"), "Microkit's");
        assert_eq!(read("include/microkit.h"), "Microkit's");
        assert_eq!(read("include/sel4/types.h"), "seL4's");
        assert_eq!(read("include/autoconf.h"), "seL4's");
        assert!(read("include/kernel/gen_config.json").contains("NUM_DOMAINS"));
    }
}

/// Else the copy would be copied, and so on, until the disk is full.
#[test]
fn an_sdk_is_not_written_into_the_one_that_is_copied() {
    let folder = Folder::new().unwrap();
    let path = folder.path();
    write(path, "VERSION", "2.3.0-dev\n");
    write(path, "bin/microkit", "");
    fs::create_dir(path.join("board")).unwrap();
    let source = Source::open(path, None).unwrap();
    for inside in ["ours", "board/ours", "new/ours"] {
        let why = source.require_outside(&path.join(inside));
        let why = why.unwrap_err().to_string();
        assert!(why.contains("is in the SDK that is copied"), "{why}");
    }
    let beside = path.with_extension("ours");
    source.require_outside(&beside).unwrap();
    source.require_outside(&beside.join("new")).unwrap();
}

/// The description of memory covers what users can have: RAM and devices are disjoint and in order.
#[test]
fn the_memory_of_boards_is_in_order() {
    let workspace = Workspace::find().unwrap();
    let mut boards = 0;
    for name in Platform::names(&workspace) {
        let board = platform(&name).microkit;
        let Some(board) = board.and_then(|board| board.layout) else {
            continue;
        };
        let mut all = [&*board.memory, &*board.devices].concat();
        all.sort_by_key(|range| range.start);
        assert!(all.iter().all(|range| range.start < range.end));
        assert!(all.windows(2).all(|pair| pair[0].end <= pair[1].start));
        // On zcu102 it lies in RAM that the kernel gives out as a device.
        let image = board.image;
        assert!(image.start < image.end);
        assert!((all.iter()).any(|range| range.start <= image.start && image.end <= range.end));
        let file: Value = serde_json::from_str(&board.memory_file().unwrap()).unwrap();
        assert_eq!(file["memory"][0]["start"], board.memory[0].start);
        boards += 1;
    }
    assert!(boards > 0);
}

#[test]
fn systems_of_an_sdk_whose_kernels_trace_are_traced() {
    let make = [
        "cargo xtask",
        "microkit",
        "--source",
        "sdk",
        "-o",
        "own",
        "--trace",
    ];
    let Command::Microkit(arguments) = Cli::parse_from(make).command else {
        panic!("not `microkit`")
    };
    assert!(arguments.trace);
    // Without an end, the last events matter, and all of them can be collected.
    assert_eq!(super::TRACING.keep, Keep::All.by_kernel());
    let boot = [
        "cargo xtask",
        "qemu",
        "--microkit",
        "loader.img",
        "--trace",
        "x.trace",
    ];
    let Command::Qemu(arguments) = Cli::parse_from(boot).command else {
        panic!("not `qemu`")
    };
    assert!(arguments.microkit.is_some() && arguments.trace.is_some());
}

#[test]
fn files_that_are_no_images_are_refused_with_a_sentence() {
    let folder = Folder::new().unwrap();
    let path = folder.path().join("loader.img");
    let why = |name: &str, change: fn(&mut Layout)| {
        let platform = platform(name);
        let mut board = platform.microkit.clone().unwrap();
        board.layout.iter_mut().for_each(change);
        board
            .check(&platform, &path)
            .err()
            .map(|error| error.to_string())
    };
    let is = |refusal: Option<String>, words: &str| refusal.is_some_and(|it| it.contains(words));
    assert!(is(why("qemu-virt", |_| {}), "there is no file"));
    fs::write(&path, [0; 100]).unwrap();
    assert_eq!(why("qemu-virt", |_| {}), None);
    assert!(is(
        why("pc99", |_| {}),
        "is no image for x86_64_generic, which is an ELF file"
    ));
    let small = |layout: &mut Layout| layout.image.end = layout.image.start + 99;
    assert!(is(
        why("zcu102", small),
        "it has 100 bytes, and memory from 0x40000000 on 99"
    ));
    let mut file = executable();
    file.format.machine = Machine::X86_64;
    fs::write(&path, file.write().unwrap()).unwrap();
    assert_eq!(why("pc99", |_| {}), None);
    assert!(is(
        why("qemu-virt", |_| {}),
        "an image for qemu_virt_aarch64_el1 is none"
    ));
}

/// A kernel of 3 MiB that begins 2 MiB into memory, with `change` made.
fn kernel(change: impl FnOnce(&mut Executable)) -> Result<promise::Kernel, String> {
    let mut file = executable();
    change(&mut file);
    promise::Kernel::of(&file).map_err(|error| error.to_string())
}

fn executable() -> Executable {
    const OFFSET: u64 = 0xffff_ff80_0000_0000;
    let segment = |start: u64, size| Segment {
        virtual_address: start + OFFSET,
        physical_address: start,
        data: Vec::new(),
        memory_size: size,
        flags: object::elf::PF_R,
    };
    let symbols = [("ki_boot_end", 0x4020_4000), ("ki_end", 0x4050_1000)];
    Executable {
        format: Format {
            class: Class::Elf64,
            machine: Machine::Aarch64,
        },
        flags: object::elf::FileFlags(0),
        entry: OFFSET + 0x4020_1000,
        segments: vec![
            segment(0x4020_0000, 0x1000),
            segment(0x4020_4000, 0x2f_d000),
        ],
        is_static: true,
        symbols: symbols
            .map(|(name, value)| (name.to_string(), value + OFFSET))
            .to_vec(),
    }
}

/// The numbers are those of the rules, added by hand.
#[test]
fn free_memory_is_what_the_rules_say() {
    let range = |start, end| Range { start, end };
    let folder = |radix: &str, memory: &[Range]| promise::Folder {
        values: values(&[("ROOT_CNODE_SIZE_BITS", json!(radix))]),
        sizes: sizes(12),
        memory: Memory {
            devices: Vec::new(),
            memory: memory.to_vec(),
        },
    };
    let all = [
        range(0x4000_0000, 0x6000_0000),
        range(0x8000_0000, 0x8080_1000),
    ];
    let kernel = kernel(|_| {}).unwrap();
    // The first page of 3 tables: 4 MiB, 4 KiB, and pages: 2, 1, 1, 3; and 128 bytes.
    let task = range(0x20_0000, 0x3f_e000);
    let objects = 0x40_0000 + 0x1000 + 7 * 0x1000 + 128;
    let promise = Promise::of(&kernel, &folder("17", &all), task).unwrap();
    assert_eq!(promise.task, 0x4051_0000);
    assert_eq!(
        promise.memory,
        [
            range(0x4000_0000, 0x4020_0000),
            range(0x4020_0000, 0x4020_4000),
            range(0x4050_1000, 0x4051_0000),
            range(0x4070_e000, 0x6000_0000),
            range(0x8000_0000 + objects, 0x8080_1000),
        ]
    );
    // A page more of the task needs a table more.
    let longer = range(0x20_0000, 0x3f_f000);
    let promise = Promise::of(&kernel, &folder("17", &all), longer).unwrap();
    assert_eq!(promise.memory[4].start, 0x8000_0000 + objects + 0x1000);
    // The region at the end is too small.
    let small = [all[0], range(0x8000_0000, 0x8040_0000)];
    let promise = Promise::of(&kernel, &folder("17", &small), task).unwrap();
    assert_eq!(promise.memory[3], range(0x4070_e000, 0x5f80_0000));
    assert_eq!(promise.memory[5], small[1]);
    let nothing = [range(0x4000_0000, 0x4060_0000)];
    let why = |memory: &[Range]| {
        let result = Promise::of(&kernel, &folder("17", memory), task);
        result.unwrap_err().to_string()
    };
    assert!(why(&nothing).starts_with("the initial task does not fit"));
    let little = [range(0x4000_0000, 0x4090_0000)];
    assert!(why(&little).starts_with("the initial objects do not fit"));
}

#[test]
fn kernels_that_the_tool_does_not_understand_are_refused() {
    let why = |change: fn(&mut Executable)| kernel(change).unwrap_err();
    assert!(why(|file| file.segments.clear()).ends_with("nothing to load"));
    assert!(why(|file| file.format.class = Class::Elf32).ends_with("no 64-bit file"));
    assert!(why(|file| file.segments[1].physical_address += 4096).contains("different offsets"));
    assert!(why(|file| file.segments.swap(0, 1)).contains("not the lowest"));
    let off = |file: &mut Executable| {
        for segment in &mut file.segments {
            segment.physical_address += 4096;
        }
    };
    assert!(why(off).contains("blocks of 2 MiB"));
    assert!(why(|file| file.segments[1].memory_size = 1 << 30).contains("multiple of 1 GiB"));
    assert!(why(|file| file.entry = 0x4020_1000).contains("no virtual address"));
    assert!(why(|file| file.symbols.truncate(1)).contains("no symbol `ki_end`"));
    assert!(why(|file| file.symbols[1].1 -= 4096).contains("before its last segment"));
}
