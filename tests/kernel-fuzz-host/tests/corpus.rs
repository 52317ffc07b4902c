//! Replays the corpus, and checks that the player detects faults.

use std::fs;
use std::path::Path;

use abi::{Method, Syscall};
use kernel_fuzz_host::input::{Call, Step};
use kernel_fuzz_host::ledger::{CALLS, is_absent};
use kernel_fuzz_host::seeds::seeds;
use kernel_fuzz_host::system::at;
use kernel_fuzz_host::{Defect, Ledger, play, play_with};
use kernel_fuzz_methods::methods;

/// The histories of the committed corpus.
fn corpus() -> Vec<Vec<u8>> {
    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("corpus");
    let mut files: Vec<_> = fs::read_dir(folder)
        .unwrap()
        .map(|entry| entry.unwrap().path())
        .collect();
    files.sort();
    files.iter().map(|file| fs::read(file).unwrap()).collect()
}

#[test]
fn the_corpus_plays_and_reaches_every_method() {
    let mut ledger = Ledger::default();
    for history in corpus() {
        ledger.add(&play(&history));
    }
    let present = |method: &Method| !is_absent(*method);
    let never: Vec<Method> = ledger.methods.unreached().filter(present).collect();
    assert!(never.is_empty(), "never succeeded: {never:?}");
    let never: Vec<_> = CALLS
        .iter()
        .filter(|call| ledger.call(**call) == 0)
        .collect();
    assert!(never.is_empty(), "never made: {never:?}");
    println!(
        "{} methods, {} kernel entries",
        methods().filter(present).count(),
        ledger.entries
    );
}

#[test]
fn each_seed_does_what_its_name_says() {
    let seeds = seeds();
    for method in methods().filter(|method| !is_absent(*method)) {
        let name = format!("method-{method:?}");
        let seed = seeds.iter().find(|seed| seed.0 == name);
        let (_, history) = seed.unwrap_or_else(|| panic!("there is no seed {name}"));
        assert_ne!(
            play(history).methods.of(method).succeeded,
            0,
            "{method:?} does not succeed"
        );
    }
}

#[test]
fn a_history_plays_twice_alike() {
    for (name, history) in seeds() {
        assert_eq!(play(&history).entries, play(&history).entries, "{name}");
    }
}

/// It copies its own registers to itself, including the address of the system call that does so.
#[test]
fn a_program_that_goes_back_to_its_call_ends_the_step() {
    const FRAME: usize = 4;
    let call = Call {
        number: Syscall::Send.number().wrapping_neg() as u8,
        cap: at::SELF,
        reply: 0,
        destination: 0,
        label: Method::TcbCopyRegisters.number(),
        words: vec![FRAME],
        caps: vec![at::SELF],
    };
    let mut history = vec![0];
    Step::Call(call).write(&mut history);
    assert!(play(&history).entries > 1, "the call was not repeated");
}

/// Whether the corpus detects a negative control.
fn is_caught(defect: Defect) -> bool {
    corpus()
        .iter()
        .any(|history| std::panic::catch_unwind(|| play_with(history, defect)).is_err())
}

#[test]
fn a_kernel_that_keeps_a_copy_when_it_fails_is_caught() {
    assert!(is_caught(Defect::KeepsCopy));
}

#[test]
fn a_kernel_that_keeps_a_priority_when_it_fails_is_caught() {
    assert!(is_caught(Defect::KeepsPriority));
}

#[test]
fn a_kernel_with_an_unknown_error_is_caught() {
    assert!(is_caught(Defect::UnknownError));
}

#[test]
fn a_kernel_that_forgets_a_binding_is_caught() {
    assert!(is_caught(Defect::ForgetsBinding));
}

/// Writes the seeds for a new corpus: `SEEDS=folder cargo test ... -- --ignored`.
#[test]
#[ignore = "writes files"]
fn write_seeds() {
    let folder = std::env::var_os("SEEDS").expect("a folder");
    for (name, history) in seeds() {
        fs::write(Path::new(&folder).join(name), history).unwrap();
    }
}
