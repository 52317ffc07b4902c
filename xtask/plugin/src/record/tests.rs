//! Tests of the record.

use super::{BEGIN, Record};

fn run(record: &Record, kernel: u64) {
    (0..kernel).for_each(|step| record.kernel(0, 0x100 * kernel + step));
}

#[test]
fn all_instructions_count() {
    let record = Record::new();
    record.user(0, 3);
    run(&record, 2);
    record.user(0, 1);
    assert_eq!(record.now(), 6);
}

#[test]
fn the_longest_section_is_kept() {
    let record = Record::new();
    let mut written = Vec::new();
    run(&record, 8);
    record.leave(0);
    record.mark(0, BEGIN, &mut written).unwrap();
    for length in [2, 3, 1] {
        run(&record, length);
        record.user(0, 1);
    }
    run(&record, 1);
    record.leave(0);
    record.mark(0, 0, &mut written).unwrap();
    record.mark(0, 0, &mut written).unwrap();
    let text = String::from_utf8(written).unwrap();
    let lines: Vec<_> = text.lines().skip(1).collect();
    assert_eq!(
        lines,
        [
            "mark 0 1",
            "delay 0",
            "wait 0",
            "sections 4 7 15 1 3 300 301 302",
            "mark 0 1",
            "delay 0",
            "wait 0",
            "sections 0 0 0 0 0"
        ]
    );
}

/// The longest wait of an interrupt that is taken after `before`.
fn waited(before: impl Fn(&Record)) -> String {
    let record = Record::new();
    record.user(0, 10);
    before(&record);
    run(&record, 50);
    record.leave(0);
    record.user(0, 3);
    let mut written = Vec::new();
    record.mark(0, 3, &mut written).unwrap();
    String::from_utf8(written).unwrap()
}

#[test]
fn an_interrupt_waits_no_longer_than_since_the_last_preemption_point() {
    // It arrives while a user runs.
    assert_eq!(waited(|_| {}), "mark 3 50\n");
    // It arrives during a system call.
    let call = |record: &Record| {
        run(record, 100);
        record.leave(0);
    };
    assert_eq!(waited(call), "mark 3 150\n");
    // The kernel reaches three preemption points: at the second there was no interrupt, because it continued.
    let long = |stops: bool| {
        waited(move |record| {
            for _ in 0..3 {
                run(record, 100);
                record.look(0);
            }
            run(record, 10);
            if stops {
                record.stop(0);
            }
            run(record, 10);
            record.leave(0);
        })
    };
    // At the third there was one, or the kernel would not have stopped the operation.
    assert_eq!(long(true), "mark 3 170\n");
    assert_eq!(long(false), "mark 3 70\n");
}

/// The first processor enters the kernel and waits there; meanwhile the second executes `meanwhile`; then the
/// first executes five more instructions. Returns the record's lines at a mark of the first one's user, and
/// at the end.
fn waiting(meanwhile: impl Fn(&Record)) -> String {
    let record = Record::new();
    let mut written = Vec::new();
    record.mark(1, BEGIN, &mut written).unwrap();
    written.clear();
    record.user(0, 1);
    run(&record, 10);
    record.wait(0);
    meanwhile(&record);
    run(&record, 5);
    record.leave(0);
    record.user(0, 1);
    record.mark(0, 2, &mut written).unwrap();
    record.mark(0, 0, &mut written).unwrap();
    String::from_utf8(written).unwrap()
}

#[test]
fn what_others_do_in_the_kernel_is_waited_for() {
    let said = waiting(|record| {
        (0..3).for_each(|step| record.kernel(1, 0xa0 + step));
        record.leave(1);
        record.user(1, 1000);
    });
    assert!(said.starts_with("mark 2 18\n"), "{said}");
    assert!(said.contains("\nwait 3 a0 a1 a2\n"), "{said}");
    assert!(said.contains("\ndelay 18 a00 "), "{said}");
    assert!(
        said.contains(" a09 a0 a1 a2 500 501 502 503 504\n"),
        "{said}"
    );
    // Two sections, neither of which contains instructions of the other processor.
    assert!(said.contains("\nsections 2 18 234 3 15 a00 "), "{said}");
}

#[test]
fn what_others_do_out_of_the_kernel_is_not_waited_for() {
    // Nor is the next kernel entry of the other processor: the first one only waited for its turn.
    for is_seen in [true, false] {
        let said = waiting(|record| {
            if is_seen {
                record.user(1, 1000);
            } else {
                record.leave(1);
            }
            record.kernel(1, 0xb0);
            record.leave(1);
        });
        assert!(said.starts_with("mark 2 15\n"), "{said}");
        assert!(said.contains("\nwait 0\n"), "{said}");
    }
}

#[test]
fn a_receiver_that_is_not_queued_does_not_wait() {
    let record = Record::new();
    let mut written = Vec::new();
    run(&record, 10);
    record.kernel(1, 0xc0);
    run(&record, 5);
    record.user(0, 1);
    record.mark(0, 2, &mut written).unwrap();
    assert_eq!(written, b"mark 2 15\n");
}

#[test]
fn a_resumed_thread_waits_no_longer() {
    let said = waiting(|record| {
        record.kernel(1, 0xd0);
        record.kernel(0, 0xd1);
        record.kernel(1, 0xd2);
    });
    assert!(said.starts_with("mark 2 17\n"), "{said}");
    assert!(said.contains("\nwait 1 d0\n"), "{said}");
}

#[test]
fn looks_and_returns_are_those_of_a_processor() {
    let said = waiting(|record| {
        record.look(1);
        record.look(1);
        record.user(1, 7);
    });
    assert!(said.starts_with("mark 2 15\n"), "{said}");
}
