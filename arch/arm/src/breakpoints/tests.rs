//! Tests of what is loaded and reported.

use abi::breakpoint::{DATA as DATA_REASON, INSTRUCTION};

use super::*;

const CODE: usize = 0x1_0000;
const VARIABLE: usize = 0x2_0004;

const fn at(address: usize, size: usize, access: Access) -> Breakpoint {
    Breakpoint {
        address,
        size,
        access,
    }
}

const fn code(address: usize) -> Breakpoint {
    at(address, 0, Access::Execute)
}

fn fault(reason: usize, address: usize, number: usize) -> Option<Fault> {
    Some(Fault::Debug {
        reason,
        address,
        number,
    })
}

fn with(set: &[(usize, Breakpoint)]) -> Debug {
    let mut debug = Debug::NONE;
    for &(number, breakpoint) in set {
        assert_eq!(debug.set(number, Some(breakpoint)), Ok(()));
    }
    // The thread has run since.
    debug.moved = false;
    debug
}

/// The conditions that are loaded, by number.
fn loaded(debug: &Debug, stepping: Stepping) -> Vec<usize> {
    let controls = debug.registers(stepping).controls;
    (0..COUNT).filter(|&number| controls[number] != 0).collect()
}

#[test]
fn registers_have_the_formats_of_the_manual() {
    // Enabled, users, and the bytes from bit 5 on; accesses from bit 3 on.
    assert_eq!(encode(&code(0x1004)), (0x1004, 0x1e5));
    assert_eq!(encode(&code(0x1006)), (0x1004, 0x185));
    assert_eq!(encode(&at(0x2001, 1, Access::Read)), (0x2000, 0x4d));
    assert_eq!(encode(&at(0x2004, 4, Access::Write)), (0x2000, 0x1e15));
    assert_eq!(encode(&at(0x2008, 8, Access::ReadWrite)), (0x2008, 0x1ffd));
}

#[test]
fn an_unused_state_needs_no_registers() {
    let mut debug = with(&[(3, code(CODE))]);
    assert!(debug.is_active());
    assert_eq!(debug.set(3, None), Ok(()));
    assert!(!debug.is_active());
    assert_eq!(debug.registers(Stepping::Flag), Registers::NONE);
    assert_eq!(debug.registers(Stepping::Mismatch), Registers::NONE);
}

#[test]
fn a_breakpoint_is_passed_by_one_step() {
    let mut debug = with(&[(1, code(CODE)), (2, code(CODE + 4))]);
    let stop = debug.handle(Stepping::Flag, Event::Instruction, CODE);
    assert_eq!(stop, fault(INSTRUCTION, CODE, 1));
    assert_eq!(loaded(&debug, Stepping::Flag), [2]);
    assert!(debug.registers(Stepping::Flag).steps);
    assert_eq!(debug.handle(Stepping::Flag, Event::Step, CODE + 4), None);
    assert_eq!(loaded(&debug, Stepping::Flag), [1, 2]);
    assert!(!debug.registers(Stepping::Flag).steps);
}

#[test]
fn a_mismatch_takes_a_free_register() {
    let all: Vec<_> = (0..INSTRUCTIONS)
        .map(|number| (number, code(CODE + 4 * number)))
        .collect();
    let mut debug = with(&all);
    let stop = debug.handle(Stepping::Mismatch, Event::Instruction, CODE + 8);
    assert_eq!(stop, fault(INSTRUCTION, CODE + 8, 2));
    debug.begin_step(CODE + 8, false);
    let registers = debug.registers(Stepping::Mismatch);
    assert_eq!(
        (registers.addresses[2], registers.controls[2]),
        (CODE + 8, 0x40_01e5)
    );
    // The next instruction has a breakpoint too: it stops there at the next attempt.
    assert_eq!(
        debug.handle(Stepping::Mismatch, Event::Instruction, CODE + 12),
        None
    );
    let stop = debug.handle(Stepping::Mismatch, Event::Instruction, CODE + 12);
    assert_eq!(stop, fault(INSTRUCTION, CODE + 12, 3));
}

#[test]
fn a_mismatch_is_about_one_thumb_instruction() {
    let mut debug = Debug::NONE;
    assert_eq!(debug.step(Stepping::Mismatch, Some(4), 1), Ok(true));
    for (pc, control) in [(CODE, 0x40_0065), (CODE + 2, 0x40_0185)] {
        debug.begin_step(pc, true);
        let registers = debug.registers(Stepping::Mismatch);
        assert_eq!(
            (registers.addresses[4], registers.controls[4]),
            (CODE, control)
        );
    }
}

#[test]
fn instructions_are_counted() {
    for stepping in [Stepping::Flag, Stepping::Mismatch] {
        let mut debug = Debug::NONE;
        let uses = stepping == Stepping::Mismatch;
        assert_eq!(debug.step(stepping, Some(0), 2), Ok(uses));
        let event = if uses {
            Event::Instruction
        } else {
            Event::Step
        };
        debug.begin_step(CODE, false);
        assert_eq!(debug.handle(stepping, event, CODE + 4), None);
        debug.begin_step(CODE + 4, false);
        assert_eq!(
            debug.handle(stepping, event, CODE + 8),
            fault(SINGLE_STEP, 0, 0)
        );
        assert!(!debug.is_stepping());
        // A reply.
        assert_eq!(debug.step(stepping, None, 1), Ok(uses));
        assert!(debug.is_stepping());
    }
}

#[test]
fn stepping_keeps_its_breakpoint() {
    let mut debug = with(&[(1, code(CODE))]);
    let illegal = Err(Error::IllegalOperation);
    let stepping = Stepping::Mismatch;
    assert_eq!(debug.step(stepping, Some(6), 1), Err(Error::range(0, 5)));
    assert_eq!(debug.step(stepping, Some(6), 0), Err(Error::range(0, 5)));
    assert_eq!(debug.step(stepping, Some(1), 1).map(drop), illegal);
    assert_eq!(debug.step(stepping, None, 1).map(drop), illegal);
    assert!(!debug.is_stepping());
    assert_eq!(debug.step(stepping, Some(2), 1), Ok(true));
    assert_eq!(debug.set(2, Some(code(CODE))), illegal);
    assert_eq!(debug.set(2, None), illegal);
    assert_eq!(loaded(&debug, stepping), [1, 2]);
    assert_eq!(debug.step(stepping, None, 0), Ok(false));
    assert_eq!(debug.set(2, Some(code(CODE))), Ok(()));
}

#[test]
fn the_nearest_watchpoint_is_reported() {
    let mut debug = with(&[
        (6, at(VARIABLE, 4, Access::Read)),
        (7, at(VARIABLE, 4, Access::Write)),
        (8, at(VARIABLE + 16, 1, Access::ReadWrite)),
    ]);
    for (address, write, number) in [
        (VARIABLE + 3, false, 6),
        (VARIABLE, true, 7),
        (VARIABLE + 12, true, 8),
        (0, false, 6),
        (usize::MAX, false, 8),
    ] {
        let stop = debug.handle(Stepping::Flag, Event::Data { address, write }, CODE);
        let watched = debug.breakpoint(number).map_or(0, |it| it.address);
        assert_eq!(stop, fault(DATA_REASON, watched, number));
        assert_eq!(debug.handle(Stepping::Flag, Event::Step, CODE + 4), None);
    }
}

/// Another core moves a watchpoint, or sets the next number to its address, while an access waits to be reported.
#[test]
fn an_access_that_waits_is_not_reported_under_a_moved_number() {
    for number in [6, 7] {
        let mut debug = with(&[(6, at(VARIABLE + 64, 4, Access::Write))]);
        let moved = at(VARIABLE, 4, Access::Write);
        assert_eq!(debug.set(number, Some(moved)), Ok(()));
        let access = Event::Data {
            address: VARIABLE,
            write: true,
        };
        assert_eq!(debug.handle(Stepping::Flag, access, CODE), None);
        // The instruction is executed again, with what is loaded now.
        assert!(loaded(&debug, Stepping::Flag).contains(&number));
        let stop = debug.handle(Stepping::Flag, access, CODE);
        assert_eq!(stop, fault(DATA_REASON, VARIABLE, number));
    }
    // The first watchpoint of all has no access before it.
    let mut debug = Debug::NONE;
    assert_eq!(debug.set(6, Some(at(VARIABLE, 4, Access::Write))), Ok(()));
    assert!(!debug.moved);
}

#[test]
fn an_access_stops_at_each_of_its_watchpoints() {
    let mut debug = with(&[
        (6, at(VARIABLE, 4, Access::Write)),
        (7, at(VARIABLE, 4, Access::Write)),
    ]);
    let access = Event::Data {
        address: VARIABLE,
        write: true,
    };
    for number in [6, 7] {
        let stop = debug.handle(Stepping::Flag, access, CODE);
        assert_eq!(stop, fault(DATA_REASON, VARIABLE, number));
    }
    assert_eq!(loaded(&debug, Stepping::Flag), []);
    assert_eq!(debug.handle(Stepping::Flag, access, CODE), None);
    assert_eq!(debug.handle(Stepping::Flag, Event::Step, CODE + 4), None);
    assert_eq!(loaded(&debug, Stepping::Flag), [6, 7]);
}

#[test]
fn events_of_what_was_cleared_are_ignored() {
    let mut debug = Debug::NONE;
    for stepping in [Stepping::Flag, Stepping::Mismatch] {
        assert_eq!(debug.handle(stepping, Event::Instruction, CODE), None);
        assert_eq!(debug.handle(stepping, Event::Step, CODE), None);
        assert!(!debug.is_active());
    }
    let stop = debug.handle(Stepping::Flag, Event::Software, CODE);
    assert_eq!(stop, fault(SOFTWARE, 0, 0));
}

#[test]
fn a_breakpoint_that_is_set_again_stops_at_once() {
    let mut debug = with(&[(0, code(CODE))]);
    assert!(
        debug
            .handle(Stepping::Flag, Event::Instruction, CODE)
            .is_some()
    );
    assert_eq!(debug.set(0, Some(code(CODE))), Ok(()));
    assert_eq!(loaded(&debug, Stepping::Flag), [0]);
    assert!(!debug.is_stepping());
}
