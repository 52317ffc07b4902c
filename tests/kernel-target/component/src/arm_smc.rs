//! Calls of the firmware on AArch64 (option `smc`). Without a monitor there is no capability, and nothing to test.

use crate::support::protocol::names;
use crate::support::{Outcome, Test};
use crate::{check, check_eq};
use abi::{Method, Rights, slots};
use userlib::cap::{CNode, Slot};
use userlib::invoke::invoke;
use userlib::{CPtr, Error, Message, Result};

tests![
    if abi::config::SMC;
    the_firmware_answers,
    unknown_functions_are_not_supported,
    a_core_that_is_on_stays_where_it_is,
    short_calls_are_truncated,
    other_methods_are_illegal,
    a_badge_allows_one_function,
    badges_are_set_once,
    revoking_takes_copies_back,
    revoking_leaves_equal_badges,
];

/// `PSCI_VERSION` (DEN 0022).
const VERSION: usize = 0x8400_0000;
/// `PSCI_FEATURES`, which tells of [`VERSION`] that it is there, by zero.
const FEATURES: usize = 0x8400_000a;
/// `CPU_ON` of 64-bit callers.
const CPU_ON: usize = 0xc400_0003;

/// Errors of PSCI ("Return error codes").
const NOT_SUPPORTED: usize = -1_isize as usize;
const INVALID_PARAMETERS: usize = -2_isize as usize;
const ALREADY_ON: usize = -4_isize as usize;

/// A copy of the capability; none if there is no monitor.
fn firmware(test: &mut Test) -> Result<Option<Slot>> {
    let root: CNode = test.startup.capability(names::ROOT_CNODE);
    let copy = test.empty_slot()?;
    match copy.copy_from(root.slot(CPtr(slots::SMC)), Rights::ALL) {
        Ok(()) => Ok(Some(copy)),
        Err(Error::FailedLookup { source: true, .. }) => Ok(None),
        Err(other) => Err(other),
    }
}

fn call(slot: Slot, function: usize, argument: usize) -> Result<Message> {
    let words = [function, argument, 0, 0, 0, 0, 0, 0];
    invoke(CPtr(slot.index), Method::ArmSmcCall.number(), &words, &[])
}

fn the_firmware_answers(test: &mut Test) -> Outcome {
    let Some(firmware) = firmware(test)? else {
        return Ok(());
    };
    let version = call(firmware, VERSION, 0)?;
    check_eq!(version.length(), 8);
    check!(version.word(0) >= 1 << 16, "older than PSCI 1.0");
    for function in [VERSION, FEATURES, CPU_ON] {
        check_eq!(call(firmware, FEATURES, function)?.word(0), 0);
    }
    Ok(())
}

/// As the calling convention says of any monitor; from version 1.1 on, the other registers keep their values (DEN 0028).
fn unknown_functions_are_not_supported(test: &mut Test) -> Outcome {
    /// Of the range of the standard's services, but of none of them.
    const UNKNOWN: usize = 0x8400_fff0;
    let Some(firmware) = firmware(test)? else {
        return Ok(());
    };
    check_eq!(call(firmware, FEATURES, UNKNOWN)?.word(0), NOT_SUPPORTED);
    let words = [UNKNOWN, 1, 2, 3, 4, 5, 6, 7];
    let answer = invoke(
        CPtr(firmware.index),
        Method::ArmSmcCall.number(),
        &words,
        &[],
    )?;
    check_eq!(answer.word(0), NOT_SUPPORTED);
    for (place, &word) in words.iter().enumerate().skip(4) {
        check_eq!(answer.word(place), word);
    }
    Ok(())
}

/// The boot core, which no call of the firmware has powered on.
fn a_core_that_is_on_stays_where_it_is(test: &mut Test) -> Outcome {
    const BOOT_CORE: usize = 0;
    const NO_CORE: usize = 0xff_0000;
    let Some(firmware) = firmware(test)? else {
        return Ok(());
    };
    check_eq!(call(firmware, CPU_ON, BOOT_CORE)?.word(0), ALREADY_ON);
    check_eq!(call(firmware, CPU_ON, NO_CORE)?.word(0), INVALID_PARAMETERS);
    Ok(())
}

fn short_calls_are_truncated(test: &mut Test) -> Outcome {
    let Some(firmware) = firmware(test)? else {
        return Ok(());
    };
    for length in 0..8 {
        let words = &[VERSION; 8][..length];
        let result = invoke(
            CPtr(firmware.index),
            Method::ArmSmcCall.number(),
            words,
            &[],
        );
        check_eq!(result.map(drop), Err(Error::TruncatedMessage));
    }
    Ok(())
}

fn other_methods_are_illegal(test: &mut Test) -> Outcome {
    let Some(firmware) = firmware(test)? else {
        return Ok(());
    };
    for method in [
        Method::InvalidInvocation,
        Method::TcbSuspend,
        Method::ArmPageMap,
    ] {
        let result = invoke(CPtr(firmware.index), method.number(), &[VERSION; 8], &[]);
        check_eq!(result.map(drop), Err(Error::IllegalOperation));
    }
    Ok(())
}

fn a_badge_allows_one_function(test: &mut Test) -> Outcome {
    let Some(firmware) = firmware(test)? else {
        return Ok(());
    };
    let (one, copy) = (test.empty_slot()?, test.empty_slot()?);
    one.mint_from(firmware, Rights::ALL, FEATURES)?;
    copy.copy_from(one, Rights::ALL)?;
    for slot in [one, copy] {
        check_eq!(call(slot, FEATURES, VERSION)?.word(0), 0);
        let result = call(slot, VERSION, 0).map(drop);
        check_eq!(result, Err(Error::IllegalOperation));
    }
    Ok(())
}

fn badges_are_set_once(test: &mut Test) -> Outcome {
    let Some(firmware) = firmware(test)? else {
        return Ok(());
    };
    let (one, other) = (test.empty_slot()?, test.empty_slot()?);
    one.mint_from(firmware, Rights::ALL, FEATURES)?;
    for badge in [0, VERSION, FEATURES] {
        let result = other.mint_from(one, Rights::ALL, badge);
        check_eq!(result, Err(Error::IllegalOperation));
    }
    Ok(())
}

fn revoking_takes_copies_back(test: &mut Test) -> Outcome {
    let Some(firmware) = firmware(test)? else {
        return Ok(());
    };
    let (one, copy) = (test.empty_slot()?, test.empty_slot()?);
    one.mint_from(firmware, Rights::ALL, FEATURES)?;
    copy.copy_from(one, Rights::ALL)?;
    one.revoke()?;
    check!(call(copy, FEATURES, VERSION).is_err());
    check_eq!(call(one, FEATURES, VERSION)?.word(0), 0);
    Ok(())
}

/// Two capabilities with one badge that were minted from the same one are siblings.
fn revoking_leaves_equal_badges(test: &mut Test) -> Outcome {
    let Some(firmware) = firmware(test)? else {
        return Ok(());
    };
    let (first, second) = (test.empty_slot()?, test.empty_slot()?);
    first.mint_from(firmware, Rights::ALL, FEATURES)?;
    second.mint_from(firmware, Rights::ALL, FEATURES)?;
    second.revoke()?;
    first.revoke()?;
    check_eq!(call(first, FEATURES, VERSION)?.word(0), 0);
    check_eq!(call(second, FEATURES, VERSION)?.word(0), 0);
    Ok(())
}
