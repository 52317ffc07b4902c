//! The mitigations that x86-64 processors need against speculative-execution attacks. The values are
//! those that the processors report with current microcode.

#[path = "../../../../arch/x86_64/src/speculation/needs.rs"]
mod needs;

use needs::{Processor, Speculation};

/// MD_CLEAR, IBRS and IBPB, STIBP, and IA32_ARCH_CAPABILITIES.
const MICROCODE: u32 = 1 << 10 | 1 << 26 | 1 << 27 | 1 << 29;
const RTM: u32 = 1 << 11;
const RDCL_NO: u64 = 1 << 0;
const IBRS_ALL: u64 = 1 << 1;
const MDS_NO: u64 = 1 << 5;
const TAA_NO: u64 = 1 << 8;
const STALE_DATA_NO: u64 = 7 << 13;
const FB_CLEAR: u64 = 1 << 17;
const RFDS_NO: u64 = 1 << 27;
const RFDS_CLEAR: u64 = 1 << 28;

fn intel(leaf_7_ebx: u32, capabilities: u64) -> Speculation {
    Speculation::of(&Processor {
        leaf_7_ebx,
        leaf_7_edx: MICROCODE,
        capabilities,
        ..Processor::default()
    })
}

/// Processors from before Spectre report nothing and have no mitigations.
#[test]
fn the_silent_are_taken_for_vulnerable() {
    let needs = Speculation::of(&Processor::default());
    let expected = Speculation {
        meltdown: true,
        ..Speculation::default()
    };
    assert_eq!(needs, expected);
}

#[test]
fn skylake_needs_everything() {
    let needs = intel(RTM, 0);
    assert!(needs.meltdown && needs.buffers && needs.barrier && needs.single_thread);
    assert!(!needs.enhanced_ibrs);
}

#[test]
fn cascade_lake_clears_buffers_for_its_transactions() {
    let capabilities = RDCL_NO | IBRS_ALL | MDS_NO;
    let needs = intel(RTM, capabilities);
    assert!(!needs.meltdown && needs.enhanced_ibrs);
    assert!(needs.buffers);
    assert!(!intel(0, capabilities).buffers);
    assert!(!intel(RTM, capabilities | TAA_NO).buffers);
}

#[test]
fn ice_lake_clears_fill_buffers() {
    let capabilities = RDCL_NO | IBRS_ALL | MDS_NO | TAA_NO | FB_CLEAR;
    assert!(intel(0, capabilities).buffers);
    assert!(!intel(0, capabilities | STALE_DATA_NO).buffers);
}

#[test]
fn gracemont_clears_register_files() {
    let capabilities = RDCL_NO | IBRS_ALL | MDS_NO | TAA_NO | STALE_DATA_NO | RFDS_CLEAR;
    assert!(intel(0, capabilities).buffers);
    assert!(!intel(0, capabilities | RFDS_NO).buffers);
}

#[test]
fn amd_has_its_own_leaves() {
    let zen_4 = Processor {
        is_amd: true,
        // IBPB and STIBP; automatic IBRS, and `verw` clears buffers.
        leaf_8_ebx: 1 << 12 | 1 << 15,
        leaf_21_eax: 1 << 8 | 1 << 5,
        ..Processor::default()
    };
    let expected = Speculation {
        meltdown: false,
        buffers: true,
        barrier: true,
        enhanced_ibrs: false,
        automatic_ibrs: true,
        single_thread: true,
    };
    assert_eq!(Speculation::of(&zen_4), expected);
    // TSA_SQ_NO and TSA_L1_NO.
    let later = Processor {
        leaf_21_ecx: 3 << 1,
        ..zen_4
    };
    assert!(!Speculation::of(&later).buffers);
}

/// On processors of other vendors, these bits have other meanings or none.
#[test]
fn leaves_of_amd_say_nothing_of_others() {
    let needs = Speculation::of(&Processor {
        leaf_8_ebx: u32::MAX,
        leaf_21_eax: u32::MAX,
        ..Processor::default()
    });
    assert!(!needs.barrier && !needs.automatic_ibrs && !needs.single_thread && !needs.buffers);
}
