use std::collections::BTreeMap;

use serde_json::{Map, Value, json};

use super::configuration::{Configuration, Values};
use super::source::Source;
use crate::cli::{AbiOption, Kernel};
use crate::platform::Platform;
use crate::temporary::Folder;
use crate::workspace::Workspace;

fn platform(name: &str) -> Platform {
    Platform::load(&Workspace::find().unwrap(), name).unwrap()
}

/// The options of the configuration `debug`, with some changed.
fn values(changes: &[(&str, Value)]) -> Values {
    let all = json!({
        "SEL4_ARCH": "aarch64", "KERNEL_MCS": true, "ARM_HYPERVISOR_SUPPORT": false, "DEBUG_BUILD": true,
        "ENABLE_BENCHMARKS": false, "ENABLE_SMP_SUPPORT": false, "MAX_NUM_NODES": "1", "NUM_DOMAINS": "16",
        "NUM_DOMAIN_SCHEDULES": "100", "ROOT_CNODE_SIZE_BITS": "17", "HARDWARE_DEBUG_API": true,
        "ALLOW_SMC_CALLS": true, "EXPORT_PTMR_USER": true,
    });
    let mut all: Map<_, _> = serde_json::from_value(all).unwrap();
    let changes = changes
        .iter()
        .map(|(name, value)| ((*name).to_string(), value.clone()));
    all.extend(changes);
    Values(all)
}

fn sizes(tcb: u64) -> BTreeMap<String, u64> {
    let all = [
        ("tcb", tcb),
        ("endpoint", 4),
        ("notification", 6),
        ("reply", 5),
        ("slot", 5),
        ("vspace", 12),
        ("page_table", 12),
        ("small_page", 12),
        ("asid_pool", 12),
        ("min_untyped_bits", 4),
        ("max_untyped_bits", 47),
    ];
    all.map(|(name, bits)| (name.to_string(), bits)).into()
}

fn refusal(changes: &[(&str, Value)], tcb: u64) -> String {
    let result = Configuration::of(&values(changes), &sizes(tcb), &platform("qemu-virt"));
    result.unwrap_err().to_string()
}

#[test]
fn configurations_become_kernels() {
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
    let many = [
        ("ENABLE_SMP_SUPPORT", json!(true)),
        ("MAX_NUM_NODES", json!("16")),
    ];
    assert_eq!(refusal(&many, 12), "qemu-virt has 8 cores, not 16");
}

#[test]
fn folders_that_are_no_sdk_are_refused_with_a_sentence() {
    let folder = Folder::new().unwrap();
    let path = folder.path();
    let write = |name: &str, text: &str| {
        let file = path.join(name);
        std::fs::create_dir_all(file.parent().unwrap()).unwrap();
        std::fs::write(file, text).unwrap();
    };
    let why = || Source::open(path).err().unwrap().to_string();
    assert!(why().contains("it has no file `VERSION`"));
    write("VERSION", "1.4.1\n");
    assert!(why().ends_with("has version 1.4.1; take one of version 2.3.0-dev"));
    write("VERSION", "2.3.0-dev\n");
    assert!(why().ends_with("has no `bin/microkit`; install it anew"));
    write("build_sdk.py", "");
    assert!(why().contains("name the folder release/microkit-sdk-2.3.0-dev"));
    std::fs::remove_file(path.join("build_sdk.py")).unwrap();
    write("bin/microkit", "");
    write("board/b/debug/elf/loader.elf", "");
    let source = Source::open(path).unwrap();
    assert!(source.has("b") && !source.has("c"));
    let missing = source.configurations("b").unwrap_err().to_string();
    assert!(missing.ends_with("board/b/debug has no `elf/initialiser.elf`; install it anew"));
    let unknown = source.configurations("c").unwrap_err().to_string();
    assert!(unknown.starts_with("the SDK has no board c"));
}

/// The description of memory covers what users can have: RAM and devices are disjoint and in order.
#[test]
fn the_memory_of_boards_is_in_order() {
    let workspace = Workspace::find().unwrap();
    let mut boards = 0;
    for name in Platform::names(&workspace) {
        let Some(board) = platform(&name).microkit else {
            continue;
        };
        let mut all = [&*board.memory, &*board.devices].concat();
        all.sort_by_key(|range| range.start);
        assert!(all.iter().all(|range| range.start < range.end));
        assert!(all.windows(2).all(|pair| pair[0].end <= pair[1].start));
        assert!((board.memory.iter()).any(|range| (range.start..range.end).contains(&board.image)));
        let file: Value = serde_json::from_str(&board.memory_file().unwrap()).unwrap();
        assert_eq!(file["memory"][0]["start"], board.memory[0].start);
        boards += 1;
    }
    assert!(boards > 0);
}
