use super::*;
use system_analysis::{Figures, Instructions};

fn figures() -> Figures {
    let counts = Instructions {
        section: 3_000,
        switch: 600,
        call: 1_000,
        interrupt: 500,
        timeout: 1_000,
    };
    Figures::read(&Figures::from_instructions("board", &counts)).unwrap()
}

#[test]
fn names_differ() {
    let mut names: Vec<_> = ALL.iter().map(|one| one.name).collect();
    names.sort_unstable();
    names.dedup();
    assert_eq!(names.len(), ALL.len());
}

/// Whatever the number of threads, and overheads never make a set schedulable.
#[test]
fn curves_are_reproducible_and_ordered() {
    let partitioned = &ALL[5];
    let first = run(partitioned, &figures(), 2, 1).unwrap();
    assert_eq!(first, run(partitioned, &figures(), 2, 1).unwrap());
    assert_ne!(first, run(partitioned, &figures(), 2, 2).unwrap());
    let free = &first.curves[0];
    for curve in &first.curves[1..] {
        let pairs = curve.accepted.iter().zip(&free.accepted);
        assert!(
            pairs.into_iter().all(|(with, without)| with <= without),
            "{curve:?}"
        );
    }
    assert!(first.curves.iter().any(|one| one.accepted < free.accepted));
    assert_eq!(free.accepted[0], 2);
}

#[test]
fn drawings_name_all_curves() {
    let curves = run(&ALL[4], &figures(), 1, 1).unwrap();
    let svg = curves.svg();
    for curve in &curves.curves {
        assert!(svg.contains(&format!(">{}</text>", curve.name)), "{svg}");
    }
    assert_eq!(svg.matches("stroke-width").count(), curves.curves.len() * 2);
}
